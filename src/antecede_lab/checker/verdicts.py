"""What can be wrong with a run, judged from the definition: a verdict is a value, in plain words.

Causal order is happens-before over submissions and deliveries only: message x comes before y if the
sender of y submitted or delivered x before it submitted y, and so on along chains of messages.
"""

from typing import ClassVar, Final, final

from antecede.core.packets import Value

ORDER: Final = "order"
TWICE: Final = "twice"
INVENTED: Final = "invented"
MISADDRESSED: Final = "misaddressed"
STUCK: Final = "stuck"
RESTLESS: Final = "restless"
REFUSED: Final = "refused"
CRASHED: Final = "crashed"
UNFAITHFUL: Final = "unfaithful"


@final
class CheckVerdict(Value):
    """What went wrong: which kind of thing, at which process, with which message.

    `message` and `missing` are names of messages, or empty. For ORDER, `missing` should have been
    delivered before `message`; for STUCK, `missing` is never delivered, or `message` never finds
    room; `detail` is for what has no names: an exception, a strange message.
    """

    __slots__ = ("detail", "kind", "message", "missing", "process")

    FIELDS: ClassVar = ("kind", "process", "message", "missing", "detail")

    def __init__(
        self, kind: str, process: int, message: str = "", missing: str = "", detail: str = ""
    ) -> None:
        self.kind: Final = kind
        self.process: Final = process
        self.message: Final = message
        self.missing: Final = missing
        self.detail: Final = detail


def in_words(verdict: CheckVerdict) -> str:
    """The verdict as a sentence, without its reasons."""
    who = f"process {verdict.process}"
    kind = verdict.kind
    if kind == ORDER:
        return f"{who} delivers {verdict.message} before {verdict.missing}"
    if kind == TWICE:
        return f"{who} delivers {verdict.message} twice"
    if kind == INVENTED:
        return f"{who} delivers {verdict.detail}, which nobody has submitted"
    if kind == MISADDRESSED:
        return f"{who} delivers {verdict.message}, which was not sent to it"
    if kind == STUCK:
        words = "nothing is in flight any more, and no timer helps"
        if verdict.message:
            return f"{who} never has room for {verdict.message}: {words}"
        return f"{who} never delivers {verdict.missing}: {words}"
    if kind == RESTLESS:
        return f"{who} never comes to rest: {verdict.detail}"
    if kind == REFUSED:
        return f"{who} refuses a packet of a correct peer: {verdict.detail}"
    if kind == CRASHED:
        return f"{who} breaks down: {verdict.detail}"
    return f"{who} cannot be explored: {verdict.detail}"
