"""Every figure of the documents again, and what has drifted.

    python -m bench reproduce                       all claims that this machine can check
    python -m bench reproduce --minutes 5           those that take at most five minutes
    python -m bench reproduce steps 'ks-*'          these
    python -m bench reproduce --list                claim, command, minutes
    python -m bench reproduce steps --accept        record what is found as what is claimed

`bench/claims.toml` says for each claim which command makes its figures, how long that takes, and by
how much they may differ; `bench/results.toml` has the figures themselves. Counted things are the
same everywhere and may not differ at all. Speeds of two machines differ: their ratios may, by much.
"""

import argparse
import csv
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.results import Row, read_results, record, write_table
from bench.two_builds import ROOT

CLAIMS: Final = ROOT / "bench" / "claims.toml"
OUT: Final = ROOT / "build" / "reproduced"
WALL: Final = "wall"
PROCESSOR: Final = "processor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Figures in a document, and how to make them again."""

    name: str
    page: str
    says: str
    command: str
    """`{out}` is a folder of its own."""
    minutes: float
    """What was measured, rounded up."""
    timed: str = WALL
    """Whether those are minutes of wall time, or of processor time as it was beside other work."""
    table: str = ""
    """The file of figures, below `{out}`: CSV or JSON; none: the last line printed, as JSON."""
    keys: tuple[str, ...] = ("key",)
    """The columns that say which figure a row is."""
    ignored: tuple[str, ...] = ()
    """Columns, or keys of JSON, that are not figures: times of one machine."""
    uncompared: tuple[str, ...] = ()
    """Columns that are recorded and not compared: intervals, and what figures are drawn from."""
    uncompared_keys: tuple[str, ...] = ()
    """Keys of JSON whose figures are recorded and not compared: speeds of one machine."""
    counted: tuple[str, ...] = ()
    """Columns, or keys of JSON, whose figures are the same everywhere, whatever the tolerance."""
    tolerance: float = 0.0
    """How far a figure may be from what is claimed, as a share of it."""
    least: float = 0.0
    """Differences up to this one are none, however small the figures."""
    needs: tuple[str, ...] = field(default=())
    """What the machine must have: `data` (ANTECEDE_DATA), `compiled`, `root`; `interpreted` is had
    everywhere."""


def read_claims(path: Path = CLAIMS) -> dict[str, Claim]:
    """All claims, by name."""
    with path.open("rb") as file:
        tables = tomllib.load(file)["claim"]
    return {name: read_claim(name, fields) for name, fields in tables.items()}


def read_claim(name: str, fields: dict[str, Any]) -> Claim:
    """One claim, as the file has it."""
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Claim(name=name, **{**fields, **lists})


def missing(claim: Claim) -> str:
    """Why this claim cannot be checked here; empty if it can."""
    if "data" in claim.needs and not os.environ.get("ANTECEDE_DATA"):
        return "the traces are not here: antecede lab data fetch, then set ANTECEDE_DATA"
    if "root" in claim.needs and os.geteuid() != 0:
        return "only root can make the networks that it needs"
    if "compiled" in claim.needs:
        import antecede

        if not antecede.compiled():
            return "the compiled build is not on the path: use `make reproduce`"
    return ""


class CommandError(Exception):
    """A command ended with something else than 0."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a command left: several claims may come of one."""

    folder: Path
    printed: str
    minutes: float


def run(command: str, folder: Path, interpreted: bool = False) -> Run:
    """Run a command in an empty folder of its own.

    What counts lines needs the sources as they stand, also where the compiled build is on the path.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"} if interpreted else {}
    words = [word.replace("{out}", str(folder)) for word in command.split()]
    if words[0] == "antecede":
        words[:1] = ["python", "-m", "antecede"]
    assert words[0] == "python", f"{command}: a command is python's or antecede's"
    begun = time.monotonic()
    ran = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=ROOT,
        env=os.environ | path,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        errors = folder / "errors.txt"
        errors.write_text(ran.stderr, encoding="utf-8")
        last = "\n".join(ran.stderr.strip().splitlines()[-3:])
        raise CommandError(f"{command} ended with {ran.returncode} (all of it: {errors}):\n{last}")
    return Run(folder, ran.stdout, (time.monotonic() - begun) / 60)


def reproduce(claim: Claim, out: Path, done: dict[str, Run] | None = None) -> list[Row]:
    """Run the command of a claim, unless that is `done`; the figures that come of it."""
    done = {} if done is None else done
    if claim.command not in done:
        interpreted = "interpreted" in claim.needs
        done[claim.command] = run(claim.command, out / claim.name, interpreted)
    return figures_in(claim, done[claim.command])


def figures_in(claim: Claim, ran: Run) -> list[Row]:
    """The figures of a claim in what its command left."""
    if not claim.table:
        return rows_of_json(json.loads(ran.printed.splitlines()[-1]), claim)
    text = (ran.folder / claim.table).read_text(encoding="utf-8")
    if claim.table.endswith(".json"):
        return rows_of_json(json.loads(text), claim)
    rows = csv.DictReader(text.splitlines())
    return [
        {name: short(value) for name, value in row.items() if name not in claim.ignored}
        for row in rows
    ]


def short(value: str) -> str:
    """A figure with six digits at most; anything else as it is."""
    try:
        return value if value.lstrip("-").isdecimal() else f"{float(value):.6g}"
    except ValueError:
        return value


def rows_of_json(answer: object, claim: Claim) -> list[Row]:
    """An object as a table of keys and values."""
    return [
        {"key": key, "value": short(str(value))}
        for key, value in flat(answer, "")
        if not any(part in claim.ignored for part in key.split("."))
    ]


def flat(value: object, prefix: str) -> Iterator[tuple[str, object]]:
    """Every figure in an object, with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{prefix}.{number}")
    else:
        yield prefix, value


