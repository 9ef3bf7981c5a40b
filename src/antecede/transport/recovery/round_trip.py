"""How long an answer takes: the round-trip time, smoothed, and what follows from it.

The estimator is that of RFC 9002 section 5; times are whole nanoseconds.
"""

from typing import Final, final

from mypy_extensions import i64

FIRST_GUESS_NS: Final = 100_000_000
"""A round trip is taken to be 100 ms until one has been measured."""

GRANULARITY_NS: Final = 1_000_000
"""No timer is finer than 1 ms: event loops are not."""

ACK_DELAY_NS: Final = 20_000_000
"""A peer may delay an acknowledgement by 20 ms."""


@final
class RttEstimator:
    """The round-trip time to one peer."""

    __slots__ = ("latest_ns", "least_ns", "samples", "smoothed_ns", "variation_ns")

    def __init__(self) -> None:
        self.samples: i64 = 0
        self.latest_ns: i64 = FIRST_GUESS_NS
        self.least_ns: i64 = FIRST_GUESS_NS
        self.smoothed_ns: i64 = FIRST_GUESS_NS
        self.variation_ns: i64 = FIRST_GUESS_NS >> 1

    def on_sample(self, elapsed_ns: i64, ack_delay_ns: i64) -> None:
        """An answer took `elapsed_ns`, of which the peer says it waited `ack_delay_ns`."""
        if elapsed_ns < 1:
            elapsed_ns = 1
        self.samples += 1
        self.latest_ns = elapsed_ns
        if self.samples == 1:
            self.least_ns = elapsed_ns
            self.smoothed_ns = elapsed_ns
            self.variation_ns = elapsed_ns >> 1
            return
        if elapsed_ns < self.least_ns:
            self.least_ns = elapsed_ns
        # A peer's word about its own delay counts only as far as it leaves a plausible rest.
        if ack_delay_ns > ACK_DELAY_NS:
            ack_delay_ns = ACK_DELAY_NS
        adjusted = elapsed_ns
        if elapsed_ns - ack_delay_ns >= self.least_ns:
            adjusted = elapsed_ns - ack_delay_ns
        off = self.smoothed_ns - adjusted
        if off < 0:
            off = -off
        self.variation_ns = (3 * self.variation_ns + off) >> 2
        self.smoothed_ns = (7 * self.smoothed_ns + adjusted) >> 3

    def probe_timeout_ns(self) -> i64:
        """How long without any answer before it is time to probe."""
        variation = 4 * self.variation_ns
        if variation < GRANULARITY_NS:
            variation = GRANULARITY_NS
        return self.smoothed_ns + variation + ACK_DELAY_NS

    def loss_delay_ns(self) -> i64:
        """How long after a later datagram's acknowledgement an earlier one is taken for lost."""
        longest = self.latest_ns if self.latest_ns > self.smoothed_ns else self.smoothed_ns
        patience = longest + (longest >> 3)
        return patience if patience > GRANULARITY_NS else GRANULARITY_NS
