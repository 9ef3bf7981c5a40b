"""Every protocol of ours, in plain sight: the product's, and those that it is compared with."""

from typing import Final

from antecede.core import catalogue
from antecede.core.catalogue import HYBRID_PAPER, ProtocolInfo
from antecede.core.catalogue import PROTOCOLS as PRODUCT
from antecede_lab.protocols.baldoni import BaldoniProcess
from antecede_lab.protocols.blocking import BlockingProcess
from antecede_lab.protocols.bss import BssProcess
from antecede_lab.protocols.cykas import CykasProcess
from antecede_lab.protocols.facts.process import FactsProcess
from antecede_lab.protocols.ks import KsProcess
from antecede_lab.protocols.mf import MfProcess
from antecede_lab.protocols.newtop import NewtopProcess
from antecede_lab.protocols.paper_basic import PaperBasicProcess
from antecede_lab.protocols.paper_multicast import PaperMulticastProcess
from antecede_lab.protocols.paper_sps import PaperSpsProcess
from antecede_lab.protocols.piggyback import PiggybackProcess
from antecede_lab.protocols.prs import PrsProcess
from antecede_lab.protocols.psync import PsyncProcess
from antecede_lab.protocols.rst import RstProcess
from antecede_lab.protocols.saturn import SaturnProcess
from antecede_lab.protocols.separators import SeparatorsProcess
from antecede_lab.protocols.ses import SesProcess
from antecede_lab.protocols.topology import TopologyProcess
from antecede_lab.protocols.tree import TreeProcess

PROTOCOLS: Final[dict[str, ProtocolInfo]] = {
    info.name: info
    for info in (
        PRODUCT["hybrid"],
        PRODUCT["hybrid-sps"],
        PRODUCT["hybrid-csps"],
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
            paper="Bona et al., HICSS 1996; again in Blessing, Clebsch, Drossopoulou, Tree "
            "Topologies for Causal Message Delivery, AGERE 2017",
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
            "saturn",
            SaturnProcess,
            ordering="causal",
            multicast=True,
            network="fifo",
            needs_membership=True,
            paper="Bravo, Rodrigues, Van Roy, Saturn: a Distributed Metadata Service for Causal "
            "Consistency, EuroSys 2017",
        ),
        ProtocolInfo(
            "baldoni",
            BaldoniProcess,
            ordering="causal",
            multicast=True,
            broadcast_only=True,
            network="fifo",
            needs_membership=True,
            paper="Baldoni, A Positive Acknowledgment Protocol for Causal Broadcasting, IEEE "
            "Transactions on Computers 47(12), 1998",
        ),
        PRODUCT["fifo"],
        PRODUCT["none"],
    )
}


def find_protocol(name: str) -> ProtocolInfo:
    """The protocol called `name`, or the user's own if `name` reads `module:NAME`."""
    return catalogue.find_protocol(name, PROTOCOLS)
