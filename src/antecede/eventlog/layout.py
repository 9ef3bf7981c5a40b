"""Which files hold which run: single files, and datasets laid out as Spark and Hive do it.

A dataset is a directory with one folder per run, `run_id=…`, and part files in it; or, for one run
without a name, a directory of part files. Parts are Parquet, or JSON lines where a recorder has no
pyarrow. Files whose name begins with a dot or an underscore are not data.

Recorders share a folder. Each claims the stem of its file names, once per run of its node, and
releases the claim when everything is written. A claim that was never released belongs to a recorder
that still runs, or was killed, or whose disk failed.
"""

import os
import re
from pathlib import Path
from typing import Final, TypeAlias

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.units import listing

AnyPath: TypeAlias = str | os.PathLike[str]

SUFFIXES: Final = (".jsonl", ".jsonl.gz", ".parquet")
"""The names of single files end in one of these."""

PARTITION: Final = "run_id="
UNSAFE: Final = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
"""What Spark escapes in the name of a partition folder, each as % and two hexadecimal digits."""

ESCAPED: Final = re.compile(r"%([0-9A-Fa-f]{2})")

UNFINISHED: Final = re.compile(
    rf"\.(?P<stem>.+)-[0-9]+(?P<suffix>{'|'.join(map(re.escape, SUFFIXES))})\.[0-9]+\.partial"
)
"""The name of a part of a log before it is complete."""

CLAIM: Final = ".claim"
"""The suffix of a claim: a file that reserves a stem, and is empty once the log is complete."""


def suffix_of(path: Path) -> str:
    """The suffix that says what kind of file this is, or the empty string for a dataset."""
    for suffix in SUFFIXES:
        if path.name.endswith(suffix):
            return suffix
    return ""


def partition_folder(dataset: Path, run_id: str) -> Path:
    """Where in the dataset this run lives."""
    if not run_id:
        raise LocalError("a run id must not be empty: it is the name of a folder")
    return dataset / f"{PARTITION}{escaped(run_id, UNSAFE)}"


def escaped(name: str, unsafe: re.Pattern[str]) -> str:
    """The name with % and two hexadecimal digits for each unsafe character, as Spark does it."""
    return unsafe.sub(lambda match: f"%{ord(match[0]):02X}", name)


def find_runs(path: Path) -> dict[str, list[Path]]:
    """The files of every run at `path`; one without an id goes by the name of its file."""
    if not path.is_dir():
        if not path.exists():
            raise LocalError(f"cannot read {path}: there is no such file or directory")
        suffix = suffix_of(path)
        if not suffix:
            raise LocalError(f"{path} ends in none of {', '.join(SUFFIXES)}")
        return {path.name.removesuffix(suffix): [path]}
    return {run_id: part_files(folder) for run_id, folder in run_folders(path).items()}


def run_folders(dataset: Path) -> dict[str, Path]:
    """The folder of every run of a dataset; the dataset itself, if it is one run without a name."""
    folders = sorted(folder for folder in dataset.glob(f"{PARTITION}*") if folder.is_dir())
    return {run_id_of(folder): folder for folder in folders} or {dataset.name: dataset}


def find_finished_runs(path: Path) -> dict[str, list[Path]]:
    """As `find_runs`; but a run of which there are only unfinished files has an empty list."""
    if not path.is_dir():
        return find_runs(path)
    return {
        run_id: part_files(folder) if not has_only_unfinished(folder) else []
        for run_id, folder in run_folders(path).items()
    }


def find_run(path: Path, run_id: str | None) -> list[Path]:
    """The files of the run called `run_id`, or of the only one there is."""
    runs = find_runs(path)
    if run_id is None and len(runs) == 1:
        return next(iter(runs.values()))
    if run_id is None:
        raise LocalError(f"{path} holds {len(runs)} runs: {listing(list(runs))}; name one")
    if run_id not in runs:
        raise LocalError(f"{path} has no run {run_id!r}; it has {listing(list(runs))}")
    return runs[run_id]


def common_source(files: list[Path]) -> Path:
    """What to call these files in an error: the only one, or the folder they share."""
    return files[0] if len(files) == 1 else files[0].parent


def run_id_of(folder: Path) -> str:
    """The run id that a partition folder stands for."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), folder.name.removeprefix(PARTITION))


def part_files(folder: Path) -> list[Path]:
    """The data files in a folder, in the order of their names."""
    files = sorted(file for file in folder.iterdir() if is_part(file))
    if not files and has_only_unfinished(folder):
        raise LocalError(
            f"{folder} holds no complete file: whoever writes there was killed, or still runs; "
            "`antecede audit` reads what can be read"
        )
    if not files:
        raise LocalError(
            f"{folder} holds neither Parquet files nor JSON lines nor {PARTITION}… folders"
        )
    return files


def has_only_unfinished(folder: Path) -> bool:
    """Whether a folder has unfinished files, as a killed recorder leaves them, and no others."""
    files = list(folder.iterdir())
    return any(map(is_unfinished, files)) and not any(map(is_part, files))


def is_unfinished(file: Path) -> bool:
    """Whether this is an incomplete part of a log, or the claim of an incomplete log."""
    return UNFINISHED.fullmatch(file.name) is not None or is_open_claim(file)


def is_open_claim(file: Path) -> bool:
    """Whether this is the claim of an incomplete log."""
    return file.name[0] == "." and file.name.endswith(CLAIM) and file.stat().st_size > 0


def is_part(file: Path) -> bool:
    """Whether the name is that of a data file."""
    return file.name[0] not in "._" and bool(suffix_of(file))


GENERATION_MARK: Final = "~"
STEM_UNSAFE: Final = re.compile(rf"^[._]|{GENERATION_MARK}|{UNSAFE.pattern}")
"""What is escaped in the stem of a file, because it has a meaning there."""

OPEN: Final = b"open\n"
"""The content of a claim until it is released."""


def file_stem(name: str, generation: int = 1) -> str:
    """The stem of the part files of a recorder: its name, escaped."""
    stem = escaped(name, STEM_UNSAFE)
    return stem if generation == 1 else f"{stem}{GENERATION_MARK}{generation}"


def claim_generation(folder: Path, name: str) -> int:
    """Reserve the first generation of this recorder that is not in the folder yet.

    Part files show which there were; a file with a dot in front, the claim, keeps two recorders of
    the same name apart that start at the same time. It is not empty until all is written.
    """
    with os_errors_as_local(folder, "write"):
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
    """Mark the log of a recorder as complete, if it had claimed its stem."""
    claim = claim_file(folder, stem)
    if claim.exists():
        with os_errors_as_local(claim, "write"):
            os.truncate(claim, 0)


def claim_file(folder: Path, stem: str) -> Path:
    """The claim of the files with this stem."""
    return folder / f".{stem}{CLAIM}"


def generations(folder: Path, name: str) -> list[int]:
    """Which generations of this recorder have left part files in the folder."""
    endings = "|".join(re.escape(suffix) for suffix in SUFFIXES)
    stem = re.escape(file_stem(name))
    pattern = re.compile(rf"{stem}(?:{GENERATION_MARK}(?P<generation>[0-9]+))?-[0-9]+(?:{endings})")
    found = (pattern.fullmatch(file.name) for file in folder.iterdir())
    return [int(match["generation"] or 1) for match in found if match]
