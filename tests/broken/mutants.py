"""Protocols that are wrong on purpose: the real sources with one small change each.

A mutant names a protocol, what is put in place of what in its source, and the judges that must
catch it: exactly those, no fewer and no more. So this list is also the table of which judge sees
what. The text to be replaced must occur exactly once, so a mutant cannot silently stop being one.

Judges: `order` (the oracle finds an effect before its cause), `once` (it finds a duplicate),
`loss` (something is never delivered, or the run never ends), `error` (an exception leaves the
core), `optimal` (a flag, release or permit is not where the definition has it), `search` (the model
checker finds a failure in a small program).
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import antecede
from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Packet
from antecede_lab.catalogue import PROTOCOLS
from tests.antecede.core.patched import patched_together

SOURCES = Path(antecede.__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One protocol wrong in one way."""

    name: str
    protocol: str
    source: str
    process: str
    why: str
    changes: tuple[tuple[str, str], ...]
    caught_by: frozenset[str]
    # Files that make a process of what is in `source`, in the order in which they import it.
    above: tuple[str, ...] = ()


def load(mutant: Mutant) -> ProtocolInfo:
    """The mutant as a protocol like any other."""
    name = mutant.source.removesuffix(".py")
    if mutant.above:
        changes = [(name, sound, broken) for sound, broken in mutant.changes]
        module = patched_together([name, *mutant.above], changes, "broken")
    else:
        module = load_one(mutant)
    return info_like(PROTOCOLS[mutant.protocol], mutant.name, vars(module)[mutant.process])


def load_one(mutant: Mutant) -> ModuleType:
    """The module that its source would be."""
    text = (SOURCES / mutant.source).read_text()
    for sound, broken in mutant.changes:
        assert text.count(sound) == 1, f"{mutant.name}: {sound!r} stands {text.count(sound)} times"
        text = text.replace(sound, broken)
    original = sys.modules[mutant.source.removesuffix(".py").replace("/", ".")]
    module = ModuleType(f"broken_{mutant.name.replace('-', '_')}")
    exec(compile(text, f"{mutant.source} with {mutant.name}", "exec"), module.__dict__)
    keep_packets(module, original)
    return module


def keep_packets(module: ModuleType, original: ModuleType) -> None:
    """Let the mutant speak with the packets of the original, which the wire knows."""
    for name, value in vars(original).items():
        if isinstance(value, type) and issubclass(value, Packet):
            setattr(module, name, value)


def info_like(info: ProtocolInfo, name: str, process: type) -> ProtocolInfo:
    """What `info` promises, promised by somebody else."""
    return ProtocolInfo(
        f"{info.name} with {name}",
        process,
        ordering=info.ordering,
        multicast=info.multicast,
        network=info.network,
        paper=info.paper,
        broadcast_only=info.broadcast_only,
        needs_membership=info.needs_membership,
        options=info._options,
    )
