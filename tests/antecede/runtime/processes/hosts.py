"""Hosts of our own on one machine: network namespaces, joined by a bridge. Needs root and iproute2.

The addresses are of the block that is reserved for examples, and exist in these namespaces only.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

HUB = "192.0.2.254"
NETEM = ("delay", "4ms", "3ms", "loss", "5%", "duplicate", "2%", "reorder", "10%")


class Hosts:
    """A namespace per name, and one with the bridge between them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._prefix = f"antecede{os.getpid()}"
        self.addresses = {name: f"192.0.2.{place}" for place, name in enumerate(names, start=1)}

    def space(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def within(self, name: str) -> tuple[str, ...]:
        """The command that runs another one on this host."""
        return ("ip", "netns", "exec", self.space(name))

    def build(self, stack: ExitStack) -> None:
        """Make the hosts; leaving the stack removes them."""
        self._make_space("hub", stack)
        ip("-n", self.space("hub"), "link", "add", "bridge", "type", "bridge")
        ip("-n", self.space("hub"), "addr", "add", f"{HUB}/24", "dev", "bridge")
        ip("-n", self.space("hub"), "link", "set", "bridge", "up")
        for place, (name, address) in enumerate(self.addresses.items()):
            self._make_space(name, stack)
            space, hub, port = self.space(name), self.space("hub"), f"port{place}"
            ip(*f"-n {space} link add eth type veth peer name {port} netns {hub}".split())
            ip(*f"-n {hub} link set {port} master bridge".split())
            ip(*f"-n {hub} link set {port} up".split())
            ip(*f"-n {space} addr add {address}/24 dev eth".split())
            ip(*f"-n {space} link set eth up".split())

    def disturb(self) -> bool:
        """Let the kernel delay, lose, double and reorder; False if it does not know how."""
        for name in self.addresses:
            command = ["tc", "-n", self.space(name), "qdisc", "add", "dev", "eth", "root", "netem"]
            if subprocess.run([*command, *NETEM], capture_output=True, check=False).returncode:
                return False
        return True

    def _make_space(self, name: str, stack: ExitStack) -> None:
        ip("netns", "add", self.space(name))
        stack.callback(ip, "netns", "del", self.space(name))
        ip("-n", self.space(name), "link", "set", "lo", "up")


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


def objection() -> str | None:
    """Why there can be no hosts here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "the programs ip and tc (iproute2) are not installed"
    probe = f"antecede{os.getpid()}-probe"
    try:
        ip("netns", "add", probe)
        ip("netns", "del", probe)
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made here: {error.stderr.decode().strip()}"
    return None


@contextmanager
def hosts(names: Sequence[str]) -> Iterator[Hosts]:
    """Hosts with these names, as long as the context lasts."""
    with ExitStack() as stack:
        made = Hosts(names)
        made.build(stack)
        yield made
