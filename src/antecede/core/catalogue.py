"""The protocols of the product, in plain sight; `antecede_lab.catalogue` has all the others too.

A `ProtocolInfo` says what a protocol promises, what it needs below it, and how to make a process of
it. Wherever a protocol name is accepted, `module:NAME` names a user's own `ProtocolInfo`.

The packets of our own protocols are encoded by `antecede.wire`. A user's protocol with packets of
its own brings a `PacketCodec` for them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final, Literal, TypeAlias, final

from mypy_extensions import mypyc_attr

from antecede.core.controls import FifoProcess, NoneProcess
from antecede.core.errors import LocalError, not_called
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import Packet
from antecede.core.process import CausalProcess


@mypyc_attr(allow_interpreted_subclasses=True)
class PacketCodec(ABC):
    """Encodes and decodes the packets of one protocol."""

    @abstractmethod
    def encode(self, packet: Packet) -> bytes:
        """The bytes of `packet`."""

    @abstractmethod
    def decode(self, data: bytes, source: int) -> Packet:
        """The packet that `source` encoded as `data`; `RemoteError` on anything malformed."""


Ordering: TypeAlias = Literal["causal", "fifo", "none"]
Network: TypeAlias = Literal["lossy", "reliable", "fifo"]
Create: TypeAlias = Callable[..., CausalProcess]

ORDERINGS: Final = ("causal", "fifo", "none")
NETWORKS: Final = ("lossy", "reliable", "fifo")
"""What a user's own protocol may say: a promise that is misspelt would never be judged."""


@final
class ProtocolInfo:
    """What a driver and a reader need to know of a protocol."""

    def __init__(
        self,
        name: str,
        create: Create,
        *,
        ordering: Ordering,
        multicast: bool,
        network: Network,
        paper: str,
        broadcast_only: bool = False,
        needs_membership: bool = False,
        options: dict[str, object] | None = None,
        codec: PacketCodec | None = None,
    ) -> None:
        check_one_of("ordering", ordering, ORDERINGS)
        check_one_of("network", network, NETWORKS)
        self.name: Final = name
        self.ordering: Final = ordering
        self.multicast: Final = multicast
        self.broadcast_only: Final = broadcast_only
        self.network: Final = network
        self.needs_membership: Final = needs_membership
        self.paper: Final = paper
        self.codec: Final = codec
        self._create: Final = create
        self._options: Final[dict[str, object]] = {} if options is None else options

    def create(self, me: int, processes: Sequence[int], **options: object) -> CausalProcess:
        """A process of this protocol; `processes` includes `me`."""
        try:
            return self._create(me, processes, **(self._options | options))
        except (TypeError, ValueError) as error:
            raise LocalError(f"cannot create a {self.name} process: {error}") from error

    def __repr__(self) -> str:
        return f"ProtocolInfo({self.name!r})"


def check_one_of(what: str, value: str, choices: tuple[str, ...]) -> None:
    """`LocalError` if `value` is none of the `choices`."""
    if value not in choices:
        raise LocalError(f"{what} must be one of {', '.join(choices)}, not {value!r}")


HYBRID_PAPER: Final = (
    "Almeida, Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable "
    "Causal Delivery through Hybrid Buffering"
)

PROTOCOLS: Final[dict[str, ProtocolInfo]] = {
    info.name: info
    for info in (
        ProtocolInfo(
            "hybrid",
            HybridProcess,
            ordering="causal",
            multicast=True,
            network="lossy",
            paper=HYBRID_PAPER + ", released in order, with multicast and cumulative permits",
        ),
        ProtocolInfo(
            "hybrid-sps",
            HybridProcess,
            ordering="causal",
            multicast=True,
            network="lossy",
            paper=HYBRID_PAPER + ", with SPS-optimal multicast and cumulative permits",
            options={"rule": "sps"},
        ),
        ProtocolInfo(
            "hybrid-csps",
            HybridProcess,
            ordering="causal",
            multicast=True,
            network="lossy",
            paper=HYBRID_PAPER + ", conservative (CSPS), with cumulative permits",
            options={"rule": "csps"},
        ),
        ProtocolInfo(
            "fifo",
            FifoProcess,
            ordering="fifo",
            multicast=True,
            network="lossy",
            paper="a control: reliable FIFO links, no order between pairs",
        ),
        ProtocolInfo(
            "none",
            NoneProcess,
            ordering="none",
            multicast=True,
            network="lossy",
            paper="a control: reliable links, no order at all",
        ),
    )
}


ALIASES: Final[dict[str, str]] = {"causal": "hybrid"}
"""What users may say instead of a name in the catalogue: the product's own has a plain one."""


NOT_FOR_NODES: Final[dict[str, str]] = {
    "hybrid-facts": (
        "hybrid-facts is a protocol of the lab now (antecede simulate, check, compare) and not for "
        "nodes, because after an expulsion its nodes could wait for ever and it takes several "
        "times the steps; let all nodes use the order causal instead"
    )
}
"""Why a protocol of the lab that nodes once had is not for them, and what is."""


def catalogue_name(name: str) -> str:
    """The name under which the catalogue has what a user calls by `name`."""
    return ALIASES.get(name, name)


def find_protocol(name: str, known: Mapping[str, ProtocolInfo] = PROTOCOLS) -> ProtocolInfo:
    """The protocol called `name`, or the user's own if `name` reads `module:NAME`."""
    name = catalogue_name(name)
    if name in known:
        return known[name]
    module_name, _, attribute = name.partition(":")
    if not module_name or module_name.startswith(".") or not attribute:
        raise not_called("no protocol", name, known)
    try:
        info = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise LocalError(f"cannot load the protocol {name!r}: {error}") from error
    if not isinstance(info, ProtocolInfo):
        raise LocalError(f"{name!r} is a {type(info).__name__}, not a ProtocolInfo")
    return info
