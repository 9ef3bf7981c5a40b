"""Which carrier a node's datagrams travel on: the address that it is bound to says it."""

import asyncio
import socket

from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.carriers.dns import look_up
from antecede.runtime.carriers.udp import UdpCarrier
from antecede.runtime.config.addresses import Address, CarriedAddress, is_name
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import CannotBind, MissingExtra
from antecede.runtime.key_settings import stays_local


async def open_transport(settings: Settings) -> Carrier:
    """The way out and in that these settings ask for, in the running loop."""
    loop, bind, local_only = asyncio.get_running_loop(), settings.bind, stays_local(settings)
    carrier = bind.carrier if isinstance(bind, CarriedAddress) else "udp"
    if carrier == "tcp":
        from antecede.runtime.carriers.tcp import TcpCarrier

        tcp = TcpCarrier(loop, settings.mtu, local_only)
        await tcp.listen(bind)
        return tcp
    if carrier == "nats":
        ensure_nats()
        from antecede.integrations.nats import NatsCarrier

        broker = NatsCarrier(loop, settings.name, settings.mtu, local_only)
        await broker.connect(bind)
        return broker
    return UdpCarrier(
        await numeric_address(bind),
        settings.mtu,
        loop,
        settings.gso,
        stay_awake=settings.stay_awake,
        local_only=local_only,
    )


def ensure_nats() -> None:
    """Say what to install if the client of the broker is missing."""
    try:
        import nats  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise MissingExtra("nats") from None


async def numeric_address(bind: Address) -> Address:
    """Where to listen, with a host name looked up; `CannotBind` says why that fails."""
    if not is_name(bind.host):
        return bind
    try:
        found = await look_up(bind, socket.AF_INET)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotBind(str(bind), reason) from error
    return Address(str(found[0][0]), bind.port)
