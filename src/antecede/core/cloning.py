"""One dump of a state: clones and fingerprints of all protocols are made by it.

A process names the fields that change: `STATE`, and in `ASIDE` those that belong to a clone and not
to a fingerprint, which are timers and what follows from the rest. A record among them, an object of
a class with `MADE_OF`, is made anew from the attributes that its constructor takes, and gets the
other fields of the original. Whatever is neither a record nor a container is a value, and is
shared. A record whose fields say more than its state has a method `state`.

Fields are found in both builds alike: compiled classes list theirs, the others have slots. What is
`Final` comes from the constructor.
"""

from collections import deque
from typing import Final, TypeVar, cast, final

Anything = TypeVar("Anything")

SHARED: Final[set[type]] = {int, bool, str, bytes, float, type(None)}
"""Types whose objects are values; further ones are found when the first of their objects is."""


@final
class RecordFields:
    """What the objects of one class of records consist of."""

    __slots__ = ("all", "made_of", "others")

    def __init__(self, all_of_them: list[str], made_of: tuple[str, ...]) -> None:
        self.made_of: Final = made_of
        self.all: Final = all_of_them
        # Those to be set on a twin; found when the first one is made.
        self.others: list[str] | None = None

    def settable(self, twin: object) -> list[str]:
        """The fields that do not come from the constructor."""
        if self.others is None:
            names = [name for name in self.all if name not in self.made_of]
            self.others = [name for name in names if try_to_set(twin, name)]
        return self.others


FIELDS: Final[dict[type, RecordFields | None]] = {}
"""Of every class of records that was met; None for values."""

PROCESSES: Final[dict[type, RecordFields]] = {}
"""Of every class of processes that was cloned."""


@final
class Cloner:
    """Copies of all that hangs together: what is shared among originals is shared among them."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[int, object] = {}

    def of(self, value: object) -> object:
        """The copy of one object; always the same for the same one."""
        kind = type(value)
        if kind in SHARED:
            return value
        if isinstance(value, tuple):
            # Never remembered: compiled code makes tuples whenever they are looked at.
            return tuple([self.of(item) for item in value])
        made = self._made.get(id(value))
        if made is not None:
            return made
        fields = fields_of(kind)
        if fields is not None:
            return self._make_record(kind, value, fields)
        if isinstance(value, list | dict | deque | set):
            return self._make_container(value)
        clone = getattr(value, "clone", None)
        if clone is not None:
            return clone()
        SHARED.add(kind)
        return value

    def _make_container(
        self, value: list[object] | dict[object, object] | deque[object] | set[object]
    ) -> object:
        if isinstance(value, list):
            items: list[object] = []
            self._made[id(value)] = items
            for item in value:
                items.append(item if type(item) in SHARED else self.of(item))
            return items
        if isinstance(value, dict):
            entries: dict[object, object] = {}
            self._made[id(value)] = entries
            for key, item in value.items():
                entries[key] = item if type(item) in SHARED else self.of(item)
            return entries
        if isinstance(value, deque):
            queue: deque[object] = deque()
            self._made[id(value)] = queue
            for item in value:
                queue.append(self.of(item))
            return queue
        return set(value)

    def _make_record(self, kind: type, record: object, fields: RecordFields) -> object:
        twin = kind(*[self.of(getattr(record, name)) for name in fields.made_of])
        # Before the rest is copied: something in it may hold this very record.
        self._made[id(record)] = twin
        for name in fields.settable(twin):
            value = getattr(record, name)
            setattr(twin, name, value if type(value) in SHARED else self.of(value))
        return twin


def twin_of(value: Anything) -> Anything:
    """An independent copy of a record or a container, and of all that is in it."""
    return cast(Anything, Cloner().of(value))


def give_state(original: object, twin: object, names: tuple[str, ...]) -> None:
    """Let `twin`, which is fresh, have copies of the fields `names` of `original`."""
    kind = type(original)
    fields = PROCESSES.get(kind)
    if fields is None:
        fields = PROCESSES[kind] = RecordFields(list(names), ())
    twins = Cloner()
    for name in fields.settable(twin):
        setattr(twin, name, twins.of(getattr(original, name)))


def shown(value: object) -> object:
    """Equal states, equal values: what is in containers and records, mappings in order of keys."""
    kind = type(value)
    if kind in SHARED:
        return value
    if isinstance(value, dict):
        return [(key, shown(value[key])) for key in sorted(value)]
    if isinstance(value, list | deque):
        return [shown(item) for item in value]
    if isinstance(value, tuple):
        return tuple([shown(item) for item in value])
    if isinstance(value, set | frozenset):
        return sorted(value)
    fields = fields_of(kind)
    if fields is None:
        return value
    state = getattr(value, "state", None)
    if state is not None:
        return state()
    return [shown(getattr(value, name)) for name in fields.all]


def fields_of(kind: type) -> RecordFields | None:
    """What objects of a class consist of, or None if they are values."""
    if kind not in FIELDS:
        made_of: tuple[str, ...] | None = getattr(kind, "MADE_OF", None)
        FIELDS[kind] = (
            None if made_of is None else RecordFields(sorted(attributes_of(kind)), made_of)
        )
    return FIELDS[kind]


def attributes_of(kind: type) -> list[str]:
    """The names of the attributes that objects of a class have."""
    compiled: tuple[str, ...] | None = getattr(kind, "__mypyc_attrs__", None)
    if compiled is not None:
        return list(compiled)
    names: list[str] = []
    for base in kind.__mro__:
        names.extend(base.__dict__.get("__slots__", ()))
    return names


def try_to_set(twin: object, name: str) -> bool:
    """Assign an attribute to itself; False if that is refused, as for compiled Final ones."""
    try:
        setattr(twin, name, getattr(twin, name))
    except AttributeError:
        return False
    return True
