"""Where a node listens: a host and a port, as people write them.

`10.0.0.2:9000`, `node-3.example:9000`, `[::1]:9000`; on other carriers than UDP `tcp://host:port`
and `nats://host:port`. A host name is looked up when it is used, not when it is read.
"""

from ipaddress import ip_address
from typing import Final, NamedTuple, Self

from antecede.core.errors import LocalError

PORT_MAX = 65_535

CARRIERS: Final = ("udp", "tcp", "nats")
"""What can carry datagrams; an address without a scheme is UDP."""

PREFIX: Final = "antecede"
"""The default prefix of the subjects of nodes on a broker."""


class Address(NamedTuple):
    """A host and a UDP port; a tuple, as sockets like it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class CarriedAddress(Address):
    """An address on another carrier than UDP."""

    carrier: str
    path: str
    """On a broker: what the subjects of nodes begin with."""
    login: str
    """On a broker: `user:password` or a token; never shown."""

    def __new__(cls, carrier: str, host: str, port: int, path: str = "", login: str = "") -> Self:
        made = super().__new__(cls, host, port)
        made.carrier, made.path, made.login = carrier, path, login
        return made

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CarriedAddress)
            and tuple(self) == tuple(other)
            and (self.carrier, self.path) == (other.carrier, other.path)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.carrier, *self, self.path))

    def __repr__(self) -> str:
        return f"CarriedAddress({self})"

    def __str__(self) -> str:
        path = f"/{self.path}" if self.path else ""
        return f"{self.carrier}://{super().__str__()}{path}"


def parse_address(value: object) -> Address:
    """The address that a text such as `host:port`, or a pair of host and port, stands for."""
    if isinstance(value, CarriedAddress):
        return value
    if isinstance(value, str):
        return parse_carried(value.strip()) if "://" in value else parse_text(value)
    if isinstance(value, tuple | list) and len(value) == 2:
        host, port = value
        if isinstance(host, str) and isinstance(port, int) and not isinstance(port, bool):
            return checked(host, port, value)
    raise LocalError(f"{value!r} is not an address")


def parse_carried(text: str) -> Address:
    """The address written here, after the name of a carrier."""
    carrier, _, rest = text.partition("://")
    if carrier not in CARRIERS:
        raise LocalError(f"{carrier!r} is no carrier; there are {', '.join(CARRIERS)}")
    if carrier == "udp":
        return parse_text(rest)
    place, _, path = rest.partition("/")
    login, _, place = place.rpartition("@")
    if carrier != "nats" and (path or login):
        raise LocalError(f"{carrier}:// takes a host and a port, and nothing else")
    if not all(part.isidentifier() for part in path.split(".") if path):
        raise LocalError(f"{path!r} does not name a place on a broker: words with dots between")
    host, port = parse_text(place)
    return CarriedAddress(carrier, host, port, path or (PREFIX if carrier == "nats" else ""), login)


def parse_text(text: str) -> Address:
    """The address written here; an IPv6 host stands in brackets."""
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        raise LocalError(f"{text!r} has no port")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise LocalError(f"{text!r} is ambiguous: an IPv6 address stands in brackets")
    if not (port.isascii() and port.isdigit()):
        raise LocalError(f"{text!r} ends in {port!r}, which is no port number")
    return checked(host, int(port), text)


def checked(host: str, port: int, value: object) -> Address:
    """These two as an address, if they can be one."""
    if not host or not host.isprintable() or set(host) & set(" /[]"):
        raise LocalError(f"{value!r} names no host; 0.0.0.0 and [::] stand for every interface")
    if not 0 <= port <= PORT_MAX:
        raise LocalError(f"{value!r} has port {port}, outside 0 to {PORT_MAX}")
    return Address(host, port)


def is_loopback(host: str) -> bool:
    """Whether an address is on this machine; a name that must be looked up first is not."""
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def is_unspecified(host: str) -> bool:
    """Whether this stands for every interface of a machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_elsewhere(host: str) -> bool:
    """Whether an address is not on this machine; of a name nobody knows yet."""
    return not is_loopback(host) and not is_name(host)


def is_name(host: str) -> bool:
    """Whether this must be looked up."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return True
    return False
