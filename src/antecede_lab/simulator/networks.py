"""Networks by name, in plain sight, and networks put together from parts written as text.

`build_network("lossy", loss=0.2, latency=parse_latency("exponential:1ms"))` takes a named network
and changes what is given. The figures are round numbers that make a protocol's behaviour visible,
not measurements of anybody's network.
"""

from dataclasses import replace
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError, not_called
from antecede.core.process import NEVER_NS
from antecede.network_model.faults import CutLink, DelayJump, Faults, Partition, SlowLink
from antecede.network_model.keyed_random import KeyedRandom
from antecede.network_model.latency import (
    Constant,
    Exponential,
    Latency,
    Lognormal,
    Uniform,
    check_span,
    whole_ns,
)
from antecede.units import parse_count, parse_duration, parse_number


@final
class Pareto(Latency):
    """A heavy tail: never below `low_ns`, beyond it falling like a power `alpha`."""

    def __init__(self, low_ns: int, alpha: float) -> None:
        check_span(1, low_ns)
        if not 0.5 <= alpha <= 100:
            raise LocalError(f"alpha {alpha} is outside 0.5 to 100")
        self._low_ns: Final = float(low_ns)
        self._exponent: Final = -1.0 / alpha

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        return whole_ns(self._low_ns * chance.unit() ** self._exponent)


@final
class Empirical(Latency):
    """One of the delays that were measured, each equally likely."""

    def __init__(self, samples_ns: list[int]) -> None:
        if not samples_ns:
            raise LocalError("an empirical latency needs at least one sample")
        check_span(min(samples_ns), max(samples_ns))
        self._samples_ns: Final = list(samples_ns)

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        return self._samples_ns[chance.below(len(self._samples_ns))]


@final
class Geography(Latency):
    """A delay per ordered pair of sites, jittered; process p is at site `p % number of sites`."""

    def __init__(self, matrix_ns: list[list[int]], jitter: float = 0.05) -> None:
        sites = len(matrix_ns)
        if sites == 0 or any(len(row) != sites for row in matrix_ns):
            raise LocalError("a latency matrix needs as many columns as rows, and at least one")
        for row in matrix_ns:
            check_span(min(row), max(row))
        if not 0 <= jitter <= 10:
            raise LocalError(f"jitter {jitter} is outside 0 to 10")
        self._matrix_ns: Final = [list(row) for row in matrix_ns]
        self._sites: Final[i64] = sites
        self._jitter: Final = jitter

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:
        base_ns = self._matrix_ns[source % self._sites][target % self._sites]
        return whole_ns(base_ns * (1.0 + self._jitter * chance.exponential(1.0)))


REGIONS: Final = ("us-east", "us-west", "eu-west", "sa-east", "ap-northeast", "ap-southeast")
REGION_DELAYS_MS: Final = (
    (1, 32, 38, 58, 75, 110),
    (32, 1, 66, 88, 52, 86),
    (38, 66, 1, 92, 106, 84),
    (58, 88, 92, 1, 130, 162),
    (75, 52, 106, 130, 1, 35),
    (110, 86, 84, 162, 35, 1),
)
"""Illustrative one-way delays between six regions: the right order of magnitude, no more.

Process p lives in region p modulo 6.
"""

MS: Final = 1_000_000


@final
class NetworkInfo:
    """A named network: what it does, and how long a protocol on it should wait for an answer."""

    def __init__(self, name: str, faults: Faults, patience_ns: int, purpose: str) -> None:
        self.name: Final = name
        self.faults: Final = faults
        self.patience_ns: Final = patience_ns
        self.purpose: Final = purpose


