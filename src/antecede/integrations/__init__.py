"""Packages of others that a node can work with: NATS, OpenTelemetry."""
