"""What a node's link costs in latency and saves in packets, beside the core alone: simulated.

`python -m bench node-cost` prints two tables. The first compares hosts on three networks at three
rates: the core alone, where every ack and permit is a packet and losses wait for a timer, and whole
nodes, where they ride in datagrams that are counted, paced and repeated by the path. The second
gives receivers less and less window. Everything is virtual time: the figures are the same anywhere.
"""

from antecede.endpoint.limits import Limits
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.meter import Meter
from antecede_lab.simulator.networks import build_network, find_network
from antecede_lab.simulator.nodes.simulation import NodeSimulation
from antecede_lab.simulator.observer import MetadataSize
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Poisson

PROCESSES = 8
MESSAGES = 4_000
SEED = 1
MS = 1_000_000
INTERVALS_NS = (20 * MS, 2 * MS, MS // 5)
WINDOWS = (4 << 20, 64 << 10, 8 << 10, 2 << 10)


def traffic(interval_ns: int) -> Poisson:
    """Anybody to anybody, at random."""
    return Poisson(PROCESSES, messages=MESSAGES, interval_ns=interval_ns, seed=SEED)


def compare_hosts() -> None:
    """The core alone beside whole nodes."""
    print("network   interval  host   p50 ms   p99 ms  packets  on the network  (per message)")
    for network in ("reliable", "lossy", "wan"):
        for interval_ns in INTERVALS_NS:
            for host in ("core", "node"):
                result = simulate(
                    "hybrid",
                    traffic(interval_ns),
                    faults=build_network(network),
                    seed=SEED,
                    patience_ns=find_network(network).patience_ns,
                    host=host,
                )
                assert result.measures is not None
                latency = result.measures.delays.latency
                sent = result.datagrams or result.packets
                print(
                    f"{network:<9} {interval_ns / MS:>5} ms  {host}  "
                    f"{latency.quantile(0.5) / MS:>7.2f}  {latency.quantile(0.99) / MS:>7.2f}  "
                    f"{result.packets / result.messages:>7.2f}  {sent / result.messages:>8.2f}"
                )


def compare_windows() -> None:
    """Whole nodes with less and less credit."""
    print("window     p50 ms   p99 ms  on the network  (per message)")
    info = find_protocol("hybrid")
    for window in WINDOWS:
        metadata_size = MetadataSize(info)
        meter = Meter(PROCESSES, metadata_size)
        simulation = NodeSimulation(
            info,
            traffic(MS // 5),
            faults=build_network("wan"),
            seed=SEED,
            metadata_size=metadata_size,
            observers=[meter],
            node_faults=[],
            options={},
            limits=Limits(window=window),
        )
        simulation.run()
        latency = meter.measures().delays.latency
        middle, late = latency.quantile(0.5) / MS, latency.quantile(0.99) / MS
        each = int(simulation.datagrams) / int(simulation.submissions)
        print(f"{window:>8}  {middle:>7.1f}  {late:>7.1f}  {each:>8.2f}")


if __name__ == "__main__":
    compare_hosts()
    compare_windows()
