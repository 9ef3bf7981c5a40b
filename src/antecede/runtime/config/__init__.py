"""What a node is given before it opens: settings, addresses, peers, expulsion policies."""
