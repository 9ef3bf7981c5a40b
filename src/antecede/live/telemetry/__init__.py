"""Traces and metrics for OpenTelemetry: `pip install 'antecede[otel]'`.

Nothing here is imported, and nothing of it is on the wire, unless somebody wraps a node:

    traced = TracedNode(node)
    await traced.send("bob", b"hello")        # a span, whose context travels with the message
    traced.on_message(handle)                 # called inside a span whose parent is the sender's
"""

from antecede.live.telemetry.otlp_file import OtlpFile
from antecede.live.telemetry.traced_node import TracedMessage, TracedNode

__all__ = ["OtlpFile", "TracedMessage", "TracedNode"]
