"""How long claims take, as the claims say it: what was measured, rounded up.

A command that was alone on the machine took its minutes of wall time. Beside other work those say
how busy the machine was, and those of processor time say what a free core would have taken.
"""

import math
import re
from decimal import Decimal
from typing import Final

from bench.kept_runs import Run

WALL: Final = "wall"
PROCESSOR: Final = "processor"
KINDS: Final = (WALL, PROCESSOR)


def measured(ran: Run, kind: str) -> float:
    """The minutes of a run, of either kind, rounded up to what is worth telling."""
    minutes = (ran.seconds if kind == WALL else ran.processor_s) / 60
    return rounded_up(minutes)


def rounded_up(minutes: float) -> float:
    """To tenths below 1, to halves below 10, to whole minutes above; never to nothing."""
    step = 0.1 if minutes <= 1 else 0.5 if minutes <= 10 else 1.0
    steps = max(1, math.ceil(round(minutes / step, 6)))
    return float(Decimal(str(step)) * steps)


def with_minutes(text: str, claim: str, minutes: float, kind: str) -> str:
    """The file of claims, with another time for one of them."""
    start = text.index(f"[claim.{claim}]\n")
    end = text.find("\n[claim.", start)
    end = len(text) if end < 0 else end
    section = re.sub(r"\ntimed = .*", "", text[start:end])
    timed = f'\ntimed = "{PROCESSOR}"' if kind == PROCESSOR else ""
    section = re.sub(r"\nminutes = .*", f"\nminutes = {minutes:g}{timed}", section, count=1)
    return text[:start] + section + text[end:]
