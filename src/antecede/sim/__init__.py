"""The deterministic simulator: real protocol objects on a simulated network, under one seed."""

from antecede.sim.histogram import Histogram
from antecede.sim.measures import Delays, Measures, Occupancy, PacketTotals
from antecede.sim.networks import NETWORKS, build_network, parse_latency
from antecede.sim.run import Leftovers, RunResult, simulate
from antecede.sim.workloads.catalogue import WORKLOADS, Traffic, build_workload

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
