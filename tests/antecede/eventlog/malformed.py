"""Event logs that are wrong in one row, and the reason that every reader must give."""

from tests.antecede.eventlog.sample_logs import Row, small_rows

JUDGED_CHANGES: list[tuple[str, int, Row, str]] = [
    ("position below 0", 0, {"position": -5}, "column 'position' is -5, outside 0 to"),
    ("position too large", 3, {"position": 1 << 62}, "column 'position' is 4611686018427387904, o"),
    ("process below 0", 3, {"process": -2}, "column 'process' is -2, outside 0 to 2147483647"),
    ("process of 41 bits", 2, {"process": 1 << 40}, "column 'process' is 1099511627776, outside"),
    ("sender of 41 bits", 3, {"sender": 1 << 40}, "column 'sender' is 1099511627776, outside"),
    ("sequence below 0", 0, {"sequence": -1}, "column 'sequence' is -1, outside 0 to"),
    ("target below 0", 0, {"target": -1}, "column 'target' is -1, outside 0 to 2147483647"),
    ("time too early", 0, {"time_ns": -(1 << 62)}, "column 'time_ns' is -4611686018427387904, out"),
    ("no process", 1, {"process": None}, "column 'process' must be an integer, not None"),
    ("no position", 1, {"position": None}, "column 'position' must be an integer, not None"),
    ("no time", 4, {"time_ns": None}, "column 'time_ns' must be an integer, not None"),
    ("no kind", 2, {"kind": None}, "column 'kind' is None, not one of submitted, transmitted"),
    ("unknown kind", 0, {"kind": "sent"}, "column 'kind' is 'sent', not one of submitted, trans"),
    ("submitted to nobody", 0, {"target": None}, "column 'target' is null in a submitted row"),
    ("delivered to nobody", 3, {"target": None}, "column 'target' is null in a delivered row"),
    ("half a message", 2, {"sequence": None}, "'sender' and 'sequence' name a message only toget"),
    (
        "no message",
        3,
        {"sender": None, "sequence": None},
        "column 'sender' is null in a delivered row",
    ),
]
"""By name: which row is changed, how, and what is said. These columns every reader reads."""

MEASURED_CHANGES: list[tuple[str, int, Row, str]] = [
    ("payload below 0", 1, {"payload_bytes": -1}, "column 'payload_bytes' is -1, outside 0 to"),
    ("metadata of 32 bits", 1, {"metadata_bytes": 1 << 31}, "column 'metadata_bytes' is 214748364"),
    ("no payload", 1, {"payload_bytes": None}, "column 'payload_bytes' must be an integer, not"),
    ("packet below 0", 1, {"packet": -7}, "column 'packet' is -7, outside 0 to"),
]
"""The same for columns that only some read: whoever measures, or draws."""

MISTYPED_CHANGES: list[tuple[str, int, Row, str]] = [
    ("process as text", 0, {"process": "0"}, "column 'process' must be an integer, not '0'"),
    ("half a position", 1, {"position": 1.5}, "column 'position' must be an integer, not 1.5"),
    ("sequence is true", 0, {"sequence": True}, "column 'sequence' must be an integer, not True"),
    ("trace as number", 0, {"trace_id": 7}, "column 'trace_id' must be a string or null, not 7"),
    ("time of 65 bits", 0, {"time_ns": 1 << 64}, "column 'time_ns' is 18446744073709551616, out"),
]
"""The same for what only JSON can say."""


def changed(index: int, change: Row) -> list[Row]:
    """The rows of a right log, one of them changed."""
    rows = small_rows()
    rows[index] |= change
    return rows
