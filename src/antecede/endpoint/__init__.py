"""A whole node without socket and clock: datagrams in, datagrams and deliveries out."""
