"""What lies between packets and datagrams, for one peer: session, queue, writer, reader, seals."""
