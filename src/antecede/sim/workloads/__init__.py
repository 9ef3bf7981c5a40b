"""Who sends what to whom, and when."""

from antecede.sim.workloads.broadcast import Broadcast
from antecede.sim.workloads.groups import Groups
from antecede.sim.workloads.pipeline import Pipeline
from antecede.sim.workloads.poisson import Poisson
from antecede.sim.workloads.replay import Replay
from antecede.sim.workloads.request_reply import RequestReply
from antecede.sim.workloads.service_dag import ServiceDag, layered_services
from antecede.sim.workloads.workload import Agenda, Workload

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
