"""What commands have left, kept with what they ran on: `make reproduce` goes on where it ended.

A run is as good as a new one while nothing has changed that its command could notice: the package
and the examples, the folder that the command is in, and whether the package is compiled. So is the
beginning of one that was stopped: its command finds what it has left, and an evaluation goes on
from there.
"""

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

import antecede

ROOT: Final = Path(__file__).parent.parent
NOTE: Final = "run.json"
"""In the folder of a run: what it was."""

BEGUN: Final = "begun.json"
"""In the folder of a run that has not ended well: what it is."""

SUFFIXES: Final = (".py", ".toml")
JUDGES: Final = {
    f"bench/{name}"
    for name in (
        "claim_minutes.py", "claims.toml", "comparison_tables.py", "evaluation_images.py",
        "evaluation_tables.py", "kept_runs.py", "markdown_table.py", "quoted_tables.py",
        "reproduce.py", "with_orphans.py",
    )
}  # fmt: skip
"""They say what is run and write it into documents; nothing that comes out is made by them."""


class CommandError(Exception):
    """A command ended with something else than 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command left: several claims may come of one."""

    command: str
    state: str
    """What it ran on."""
    folder: str
    printed: str
    seconds: float
    processor_s: float
    starts: int = 1
    """How often it was begun: times are those of the last piece."""

    def file(self, name: str) -> Path:
        """Something that it wrote."""
        return Path(self.folder, name)

    @property
    def took(self) -> str:
        """How long, in words."""
        piece = f", piece {self.starts}" if self.starts > 1 else ""
        return f"{self.seconds / 60:.1f} min, {self.processor_s / 60:.1f} of processor{piece}"


def run(command: str, folder: Path, interpreted: bool = False) -> Run:
    """Run a command in a folder of its own, and keep what it leaves.

    What counts lines needs the sources as they stand, also where the compiled build is on the path.
    """
    state = state_of(command)
    path = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"} if interpreted else {}
    starts = begin(folder, command, state)
    words = [word.replace("{out}", str(folder)) for word in command.split()]
    if words[0] == "antecede":
        words[:1] = ["python", "-m", "antecede"]
    assert words[0] == "python", f"{command}: a command is python's or antecede's"
    begun, used = time.monotonic(), processor_s()
    ran = subprocess.run(
        [sys.executable, "-m", "bench.with_orphans", sys.executable, *words[1:]],
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
    kept = Run(
        command=command,
        state=state,
        folder=str(folder),
        printed=ran.stdout,
        seconds=round(time.monotonic() - begun, 1),
        processor_s=round(processor_s() - used, 1),
        starts=starts,
    )
    (folder / NOTE).write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")
    (folder / BEGUN).unlink()
    return kept


def begin(folder: Path, command: str, state: str) -> int:
    """Make a folder ready for a command; how often that has been begun in it.

    Commands go on with what they find there, so it is empty unless the same command was stopped.
    """
    wanted = {"command": command, "state": state}
    try:
        begun = json.loads((folder / BEGUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        begun = {}
    starts = begun.pop("starts", 0) if begun.items() >= wanted.items() else 0
    if starts == 0:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    note = json.dumps(wanted | {"starts": starts + 1}) + "\n"
    (folder / BEGUN).write_text(note, encoding="utf-8")
    return int(starts) + 1


def fresh_runs(commands: Iterable[str], out: Path) -> dict[str, Run]:
    """The runs below a folder that are as good as new, by command."""
    wanted = set(commands)
    kept = [Run(**json.loads(note.read_text())) for note in sorted(out.glob(f"*/{NOTE}"))]
    return {
        run.command: run
        for run in kept
        if run.command in wanted and run.state == state_of(run.command)
    }


def state_of(command: str) -> str:
    """What a command runs on, as a short name."""
    words = command.split()
    folders = {"src", "examples"}
    if words[0] == "python":  # -m MODULE
        folders.add(words[2].split(".")[0])
    build = "compiled" if antecede.compiled() else "interpreted"
    return f"{build} {digest(*sorted(folders))}"


@cache
def digest(*folders: str, root: Path = ROOT) -> str:
    """The contents of some folders of the repository, in sixteen digits."""
    total = hashlib.sha256()
    for file in sorted(file for folder in folders for file in (root / folder).rglob("*.*")):
        name = file.relative_to(root).as_posix()
        if file.suffix in SUFFIXES and name not in JUDGES:
            total.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def processor_s() -> float:
    """Processor time of all that this process has started and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
