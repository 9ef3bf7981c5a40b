"""Who writes which files of a folder, and whether its log is complete.

Recorders share a folder. Each claims the stem of its file names, once per life of its node, and
releases the claim when everything is written. A claim that was never released is that of a recorder
that still runs, or was killed, or whose disk failed.
"""

import os
import re
from pathlib import Path
from typing import Final

from antecede.trace.atomic import blaming
from antecede.trace.datasets import CLAIM, SUFFIXES, UNSAFE, escaped

GENERATION_MARK: Final = "~"
STEM_UNSAFE: Final = re.compile(rf"^[._]|{GENERATION_MARK}|{UNSAFE.pattern}")
"""What cannot stand in the stem of a file: what means something there, too."""

OPEN: Final = b"open\n"
"""What is in a claim until it is released; then it is empty."""


def file_stem(name: str, generation: int = 1) -> str:
    """How the part files of a recorder begin: its name, as a file system likes it."""
    stem = escaped(name, STEM_UNSAFE)
    return stem if generation == 1 else f"{stem}{GENERATION_MARK}{generation}"


def claim_generation(folder: Path, name: str) -> int:
    """The first generation of this recorder that nobody in the folder is or was; now it is taken.

    Part files show which there were; a file with a dot in front, the claim, keeps two recorders of
    the same name apart that start at the same time. There is something in it until all is written.
    """
    with blaming(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
        generation = 1 + max(generations(folder, name), default=0)
        while True:
            try:
                with claim_file(folder, file_stem(name, generation)).open("xb") as claim:
                    claim.write(OPEN)
            except FileExistsError:
                generation += 1
            else:
                return generation


def release_claim(folder: Path, stem: str) -> None:
    """Say that the log of a recorder is complete, if it had claimed the name of its files."""
    claim = claim_file(folder, stem)
    if claim.exists():
        with blaming(claim, "write"):
            os.truncate(claim, 0)


def claim_file(folder: Path, stem: str) -> Path:
    """What says that the files with this stem are somebody's."""
    return folder / f".{stem}{CLAIM}"


def generations(folder: Path, name: str) -> list[int]:
    """Which generations of this recorder have left part files in the folder."""
    endings = "|".join(re.escape(suffix) for suffix in SUFFIXES)
    stem = re.escape(file_stem(name))
    pattern = re.compile(rf"{stem}(?:{GENERATION_MARK}(?P<generation>[0-9]+))?-[0-9]+(?:{endings})")
    found = (pattern.fullmatch(file.name) for file in folder.iterdir())
    return [int(match["generation"] or 1) for match in found if match]
