"""Every protocol of ours, in plain sight: this is the only list.

A `ProtocolInfo` says what a protocol promises, what it needs below it, and how to make a process of
it. Wherever a protocol name is accepted, `module:NAME` names a user's own `ProtocolInfo`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final, Literal, TypeAlias, final

from antecede.core.codec import PacketCodec
from antecede.core.errors import LocalError, not_called
from antecede.core.process import CausalProcess
from antecede.core.protocols.blocking import BlockingProcess
from antecede.core.protocols.bss import BssProcess
from antecede.core.protocols.cykas import CykasProcess
from antecede.core.protocols.facts import FactsProcess
from antecede.core.protocols.fifo import FifoProcess
from antecede.core.protocols.hybrid import HybridProcess
from antecede.core.protocols.ks import KsProcess
from antecede.core.protocols.mf import MfProcess
from antecede.core.protocols.newtop import NewtopProcess
from antecede.core.protocols.none import NoneProcess
from antecede.core.protocols.paper_basic import PaperBasicProcess
from antecede.core.protocols.paper_multicast import PaperMulticastProcess
from antecede.core.protocols.paper_sps import PaperSpsProcess
from antecede.core.protocols.piggyback import PiggybackProcess
from antecede.core.protocols.prs import PrsProcess
from antecede.core.protocols.psync import PsyncProcess
from antecede.core.protocols.rst import RstProcess
from antecede.core.protocols.separators import SeparatorsProcess
from antecede.core.protocols.ses import SesProcess
from antecede.core.protocols.topology import TopologyProcess
from antecede.core.protocols.tree import TreeProcess

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
            "hybrid-facts",
            FactsProcess,
            ordering="causal",
            multicast=True,
            network="lossy",
            paper=HYBRID_PAPER + ", with facts of the past within a budget",
        ),
        ProtocolInfo(
            "paper-basic",
            PaperBasicProcess,
            ordering="causal",
            multicast=False,
            network="lossy",
            paper=HYBRID_PAPER + ", Algorithm 1 (CSPS)",
        ),
        ProtocolInfo(
            "paper-sps",
            PaperSpsProcess,
            ordering="causal",
            multicast=False,
            network="lossy",
            paper=HYBRID_PAPER + ", Algorithm 2 (SPS)",
        ),
        ProtocolInfo(
            "paper-multicast",
            PaperMulticastProcess,
            ordering="causal",
            multicast=True,
            network="lossy",
            paper=HYBRID_PAPER + ", Algorithm 3 (CSPS multicast)",
        ),
        ProtocolInfo(
            "rst",
            RstProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Raynal, Schiper, Toueg, The Causal Ordering Abstraction and a Simple Way to "
            "Implement It, Information Processing Letters 39(6), 1991",
        ),
        ProtocolInfo(
            "ks",
            KsProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Kshemkalyani, Singhal, Necessary and Sufficient Conditions on Information for "
            "Causal Message Ordering and Their Optimal Implementation, Distributed Computing "
            "11(2), 1998",
        ),
        ProtocolInfo(
            "prs",
            PrsProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Prakash, Raynal, Singhal, An Adaptive Causal Ordering Algorithm Suited to "
            "Mobile Computing Environments, Journal of Parallel and Distributed Computing "
            "41(2), 1997",
        ),
        ProtocolInfo(
            "ses",
            SesProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Schiper, Eggli, Sandoz, A New Algorithm to Implement Causal Ordering, "
            "WDAG 1989 (LNCS 392)",
        ),
        ProtocolInfo(
            "bss",
            BssProcess,
            ordering="causal",
            multicast=True,
            broadcast_only=True,
            network="reliable",
            needs_membership=True,
            paper="Birman, Schiper, Stephenson, Lightweight Causal and Atomic Group Multicast, "
            "ACM Transactions on Computer Systems 9(3), 1991",
        ),
        ProtocolInfo(
            "newtop",
            NewtopProcess,
            ordering="causal",
            multicast=True,
            broadcast_only=True,
            network="fifo",
            needs_membership=True,
            paper="Ezhilchelvan, Macêdo, Shrivastava, Newtop: A Fault-Tolerant Group "
            "Communication Protocol, ICDCS 1995",
        ),
        ProtocolInfo(
            "mf",
            MfProcess,
            ordering="causal",
            multicast=False,
            network="lossy",
            paper="Mattern, Fünfrocken, A Non-Blocking Lightweight Implementation of Causal "
            "Order Message Delivery, LNCS 938, 1995",
        ),
        ProtocolInfo(
            "cykas",
            CykasProcess,
            ordering="causal",
            multicast=False,
            network="reliable",
            paper="Tong, Liittschwager, Kuper, Can you keep a secret? A new protocol for "
            "sender-side enforcement of causal message delivery, arXiv:2603.14690",
        ),
        ProtocolInfo(
            "tree",
            TreeProcess,
            ordering="causal",
            multicast=True,
            network="fifo",
            needs_membership=True,
            paper="Blessing, Clebsch, Drossopoulou, Tree Topologies for Causal Message "
            "Delivery, AGERE 2017",
        ),
        ProtocolInfo(
            "piggyback",
            PiggybackProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Birman, Joseph, Reliable Communication in the Presence of Failures, ACM "
            "Transactions on Computer Systems 5(1), 1987",
        ),
        ProtocolInfo(
            "psync",
            PsyncProcess,
            ordering="causal",
            multicast=True,
            broadcast_only=True,
            network="lossy",
            needs_membership=True,
            paper="Peterson, Buchholz, Schlichting, Preserving and Using Context Information in "
            "Interprocess Communication, ACM Transactions on Computer Systems 7(3), 1989",
        ),
        ProtocolInfo(
            "separators",
            SeparatorsProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Rodrigues, Veríssimo, Causal Separators for Large-Scale Multicast "
            "Communication, ICDCS 1995",
        ),
        ProtocolInfo(
            "topology",
            TopologyProcess,
            ordering="causal",
            multicast=True,
            network="reliable",
            needs_membership=True,
            paper="Meldal, Sankar, Vera, Exploiting Locality in Maintaining Potential Causality, "
            "PODC 1991, applied to the matrix of Raynal, Schiper, Toueg",
        ),
        ProtocolInfo(
            "blocking",
            BlockingProcess,
            ordering="causal",
            multicast=False,
            network="lossy",
            paper="the blocking send that Mattern, Fünfrocken, A Non-Blocking Lightweight "
            "Implementation of Causal Order Message Delivery, LNCS 938, 1995, starts from",
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


def find_protocol(name: str) -> ProtocolInfo:
    """The protocol called `name`, or the user's own if `name` reads `module:NAME`."""
    name = catalogue_name(name)
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    module_name, _, attribute = name.partition(":")
    if not module_name or module_name.startswith(".") or not attribute:
        raise not_called("no protocol", name, PROTOCOLS)
    try:
        info = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise LocalError(f"cannot load the protocol {name!r}: {error}") from error
    if not isinstance(info, ProtocolInfo):
        raise LocalError(f"{name!r} is a {type(info).__name__}, not a ProtocolInfo")
    return info
