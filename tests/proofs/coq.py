"""The proofs of the guarantee, compiled by Coq in a folder of their own."""

import re
import shutil
import subprocess
from pathlib import Path

PROOFS = Path(__file__).parent.parent.parent / "proofs"
COMPILE_SECONDS_MAX = 240

# What is true only because somebody says so has no place in a proof.
GIVEN_UP = re.compile(r"\b(Admitted|admit|Axiom|Conjecture|Parameter|give_up|Abort)\b")


def in_order() -> list[str]:
    """The files of the development, those that others need first."""
    text = (PROOFS / "_CoqProject").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.endswith(".v")]


def copy_sources(folder: Path) -> None:
    for name in in_order():
        shutil.copy(PROOFS / name, folder)


def compiled(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Compile one file of the folder; those that it needs must have been compiled there."""
    return subprocess.run(
        ["coqc", "-Q", ".", "Antecede", name],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=COMPILE_SECONDS_MAX,
        check=False,
    )


def compile_all(folder: Path) -> None:
    copy_sources(folder)
    for name in in_order():
        result = compiled(folder, name)
        assert result.returncode == 0, f"{name}: {result.stderr}"
