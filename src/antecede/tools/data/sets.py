"""Which sets of traces there are: addresses and checksums, read from `traces.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from antecede.core.errors import LocalError, near_miss

PACKED = ".gz"
ARCHIVED = ".tar.xz"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSet:
    """Files that belong together."""

    name: str
    about: str
    licence: str
    folder: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Names, as published, and the SHA-256 of each."""
    base: str = ""
    """Where single files are: this address and their names."""
    archive: str = ""
    """Or one archive with all of them: `files` are folders below `inside` in it."""
    inside: str = ""
    packed: bool = False
    """Whether files are compressed here that are not where they come from."""

    def place(self, folder: Path, name: str) -> Path:
        """Where a file is kept below a folder."""
        ending = ARCHIVED if self.archive else PACKED if self.packed else ""
        return folder / self.folder / (name + ending)


def known_sets(path: Path | None = None) -> dict[str, TraceSet]:
    """All sets, by name."""
    here = resources.files(__package__).joinpath("traces.toml") if path is None else path
    tables = tomllib.loads(here.read_text(encoding="utf-8"))
    return {name: TraceSet(name=name, **fields) for name, fields in tables.items()}


def chosen_sets(names: tuple[str, ...], known: Mapping[str, TraceSet]) -> list[TraceSet]:
    """The sets of these names; all, if none is given."""
    for name in names:
        if name not in known:
            hint = near_miss(name, list(known)) or f"; there are {', '.join(known)}"
            raise LocalError(f"no set of traces is called {name!r}{hint}")
    return [known[name] for name in names or known]
