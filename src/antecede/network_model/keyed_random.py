"""Random numbers that depend on keys, not on history.

A `KeyedRandom` is keyed by a seed and a few integers (who sends to whom, which message) and then
yields a short stream of numbers. The faults of a packet therefore do not depend on what else
happened before it: two protocols run with one seed meet the same network, and a run does not depend
on the order in which its parts were built. The generator is a counter through a 32-bit finaliser
(multipliers and shifts found by C. Wellons' hash prospector); every product stays below 2**63, so
compiled and interpreted arithmetic agree. It is for simulations, not for secrets.
"""

from math import log
from typing import Final, final

from mypy_extensions import i64

WORD: Final = 0xFFFFFFFF
STEP: Final = 0x9E3779B9
WORD_SPAN: Final = 4294967296.0

NETWORK: Final = 1
WORKLOAD: Final = 2
"""Purposes: a network and a workload with one seed must not draw the same numbers."""


def mixed(word: i64) -> i64:
    """A 32-bit word scrambled: every bit in touches every bit out."""
    word ^= word >> 16
    word = (word * 0x21F0AAAD) & WORD
    word ^= word >> 15
    word = (word * 0x735A2D97) & WORD
    return word ^ (word >> 15)


def folded(value: i64) -> i64:
    """A non-negative integer of any size as a 32-bit word."""
    return (value ^ (value >> 32)) & WORD


@final
class KeyedRandom:
    """Streams of random numbers, one per key; those of two purposes have nothing in common."""

    __slots__ = ("_seed", "_state")

    def __init__(self, seed: i64, purpose: i64 = 0) -> None:
        scrambled = mixed(folded(seed) ^ mixed((seed >> 32) & WORD))
        self._seed: i64 = mixed((scrambled + STEP * purpose) & WORD)
        self._state: i64 = self._seed

    def key(self, a: i64, b: i64 = 0, c: i64 = 0, d: i64 = 0) -> None:
        """Begin the stream that belongs to these four numbers."""
        state = mixed((self._seed + STEP + folded(a)) & WORD)
        state = mixed((state + STEP + folded(b)) & WORD)
        state = mixed((state + STEP + folded(c)) & WORD)
        self._state = mixed((state + STEP + folded(d)) & WORD)

    def word(self) -> i64:
        """The next 32 random bits."""
        self._state = (self._state + STEP) & WORD
        return mixed(self._state)

    def below(self, limit: i64) -> i64:
        """A number from 0 up to, not including, `limit` (at most 2**31)."""
        return (self.word() * limit) >> 32

    def unit(self) -> float:
        """A number strictly between 0 and 1."""
        return (float(self.word()) + 0.5) / WORD_SPAN

    def exponential(self, mean: float) -> float:
        """A waiting time with this mean, without memory."""
        return -log(self.unit()) * mean

    def happens(self, threshold: i64) -> bool:
        """True with probability `threshold / 2**32`; takes one word, whatever the threshold."""
        return self.word() < threshold


def threshold_of(probability: float) -> int:
    """The argument of `KeyedRandom.happens` for a probability."""
    return round(probability * WORD_SPAN)
