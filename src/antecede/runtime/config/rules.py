"""How a setting is declared: its type, how its value is read, and what it may be.

A rule understands what Python code gives (numbers, tuples, paths) and what files and the
environment give (text), and answers with the one form that the runtime uses. A value that it does
not understand is a `LocalError`; the caller adds the name of the setting.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast, get_args, overload

from antecede.core.errors import LocalError, near_miss
from antecede.runtime.config.addresses import Address, CarriedAddress, parse_address
from antecede.runtime.config.names import NAME_BYTES_MAX, checked_name
from antecede.runtime.config.peers import read_peer_keys, read_peers
from antecede.runtime.security.keys import SECRET, SecretKey
from antecede.units import parse_count, parse_duration, parse_number, parse_size, size_text

NS_PER_SECOND: Final = 1_000_000_000
NOBODY: Final = "nobody"
ANYBODY: Final = "anybody"

AcceptUnknown: TypeAlias = Literal["nobody", "anybody"]
Switch: TypeAlias = Literal["auto", "on", "off"]

Given = TypeVar("Given")
Value = TypeVar("Value")
Read = TypeVar("Read", covariant=True)

WORDS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True, slots=True)
class Rule(Generic[Read]):
    """One way of reading a value."""

    read: Callable[[object], Read]
    """The value in the form that the runtime uses; `LocalError` if it cannot be one."""
    allowed: str
    """What it may be, to follow the words "it must be"."""


class Setting(Generic[Given, Value]):
    """The type of a field that takes any `Given` form and holds a `Value`.

    For type checkers only: they read it as a descriptor, so `Settings(heartbeat="2s").heartbeat`
    is known to be a float. At run time the field is an ordinary one of a dataclass.
    """

    @overload
    def __get__(self, instance: None, owner: type[object]) -> "Setting[Given, Value]": ...
    @overload
    def __get__(self, instance: object, owner: type[object]) -> Value: ...
    def __get__(self, instance: object, owner: type[object]) -> object:
        raise NotImplementedError

    def __set__(self, instance: object, value: Given) -> None:
        raise NotImplementedError


RULE: Final = "rule"
"""Where the metadata of a field have its rule."""


def setting(default: Given, rule: Rule[Value]) -> Setting[Given, Value]:
    """A field with a default, written in any form that the rule reads."""
    return cast("Setting[Given, Value]", field(default=default, metadata={RULE: rule}))


def duration(low: str, high: str) -> Rule[float]:
    """Seconds, or a text such as `200ms`; read as seconds."""
    least, most = seconds_of(low), seconds_of(high)

    def read(value: object) -> float:
        seconds = seconds_of(value)
        if not least <= seconds <= most:  # Nor if it is not a number.
            raise LocalError(f"{value!r} is out of range")
        return seconds

    return Rule(read, f"seconds or a duration such as 200ms, from {low} to {high}")


def seconds_of(value: object) -> float:
    """A time span in seconds, however it was given; a bare number is seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return parse_number(value)
        except LocalError:
            return parse_duration(value) / NS_PER_SECOND
    raise LocalError(f"{value!r} is not a duration")


def size(low: int, high: int) -> Rule[int]:
    """A number of bytes, or a text such as `64MiB`."""

    def read(value: object) -> int:
        return within(whole(value, parse_size), low, high)

    return Rule(read, f"bytes or a size such as 64MiB, from {size_text(low)} to {size_text(high)}")


def count(low: int, high: int) -> Rule[int]:
    """A whole number, or a text such as `20k`."""

    def read(value: object) -> int:
        return within(whole(value, parse_count), low, high)

    return Rule(read, f"a whole number from {low:,} to {high:,}")


def whole(value: object, parse: Callable[[str], int]) -> int:
    """A whole number, given as one or as text."""
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise LocalError(f"{value!r} is not a whole number")


def within(value: int, low: int, high: int) -> int:
    """`value`, if it is in range."""
    if not low <= value <= high:
        raise LocalError(f"{value:,} is out of range")
    return value


