"""What the processes of a run are called, and their numbers."""

from collections import Counter
from collections.abc import Iterable

from antecede_audit.spans.formats.records import INSTANCE


def names_of(keys: Iterable[str]) -> dict[str, str]:
    """A name for each process, in the order of their numbers.

    A service with one instance is called by its own name, instances of others as service@instance.
    """
    known = set(keys)
    instances = Counter(key.partition(INSTANCE)[0] for key in known)
    names = {}
    for key in known:
        service, _, instance = key.partition(INSTANCE)
        names[key] = f"{service}@{instance}" if instance and instances[service] > 1 else service
    numeric = all(name.isascii() and name.isdigit() for name in names.values())
    order = sorted(names, key=lambda key: (int(names[key]) if numeric else 0, names[key], key))
    return {key: names[key] for key in order}


def run_named(path: str) -> str:
    """What a run is called after a file or folder."""
    name = path.rstrip("/").rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or "ingested"
