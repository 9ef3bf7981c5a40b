"""A small system of services on a bad network: what order is for, to be seen and measured."""
