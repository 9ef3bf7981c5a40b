"""Other systems that a node works with, behind extras: NATS, OpenTelemetry."""
