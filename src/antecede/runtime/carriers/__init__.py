"""What datagrams travel on: UDP, TCP, and what they share."""
