"""What a node is told before it opens: settings, addresses, peers, expulsion policies."""
