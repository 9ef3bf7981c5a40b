"""The deterministic simulator: real protocol objects on a simulated network, under one seed."""

from antecede_lab.simulator.histogram import Histogram
from antecede_lab.simulator.measures import Delays, Measures, Occupancy, PacketTotals
from antecede_lab.simulator.networks import NETWORKS, build_network, parse_latency
from antecede_lab.simulator.run import Leftovers, RunResult, simulate
from antecede_lab.simulator.workloads.catalogue import WORKLOADS, Traffic, build_workload

__all__ = [
    "NETWORKS",
    "WORKLOADS",
    "Delays",
    "Histogram",
    "Leftovers",
    "Measures",
    "Occupancy",
    "PacketTotals",
    "RunResult",
    "Traffic",
    "build_network",
    "build_workload",
    "parse_latency",
    "simulate",
]
