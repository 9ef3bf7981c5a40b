"""The live node: endpoint, asyncio loop, carrier and files behind the calls of an application."""
