"""The deterministic simulator: real protocol objects on a simulated network, under one seed."""

from antecede_lab.simulator.histogram import Histogram
from antecede_lab.simulator.meter import Delays, Occupancy, PacketTotals, RunMeasures
from antecede_lab.simulator.networks import NETWORKS, build_network, parse_latency
from antecede_lab.simulator.run import RunLeftovers, RunResult, simulate
from antecede_lab.simulator.workloads.catalogue import WORKLOADS, TrafficSettings, build_workload

__all__ = [
    "NETWORKS",
    "WORKLOADS",
    "Delays",
    "Histogram",
    "Occupancy",
    "PacketTotals",
    "RunLeftovers",
    "RunMeasures",
    "RunResult",
    "TrafficSettings",
    "build_network",
    "build_workload",
    "parse_latency",
    "simulate",
]
