"""Programs around the library: speed contests, the demo, the chat, a proxy that misbehaves."""