def choice(literal: object) -> Rule[Any]:
    """One of the words of a `Literal` type."""
    words = get_args(literal)

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise LocalError(f"{value!r} is none of them{near_miss(str(value), words)}")
        return value

    return Rule(read, "one of " + ", ".join(words))


def renamed(aliases: Mapping[object, Value], rule: Rule[Value]) -> Rule[Value]:
    """What the rule allows; some values are other names of a value, and read as that."""

    def read(value: object) -> Value:
        known = rule.read(value)
        return aliases.get(known, known)

    return Rule(read, rule.allowed)


def without(reasons: Mapping[str, str], rule: Rule[Value]) -> Rule[Value]:
    """What the rule allows; a value in `reasons` is refused with the reason that is given there."""

    def read(value: object) -> Value:
        if isinstance(value, str) and value in reasons:
            raise LocalError(reasons[value])
        return rule.read(value)

    return Rule(read, rule.allowed)


def auto_or(rule: Rule[Value]) -> Rule[Value | Literal["auto"]]:
    """The word `auto`, or what the rule allows."""

    def read(value: object) -> Value | Literal["auto"]:
        return "auto" if value == "auto" else rule.read(value)

    return Rule(read, f"auto, or {rule.allowed}")


def read_switch(value: object) -> Switch:
    """`auto`, `on` or `off`; true and false are understood too."""
    if value == "auto":
        return "auto"
    return "on" if read_flag(value) else "off"


def read_flag(value: object) -> bool:
    """True or false, or a word for one of them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    raise LocalError(f"{value!r} is neither")


def read_welcome(value: object) -> AcceptUnknown:
    """Who is welcome without an introduction; true and false are understood too."""
    if value in (NOBODY, ANYBODY):
        return value
    return ANYBODY if read_flag(value) else NOBODY


def read_path(value: object) -> Path | None:
    """A path; the empty text is none: so the environment can switch off what a file sets."""
    if value is None or value == "":
        return None
    if isinstance(value, str | os.PathLike):
        return Path(os.fspath(value))
    raise LocalError(f"{value!r} is not a path")


def read_http(value: object) -> Address | None:
    """Where HTTP is served; the empty text is nowhere."""
    if value is None or value == "":
        return None
    found = parse_address(value)
    if isinstance(found, CarriedAddress):
        raise LocalError(f"{value!r} is where datagrams go, not HTTP")
    return found


def read_run_id(value: object) -> str:
    """The name of a run: any text that is not empty."""
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise LocalError(f"{value!r} is not a name for a run")


def read_secret(value: object) -> Path | SecretKey | None:
    """Where a secret key is; or the key itself, from a program that keeps it elsewhere."""
    if isinstance(value, SecretKey):
        return value
    if isinstance(value, str) and value.strip().startswith(SECRET):
        raise LocalError("the key itself is here, and others may have seen it; name its file")
    return read_path(value)


NAME: Final = Rule(checked_name, f"at most {NAME_BYTES_MAX} bytes of text without spaces and , = #")
ADDRESS: Final = Rule(parse_address, "host:port, such as 10.0.0.2:9000, node-3:9000 or [::1]:9000")
PEERS: Final = Rule(
    read_peers, "a table of names and addresses, or a list of name=host:port or name alone"
)
PEER_KEYS: Final = Rule(read_peer_keys, "a table of names and public keys, or a list of name=key")
KEY: Final = Rule(read_secret, "the path of a key file, or empty for none")
FLAG: Final = Rule(read_flag, "true or false")
WELCOME: Final = Rule(read_welcome, f"{NOBODY} or {ANYBODY} (false or true)")
SWITCH: Final = Rule(read_switch, "auto, on or off")
PATH: Final = Rule(read_path, "a path, or empty for none")
HTTP: Final = Rule(read_http, "host:port, such as 10.0.0.2:9464, or empty for none")
RUN_ID: Final = Rule(read_run_id, "a text that is not empty")
