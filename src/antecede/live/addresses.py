"""Where a node listens: a host and a port, as people write them.

`10.0.0.2:9000`, `node-3.example:9000`, `[::1]:9000`. A host name is looked up when it is used, not
when it is read.
"""

from ipaddress import ip_address
from typing import NamedTuple

from antecede.core.errors import LocalError

PORT_MAX = 65_535


class Address(NamedTuple):
    """A host and a UDP port; a tuple, as sockets like it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(value: object) -> Address:
    """The address that a text such as `host:port`, or a pair of host and port, stands for."""
    if isinstance(value, str):
        return parse_text(value)
    if isinstance(value, tuple | list) and len(value) == 2:
        host, port = value
        if isinstance(host, str) and isinstance(port, int) and not isinstance(port, bool):
            return checked(host, port, value)
    raise LocalError(f"{value!r} is not an address")


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


def is_elsewhere(host: str) -> bool:
    """Whether an address is not on this machine; of a name nobody knows yet."""
    try:
        return not ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