NETWORKS: Final[dict[str, NetworkInfo]] = {
    info.name: info
    for info in (
        NetworkInfo(
            "reliable",
            Faults(latency=Uniform(MS // 2, 3 * MS // 2)),
            1000 * MS,
            "loses nothing, keeps no order: 0.5 to 1.5 ms",
        ),
        NetworkInfo(
            "fifo",
            Faults(latency=Uniform(MS // 2, 3 * MS // 2), fifo=True),
            1000 * MS,
            "the same, but nothing overtakes between two processes",
        ),
        NetworkInfo(
            "lossy",
            Faults(
                latency=Uniform(MS // 2, 3 * MS // 2),
                loss=0.05,
                duplication=0.02,
                reordering=0.1,
                reordering_ns=5 * MS,
            ),
            20 * MS,
            "the same as reliable, with 5% lost, 2% doubled, 10% up to 5 ms late",
        ),
        NetworkInfo(
            "lan",
            Faults(latency=Lognormal(MS // 5, 0.4), loss=0.0001),
            5 * MS,
            "around 0.2 ms, one packet in ten thousand lost",
        ),
        NetworkInfo(
            "wan",
            Faults(
                latency=Geography([[ms * MS for ms in row] for row in REGION_DELAYS_MS]),
                loss=0.005,
            ),
            1000 * MS,
            "six regions all over the world, 1 to 162 ms apart, 0.5% lost",
        ),
    )
}


def find_network(name: str) -> NetworkInfo:
    """The network called `name`."""
    info = NETWORKS.get(name)
    if info is None:
        raise not_called("no network", name, NETWORKS)
    return info


def build_network(
    name: str,
    *,
    latency: Latency | None = None,
    loss: float | None = None,
    recovery: float | None = None,
    duplication: float | None = None,
    reordering: float | None = None,
    reordering_ns: int | None = None,
    partitions: tuple[Partition, ...] = (),
    cut_links: tuple[CutLink, ...] = (),
    slow_links: tuple[SlowLink, ...] = (),
    delay_jumps: tuple[DelayJump, ...] = (),
) -> Faults:
    """The network called `name`, with whatever is given instead of its own."""
    faults = find_network(name).faults
    if latency is not None:
        faults = replace(faults, latency=latency)
    if loss is not None:
        faults = replace(faults, loss=loss)
    if recovery is not None:
        faults = replace(faults, recovery=recovery)
    if duplication is not None:
        faults = replace(faults, duplication=duplication)
    if reordering is not None:
        lateness_ns = faults.reordering_ns or 5 * MS
        faults = replace(faults, reordering=reordering, reordering_ns=lateness_ns)
    if reordering_ns is not None:
        faults = replace(faults, reordering_ns=reordering_ns)
    faults = replace(
        faults,
        partitions=partitions,
        cut_links=cut_links,
        slow_links=slow_links,
        delay_jumps=delay_jumps,
    )
    faults.check()
    return faults


LATENCY_FORMS: Final = (
    "constant:1ms",
    "uniform:0.5ms:1.5ms",
    "exponential:1ms[:BASE]",
    "lognormal:MEDIAN:SIGMA",
    "pareto:LEAST:ALPHA",
    "empirical:FILE",
    "matrix:FILE",
)


def parse_latency(text: str) -> Latency:
    """A latency written as one of `LATENCY_FORMS`."""
    kind, _, rest = text.partition(":")
    parts = rest.split(":")
    try:
        if kind == "empirical" and rest:
            return Empirical([delay for row in read_delays(rest) for delay in row])
        if kind == "matrix" and rest:
            return Geography(read_delays(rest))
        if kind == "constant" and len(parts) == 1:
            return Constant(parse_duration(rest))
        if kind == "uniform" and len(parts) == 2:
            return Uniform(parse_duration(parts[0]), parse_duration(parts[1]))
        if kind == "exponential" and len(parts) <= 2:
            base_ns = parse_duration(parts[1]) if len(parts) == 2 else 0
            return Exponential(parse_duration(parts[0]), base_ns)
        if kind == "lognormal" and len(parts) == 2:
            return Lognormal(parse_duration(parts[0]), parse_number(parts[1]))
        if kind == "pareto" and len(parts) == 2:
            return Pareto(parse_duration(parts[0]), parse_number(parts[1]))
    except LocalError as error:
        raise LocalError(f"latency {text!r}: {error}") from None
    raise LocalError(f"{text!r} is not a latency; write one of {', '.join(LATENCY_FORMS)}")


def read_delays(file: str) -> list[list[int]]:
    """Durations from a text file: a row per line, with spaces or commas between them.

    What follows a # is a remark.
    """
    try:
        with open(file, encoding="utf-8") as lines:
            texts = lines.readlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LocalError(f"cannot read {file}: {error}") from error
    rows: list[list[int]] = []
    for number, line in enumerate(texts, start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        try:
            row = [parse_duration(word) for word in words]
        except LocalError as objection:
            raise LocalError(f"{file}, line {number}: {objection}") from None
        if row:
            rows.append(row)
    return rows


def parse_partition(text: str) -> Partition:
    """A partition that heals, as START:END:P,P,…: those processes are cut off from all others."""
    parts = text.split(":")
    if len(parts) != 3 or not parts[2]:
        raise LocalError(f"{text!r} is not a partition; write START:END:P,P,… as in 10ms:50ms:0,1")
    return Partition(
        start_ns=parse_duration(parts[0]),
        end_ns=parse_duration(parts[1]),
        island=frozenset([parse_count(process) for process in parts[2].split(",")]),
    )


def parse_cut_link(text: str) -> CutLink:
    """A link that is cut in one direction, as START:END:SOURCE:TARGET."""
    parts = text.split(":")
    if len(parts) != 4:
        raise LocalError(
            f"{text!r} cuts no link; write START:END:SOURCE:TARGET as in 10ms:50ms:0:1"
        )
    return CutLink(
        start_ns=parse_duration(parts[0]),
        end_ns=parse_duration(parts[1]),
        source=parse_count(parts[2]),
        target=parse_count(parts[3]),
    )


def parse_delay_jump(text: str) -> DelayJump:
    """A jump of all delays, as START:END:EXTRA."""
    parts = text.split(":")
    if len(parts) != 3:
        raise LocalError(f"{text!r} is no jump; write START:END:EXTRA as in 10ms:50ms:800ms")
    start_ns, end_ns, extra_ns = [parse_duration(part) for part in parts]
    return DelayJump(start_ns=start_ns, end_ns=end_ns, extra_ns=extra_ns)


def parse_slow_link(text: str) -> SlowLink:
    """A slow link, as SOURCE:TARGET:EXTRA."""
    parts = text.split(":")
    if len(parts) != 3:
        raise LocalError(f"{text!r} is not a slow link; write SOURCE:TARGET:EXTRA as in 0:1:20ms")
    return SlowLink(
        source=parse_count(parts[0]),
        target=parse_count(parts[1]),
        extra_ns=parse_duration(parts[2]),
    )


def shifted(faults: Faults, by_ns: int) -> Faults:
    """The same faults, so much later."""
    until_ns = min(faults.faults_until_ns + by_ns, NEVER_NS)
    return replace(
        faults,
        faults_until_ns=until_ns,
        partitions=tuple(
            Partition(
                start_ns=part.start_ns + by_ns, end_ns=part.end_ns + by_ns, island=part.island
            )
            for part in faults.partitions
        ),
        cut_links=tuple(
            CutLink(
                start_ns=cut.start_ns + by_ns,
                end_ns=cut.end_ns + by_ns,
                source=cut.source,
                target=cut.target,
            )
            for cut in faults.cut_links
        ),
        delay_jumps=tuple(
            DelayJump(
                start_ns=jump.start_ns + by_ns, end_ns=jump.end_ns + by_ns, extra_ns=jump.extra_ns
            )
            for jump in faults.delay_jumps
        ),
    )
