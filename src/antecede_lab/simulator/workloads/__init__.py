"""Who sends what to whom, and when."""

from antecede_lab.simulator.workloads.groups import Groups
from antecede_lab.simulator.workloads.open_loop import Broadcast, Poisson
from antecede_lab.simulator.workloads.pipeline import Pipeline
from antecede_lab.simulator.workloads.replay import Replay
from antecede_lab.simulator.workloads.request_reply import RequestReply
from antecede_lab.simulator.workloads.service_dag import ServiceDag, layered_services
from antecede_lab.simulator.workloads.workload import Agenda, Workload

__all__ = [
    "Agenda",
    "Broadcast",
    "Groups",
    "Pipeline",
    "Poisson",
    "Replay",
    "RequestReply",
    "ServiceDag",
    "Workload",
    "layered_services",
]
