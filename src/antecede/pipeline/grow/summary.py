"""What about a grown workload is real, and what is not, in words."""

from antecede.pipeline.grow.plan import OVERLAY, Plan
from antecede.pipeline.grow.service_graph import ServiceGraph


def layer_origins(plan: Plan) -> dict[str, object]:
    """The same for replicas and overlays."""
    real = [
        "every conversation: who sends to whom, what causes what, think times, sizes",
        "messages with layer 0 are the recorded ones, once each",
    ]
    if plan.recorded.sampled_from is not None:
        real.append(sample_text(plan))
    grown = [
        "which replica of a process does what: "
        + (
            "each layer has replicas of its own, as far as there are enough"
            if plan.wanted.method == OVERLAY
            else "each errand runs at one chosen by the seed"
        ),
        "when conversations begin: as recorded"
        + (f", modulo {plan.period_ns / plan.wanted.speed / 1e9:.6g} s" if plan.folded else "")
        + (", each layer shifted by the seed" if plan.layers > 1 else ""),
    ]
    if not plan.keeps_load:
        grown.append(
            "the load, which is less than asked for: the longest conversation lasts "
            f"{plan.recorded.longest_ns / 1e9:.6g} s as recorded"
        )
    if plan.layers > 1:
        grown.append(f"layers 1 to {plan.layers - 1}: the recorded messages once more each")
    if plan.last_layer < plan.recorded.messages:
        grown.append(f"of the last layer only the first {plan.last_layer} messages are there")
    if plan.wanted.speed != 1.0:
        grown.append(f"all durations are those recorded, divided by {plan.wanted.speed:g}")
    return {"layers": plan.layers, "real": real, "grown": grown}


def sample_text(plan: Plan) -> str:
    """How much of a recording is grown that no task could take as a whole."""
    return (
        f"whole conversations, chosen by a hash: {plan.recorded.messages} of "
        f"{plan.recorded.sampled_from} messages, without causes that lead out of them"
    )


def graph_origins(
    graph: ServiceGraph, patterns: int, requests: int, plan: Plan
) -> dict[str, object]:
    """The same for a service graph."""
    sample = [] if plan.recorded.sampled_from is None else [sample_text(plan)]
    return {
        "services": len(graph.names),
        "edges": graph.edges,
        "patterns": patterns,
        "requests": requests,
        "real": [
            "services, who calls whom, and how often compared with others: the graph's",
            "what a process does when a message reaches it: calls, what each waits for, think "
            "times, sizes, answers: those of one recorded errand, chosen by the seed",
            *sample,
        ],
        "grown": [
            "every single request: where it enters and when, which services it reaches",
            "replicas of a service, in proportion to its requests",
            "joins of messages from several processes are not there, but for joined answers",
        ],
    }
