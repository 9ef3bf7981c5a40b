"""One peer's datagrams: sessions, what waits to leave, writer, reader, seals."""