def drift(claim: Claim, claimed: list[Row], found: list[Row]) -> list[str]:
    """What is not as it is claimed, in words."""
    said = []
    before = {key_of(row, claim): row for row in claimed}
    after = {key_of(row, claim): row for row in found}
    said += [f"{key}: is not there any more" for key in before if key not in after]
    said += [f"{key}: is new" for key in after if key not in before]
    for key in before.keys() & after.keys():
        if any(part in claim.uncompared_keys for part in key.split(".")):
            continue
        for column, value in before[key].items():
            now = after[key].get(column, "")
            if column not in claim.uncompared and not holds(
                claim, {column, *key.split(".")}, value, now
            ):
                said.append(f"{key}: {column} was {value}, is {now}")
    return sorted(said)


def holds(claim: Claim, names: set[str], before: str, now: str) -> bool:
    """Whether a figure, known by these names, is still what is claimed."""
    if names & {*claim.counted}:
        return alike(before, now, 0.0)
    return alike(before, now, claim.tolerance, claim.least)


def key_of(row: Row, claim: Claim) -> str:
    """Which figure a row is."""
    return " ".join(row[column] for column in claim.keys)


def alike(before: str, now: str, tolerance: float, least: float = 0.0) -> bool:
    """Whether two figures are the same, as far as it matters."""
    if before == now:
        return True
    try:
        one, other = float(before), float(now)
    except ValueError:
        return False
    return abs(one - other) <= max(least, tolerance * max(abs(one), abs(other)))


def table(claims: dict[str, Claim]) -> str:
    """Claim, command, minutes: for a document."""
    lines = [
        "| | claim | in | command | minutes | may differ by |",
        "|---|---|---|---|---|---|",
    ]
    for claim in claims.values():
        command = re.sub(r" --\w+ {out}\S*", "", claim.command)
        differ = f"{claim.tolerance:.0%}" if claim.tolerance else "nothing"
        page = f"[{Path(claim.page).name}](../{claim.page})"
        minutes = f"{claim.minutes:g}{' (processor)' if claim.timed == PROCESSOR else ''}"
        lines.append(
            f"| `{claim.name}` | {claim.says} | {page} | `{command}` | {minutes} | {differ} |"
        )
    return "\n".join(lines) + "\n"


def check(claim: Claim, accept: bool, done: dict[str, Run]) -> str:
    """Check one claim and say what came of it, in a word and in print."""
    try:
        found = reproduce(claim, OUT, done)
    except CommandError as failure:
        print(f"{claim.name}: FAILED: {failure}", flush=True)
        return "failed"
    write_table(OUT / f"{claim.name}.csv", found)
    took = f"{done[claim.command].minutes:.1f} min"
    if accept:
        record(claim.name, found)
        print(f"{claim.name}: {len(found)} rows recorded ({took})", flush=True)
        return "recorded"
    claimed = read_results().get(claim.name)
    if claimed is None:
        print(f"{claim.name}: nothing is recorded to compare with ({took})", flush=True)
        return "unrecorded"
    drifted = drift(claim, claimed, found)
    verdict = f"{len(drifted)} DRIFTED" if drifted else "as claimed"
    print(f"{claim.name}: {len(found)} rows, {verdict} ({took})", flush=True)
    for line in drifted[:20]:
        print(f"    {line}", flush=True)
    return "drifted" if drifted else "as claimed"


def check_all(claims: list[Claim], minutes: float | None, accept: bool) -> bool:
    """Check claims one after the other, then say how many came out how; whether all is well."""
    done: dict[str, Run] = {}
    ends: dict[str, list[str]] = {}
    for claim in claims:
        reason = missing(claim)
        if minutes is not None and claim.minutes > minutes:
            reason = f"it takes {claim.minutes:g} minutes"
        if reason:
            print(f"{claim.name}: left out: {reason}", flush=True)
        end = "left out" if reason else check(claim, accept, done)
        ends.setdefault(end, []).append(claim.name)
    for end, names in ends.items():
        which = "" if end == "as claimed" else f": {', '.join(names)}"
        print(f"{len(names)} {end}{which}", flush=True)
    return not ends.keys() & {"drifted", "failed"}


def parse(claims: dict[str, Claim]) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="CLAIM", help="those that --list has")
    parser.add_argument("--minutes", type=float, help="leave out what takes longer")
    parser.add_argument("--accept", action="store_true", help="record what is found as claimed")
    parser.add_argument("--list", action="store_true", help="print claim, command, minutes")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if not fnmatch.filter(claims, name)]:
        parser.error(f"there is no claim {unknown[0]}; there are {', '.join(claims)}")
    return chosen


def main() -> None:
    """Check what was asked for."""
    claims = read_claims()
    chosen = parse(claims)
    if chosen.list:
        print(table(claims), end="")
        return
    patterns = chosen.names or ["*"]
    wanted = [
        claim for claim in claims.values() if any(fnmatch.fnmatch(claim.name, p) for p in patterns)
    ]
    well = check_all(wanted, chosen.minutes, chosen.accept)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
