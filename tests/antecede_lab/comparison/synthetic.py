"""Made-up measurements: readings that say what a test wants them to say."""

from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.long_runs import SERVICES, STREAM
from antecede_lab.comparison.measurements import Measurements, Quantity
from antecede_lab.comparison.traffic import NEIGHBOURS, UNIFORM
from antecede_lab.comparison.trials import LOSING, LOSSY, REORDERING, WITHOUT_TIMERS

SIZES = (5.0, 10.0, 20.0, 40.0)
LOADS = (0.1, 1.0)
TURNS = (10.0, 20.0)


class Made:
    """Readings about one protocol, built step by step."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.readings = Measurements()

    def series(
        self, quantity: Quantity, situation: str, places: tuple[float, ...], *figures: float
    ) -> None:
        for at, figure in zip(places, figures, strict=True):
            self.readings.add(self.protocol, quantity, situation, at, [figure])

    def grows(self, quantity: Quantity, dense: float, sparse: float | None = None) -> None:
        """Grow like these powers of n, with all as peers and with a few."""
        self.series(quantity, UNIFORM, SIZES, *(7 * size**dense for size in SIZES))
        if sparse is not None:
            self.series(quantity, NEIGHBOURS, SIZES, *(7 * size**sparse for size in SIZES))

    def trials(self, *, losing: int, reordering: int, of: int = 10) -> None:
        """So many clean runs under loss and under reordering."""
        for situation, clean in ((LOSING, losing), (REORDERING, reordering)):
            samples = [1.0] * clean + [0.0] * (of - clean)
            self.readings.add(self.protocol, measured.CLEAN, situation, 4.0, samples)

    def late(
        self,
        *,
        longest: tuple[float, float],
        sender: float = 0.0,
        receiver: float = 0.0,
        per_buffered: float = 1.0,
    ) -> None:
        """Late by so much at two loads; `sender` and `receiver` are the shares of the mean."""
        self.series(measured.LATEST, "", LOADS, *longest)
        self.series(measured.EARLIEST, "", LOADS, 0.0, 0.0)
        self.series(measured.LATE, "", LOADS, *longest)
        self.series(measured.LATE_SENDER, "", LOADS, *(sender * x for x in longest))
        self.series(measured.LATE_RECEIVER, "", LOADS, *(receiver * x for x in longest))
        self.series(measured.PER_BUFFERED, "", LOADS, per_buffered, per_buffered)

    def reported(self, *waits: float, per_buffered: float = 1.0) -> None:
        self.series(measured.REPORTED, "", TURNS, *waits)
        self.series(measured.REPORTED_PER_BUFFERED, "", TURNS, per_buffered, per_buffered)

    def flows(
        self, *, stream: tuple[float, float], services: tuple[float, float] = (500.0, 500.0)
    ) -> None:
        """Deliveries per second near and far."""
        self.series(measured.RATE, STREAM, (1.0, 8.0), *stream)
        self.series(measured.RATE, SERVICES, (1.0, 8.0), *services)

    def flying(self, *, stream: tuple[float, float], services: float) -> None:
        """Messages in transit near and far."""
        self.series(measured.FLYING, STREAM, (1.0, 8.0), *stream)
        self.series(measured.FLYING, SERVICES, (1.0, 8.0), services, services)

    def ends(self, *, lossy: float, timeless: float, starved: float | None = None) -> None:
        """Shares of runs that finish; the share of a run for which the message starves."""
        self.series(measured.FINISHED, LOSSY, (4.0,), lossy)
        self.series(measured.FINISHED, WITHOUT_TIMERS, (4.0,), timeless)
        if starved is not None:
            self.series(measured.STARVED, "", TURNS, *(starved * turns for turns in TURNS))

    def control(self, *kinds: str) -> None:
        self.grows(measured.INTEGERS, 0)
        for kind in kinds:
            self.series(measured.CONTROL_PACKETS, kind, (5.0,), 0.5)
