"""The judges, each as a question about a protocol: what do you find wrong with it?"""

from random import Random

from antecede.core import LocalError
from antecede.core.catalogue import ProtocolInfo
from antecede_audit.judging.oracle import check_log
from antecede_lab.checker.check import check
from antecede_lab.checker.programs import objection, parse
from tests.antecede.core.hybrid.optimality_oracle import (
    Definition,
    NotOptimalError,
    Plan,
    WatchedRun,
    random_run,
)
from tests.properties.schedule import CALM, ROUGH, EndlessError, Schedule, run_randomly

RUNS = 40
"""Random schedules per protocol and network, enough for every mutant that a schedule can catch."""

DEFINITIONS = {
    "hybrid": Definition(sps=True, ordered=True),
    "hybrid-sps": Definition(sps=True),
    "hybrid-csps": Definition(sps=False),
    "paper-basic": Definition(sps=False, cumulative=False),
    "paper-sps": Definition(sps=True, cumulative=False),
}

PROGRAMS = (
    "0 sends a to 2, b to 1; 1 sends c to 2 after b",
    "0 sends a to 1, b to 1, c to 1",
    "0 sends a to 1+2; 1 sends b to 2 after a",
    "0 sends a to 2, b to 1; 1 sends c to 0+2 after b",
    "0 sends a to 1, b to 2; 1 sends c to 2 after a; 2 sends d to 1 after b",
    "0 sends a to 2, b to 1; 1 sends c to 1 after b, d to 2",
    "0 sends a to 1, b to 2, c to 1; 1 sends d to 2 after c",
    "0 sends a to 2, b to 1, c to 1+2; 1 sends d to 2 after c",
    "0 sends a to 1, b to 2; 1 sends c to 0, d to 2; 2 sends e to 0 after b+d",
)

FAULTS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
"""Losses, duplications and expiries: none, and one of each kind."""


def by_schedules(info: ProtocolInfo) -> set[str]:
    """Random schedules, rough and calm, with roomy and with tiny buffers; judged by the oracle."""
    found: set[str] = set()
    for seed in range(RUNS):
        options: dict[str, object] = {"receive_limit": 1} if seed % 4 == 3 else {}
        found |= by_schedule(info, seed, options)
    return found


def by_schedule(info: ProtocolInfo, seed: int, options: dict[str, object]) -> set[str]:
    random = Random(seed)
    try:
        schedule = Schedule(info, random.randint(3, 5), **options)
        run_randomly(
            schedule,
            random,
            messages=random.randint(10, 40),
            eagerness=random.choice([0.1, 0.3, 0.6]),
            trouble=CALM if seed % 2 else ROUGH,
        )
    except EndlessError:
        return {"loss"}
    except Exception as error:
        return crashed(error)
    return by_oracle(schedule)


def by_oracle(schedule: Schedule) -> set[str]:
    verdict = check_log(schedule.log, witnesses=False)
    found: set[str] = set()
    if verdict.violations:
        found.add("order")
    if verdict.duplicates:
        found.add("once")
    if verdict.losses:
        found.add("loss")
    return found


def by_definition(info: ProtocolInfo, rule: Definition) -> set[str]:
    """Flags, releases and permits, compared with the brute-force definition."""
    for seed in range(RUNS):
        random = Random(seed)
        plan = Plan(
            processes=random.randint(3, 5),
            submissions=random.randint(10, 50),
            eagerness=random.choice([0.1, 0.2, 0.3, 0.5, 0.7]),
            multicast=info.multicast and seed % 4 < 2,
            fifo=seed % 2 == 0,
        )
        everyone = list(range(plan.processes))
        run = WatchedRun({me: info.create(me, everyone) for me in everyone}, rule)
        try:
            random_run(run, plan, random)
        except NotOptimalError:
            return {"optimal"}
        except Exception as error:
            return crashed(error)
    return set()


def by_search(info: ProtocolInfo, states_max: int = 3_000) -> set[str]:
    """The model checker on small programs, without a fault and with one of each kind."""
    programs = [program for program in map(parse, PROGRAMS) if not objection(info, program)]
    for faults in FAULTS:
        for program in programs:
            try:
                failure = check(info, program, *faults, states_max=states_max).failure
            except Exception as error:
                return crashed(error)
            if failure is not None:
                return {"search"}
    return set()


def crashed(error: Exception) -> set[str]:
    """Any exception but our own that leaves the core is a finding; ours would be a bad question."""
    if isinstance(error, LocalError):
        raise error
    return {"error"}


def found_wrong(info: ProtocolInfo, protocol: str) -> set[str]:
    """Everything that any judge finds wrong with a protocol that passes for `protocol`."""
    found = by_schedules(info) | by_search(info)
    if protocol in DEFINITIONS:
        found |= by_definition(info, DEFINITIONS[protocol])
    return found
