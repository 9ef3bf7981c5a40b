"""How patient a watch is."""

from dataclasses import dataclass

from antecede.audit.history import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How patient a watch is; all of them are times of the log, not of the watch."""

    order: Order | None = None
    patience_ns: int = 30 * 10**9
    """A process that is silent for longer than this no longer holds the others up."""
    lost_after_ns: int = 60 * 10**9
    """A copy that takes longer is reported lost; if it comes after all, that is taken back."""
    horizon_ns: int = 600 * 10**9
    """A copy that takes longer no longer keeps everything since then in memory."""
    longest_ns: int = 60 * 10**9
    """Of spans: one that takes longer may be told too late to be judged."""
    finished: bool = False
    """Nothing more will come: judge everything."""
