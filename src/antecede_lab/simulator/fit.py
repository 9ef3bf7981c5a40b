"""Whether a protocol can carry a workload over a network; `LocalError` says why not."""

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede.network_model.faults import Faults
from antecede_lab.simulator.workloads.workload import Workload


def check_fit(info: ProtocolInfo, workload: Workload, faults: Faults) -> None:
    """`LocalError` if the protocol cannot send what it is asked to, or needs a better network."""
    check_workload(info, workload)
    if info.network != "lossy" and not faults.lossless:
        raise LocalError(
            f"{info.name} needs a network that neither loses nor duplicates; "
            "run it over the reliable link, or without faults"
        )
    if info.network == "fifo" and not faults.fifo:
        raise LocalError(f"{info.name} needs FIFO channels; set fifo, or run it over the link")


def check_workload(info: ProtocolInfo, workload: Workload) -> None:
    """`LocalError` if the protocol cannot send to those whom the workload wants to reach."""
    name = type(workload).__name__
    if workload.processes < 1:
        raise LocalError("a run needs at least one process")
    if workload.multicasts and not info.multicast:
        raise LocalError(f"{info.name} sends to one process at a time; {name} multicasts")
    if info.broadcast_only and not workload.broadcasts:
        raise LocalError(f"{info.name} only broadcasts; {name} also sends to fewer than all")


def needs_link(info: ProtocolInfo, faults: Faults) -> bool:
    """Whether the protocol needs a better network than this one."""
    if info.network == "lossy":
        return False
    return not faults.lossless or (info.network == "fifo" and not faults.fifo)
