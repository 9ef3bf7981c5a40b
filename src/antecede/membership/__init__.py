"""Who the peers are: names and addresses, handshakes, failure detection, expulsions."""
