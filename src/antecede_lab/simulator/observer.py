"""Who watches a run: told of the four events of every copy, and of every packet."""

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Message, Packet


@mypyc_attr(allow_interpreted_subclasses=True)
class Observer:
    """Does nothing; a subclass overrides what it cares about."""

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        """`process` has sent `message` to all of `targets`."""

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        """`packet` has left `process` for `target`; `number` is its own in this run."""

    def arrived(self, process: i64, source: i64, packet: Packet, number: i64, now_ns: i64) -> None:
        """`packet` from `source` has reached `process`."""

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        """`message` has been handed to the application at `process`."""
