"""Who the peers are: contacts, handshakes, expulsions, suspicion."""
