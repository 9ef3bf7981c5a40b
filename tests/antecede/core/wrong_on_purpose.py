"""Is a protocol that was changed on purpose caught? Random schedules, judged by the definition."""

from pathlib import Path
from random import Random

from antecede.core.catalogue import Create, ProtocolInfo
from tests.antecede.core.patched import patched
from tests.properties.schedule import CALM, ROUGH, Schedule, broken_promises, run_randomly

PROCESSES = 4
MESSAGES = 30


def changed(info: ProtocolInfo, file: str, name: str, *changes: tuple[str, str]) -> ProtocolInfo:
    """The protocol whose class `name` is in `file`, with some lines changed."""
    module = patched(file, *changes, as_module=f"wrong_{Path(file).stem}")
    create: Create = getattr(module, name)
    return ProtocolInfo(
        f"wrong {info.name}",
        create,
        ordering=info.ordering,
        multicast=info.multicast,
        broadcast_only=info.broadcast_only,
        network=info.network,
        needs_membership=info.needs_membership,
        paper="wrong on purpose",
    )


def goes_wrong(info: ProtocolInfo, seed: int, **options: object) -> bool:
    """Whether a random run breaks a promise, refuses an honest packet, or never comes to rest."""
    schedule = Schedule(info, PROCESSES, **options)
    trouble = ROUGH if seed % 2 else CALM
    eagerness = (0.2, 0.5, 0.8)[seed % 3]
    try:
        run_randomly(
            schedule, Random(seed), messages=MESSAGES, eagerness=eagerness, trouble=trouble
        )
    except AssertionError:
        return True
    return broken_promises(info, schedule) != [] or schedule.refused > 0
