"""What workloads call their messages, remembered until the last delivery."""

from typing import Final, final

from mypy_extensions import i64

from antecede_lab.simulator.workloads.workload import UNTAGGED


@final
class Tagged:
    """A tag, and how many deliveries of its message are still to come."""

    __slots__ = ("missing", "tag")

    def __init__(self, tag: i64, missing: i64) -> None:
        self.tag: Final[i64] = tag
        self.missing: i64 = missing


@final
class Tags:
    """The tags of the messages under way."""

    __slots__ = ("_by_message",)

    def __init__(self) -> None:
        self._by_message: Final[dict[int, Tagged]] = {}

    def put(self, sender: i64, sequence: i64, tag: i64, targets: i64) -> None:
        """A message with this tag is under way to so many targets."""
        self._by_message[message_key(sender, sequence)] = Tagged(tag, targets)

    def take(self, sender: i64, sequence: i64) -> i64:
        """The tag of a message that has been delivered once more, or `UNTAGGED`."""
        key = message_key(sender, sequence)
        tagged = self._by_message.get(key)
        if tagged is None:
            return UNTAGGED
        tagged.missing -= 1
        if tagged.missing == 0:
            del self._by_message[key]
        return tagged.tag


def message_key(sender: i64, sequence: i64) -> i64:
    """One number for a message; ids are below 2**31."""
    return (sequence << 31) | sender
