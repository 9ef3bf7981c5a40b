"""The grow job: reads a workload, writes a larger one, and says what about it is real."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import IntegerType, LongType

from antecede.core.errors import LocalError
from antecede_audit.eventlog.workload import WORKLOAD_COLUMNS
from antecede_audit.jobs.outputs import REPLACED
from antecede_audit.measure.profile import no_messages
from antecede_audit.spark.job_names import named_jobs
from antecede_audit.spark.measure import causal_structure, read_names, read_workload
from antecede_audit.spark.outputs import SparkOutputTables
from antecede_audit.spark.sampling import ENTRIES_MAX, RunSize, Sampled, run_sizes, sampled
from antecede_audit.spark.settings import persisted
from antecede_audit.spark.storage import Storage
from antecede_lab.grow.layers import grown, layered, replica_names
from antecede_lab.grow.requests import (
    PARTS_WANTED,
    Pattern,
    RequestModel,
    ServiceGraph,
    calls_inside,
    calls_means,
    firsts,
    grown_requests,
    messages_mean,
    patterns_of,
    pools_of,
    rates_of,
    read_graph,
    replicas_of,
    sampled_parts,
)
from antecede_lab.grow.target_size import (
    GRAPH,
    OVERLAY,
    GrowthPlan,
    GrowthRequest,
    Recorded,
    plan_growth,
)


def layer_origins(plan: GrowthPlan) -> dict[str, object]:
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


def sample_text(plan: GrowthPlan) -> str:
    """How much of a recording is grown that no task could take as a whole."""
    return (
        f"whole conversations, chosen by a hash: {plan.recorded.messages} of "
        f"{plan.recorded.sampled_from} messages, without causes that lead out of them"
    )


def graph_origins(
    graph: ServiceGraph, patterns: int, requests: int, plan: GrowthPlan
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


COLUMNS: Final = (*WORKLOAD_COLUMNS, "source_message_id", "layer")
"""What is written: a workload, and for each message which recorded one it repeats, if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A grown workload before it is written."""

    workload: DataFrame
    """`COLUMNS` and ready_ns."""
    processes: DataFrame
    """process, name, source, replica."""
    origins: dict[str, object]
    """What is real and what is grown, for the summary."""


def grow(
    session: SparkSession,
    source: str,
    out: str,
    wanted: GrowthRequest,
    *,
    run_id: str | None = None,
    graph: Path | None = None,
    name: str | None = None,
    entries_max: int = ENTRIES_MAX,
) -> dict[str, object]:
    """Grow a run of the folder `source` into the folder `out`, and give back its summary.

    `graph` is a service-dependency graph, for the method of that name. The grown run is called
    `name`, or after the recorded one. What an earlier ingest or growth left in `out` is
    replaced. Of a run with more messages, copies and causes than `entries_max` a sample is grown,
    as often as it takes.
    """
    services = graph_for(wanted, graph)
    if Path(out).absolute() == Path(source).absolute():
        raise LocalError(f"{out} holds the recording: the grown workload needs a folder of its own")
    Storage(session).check_replaceable(out, REPLACED)
    with ExitStack() as stack:
        describe = stack.enter_context(named_jobs(session, "grow"))
        describe("causes and effects")
        workload = read_workload(session, source, run_id)
        size = only_run(run_sizes(workload), source, run_id)
        chosen = size.run_id
        names = read_names(session, source, chosen)
        sample = sampled(workload, {chosen: size}, stack, entries_max)
        structure = persisted(causal_structure(sample.workload), stack)
        plan = plan_growth(recorded(structure, names, sample, size), wanted)
        if services is None:
            growth = from_layers(structure, names, plan)
        else:
            growth = from_graph(session, structure, services, plan)
        describe("growing and writing")
        called = name or f"{chosen}-{wanted.method}-{wanted.processes}"
        words: dict[str, object] = {"folder": source, **asdict(plan.recorded)}
        return written(growth, plan, called, out, stack, asdict(wanted) | {"grown_from": words})


def graph_for(wanted: GrowthRequest, graph: Path | None) -> ServiceGraph | None:
    """The service graph, if the method needs one."""
    if (wanted.method == GRAPH) != (graph is not None):
        raise LocalError("the method graph needs a graph, and no other method takes one")
    return None if graph is None else read_graph(graph)


def only_run(sizes: Mapping[str, RunSize], source: str, run_id: str | None) -> RunSize:
    """The run to grow, of which there must be one."""
    runs = list(sizes.values())
    if not runs:
        raise LocalError(no_messages(source, run_id))
    if len(runs) > 1:
        first = runs[0].run_id
        raise LocalError(f"{source} has {len(runs)} runs, such as {first!r}: say which to grow")
    return runs[0]


def recorded(structure: DataFrame, names: DataFrame, sample: Sampled, size: RunSize) -> Recorded:
    """What there is to begin with; `LocalError` if it could not even be replayed."""
    row = structure.agg(
        F.count_if(F.col("depth").isNull()).alias("stuck"),
        F.min("ready_ns").alias("first_ns"),
        F.max("ready_ns").alias("last_ns"),
        F.max(F.col("ready_ns") - F.col("begun_ns")).alias("longest_ns"),
    ).collect()[0]
    if row.stuck:
        raise LocalError(
            f"{row.stuck} messages of {size.run_id} can never leave: a cause is missing, or they "
            "wait for themselves"
        )
    named = names.agg(F.max("process").alias("highest")).collect()[0].highest
    taken = sample.messages.get(size.run_id)
    return Recorded(
        run_id=size.run_id,
        processes=1 + max(size.highest, -1 if named is None else named),
        messages=size.messages if taken is None else taken,
        span_ns=row.last_ns - row.first_ns + 1,
        first_ns=row.first_ns,
        longest_ns=row.longest_ns,
        sampled_from=None if taken is None else size.messages,
    )


def from_layers(structure: DataFrame, names: DataFrame, plan: GrowthPlan) -> Growth:
    """Grow by replicas or overlays."""
    return Growth(
        workload=grown(layered(structure, plan), plan),
        processes=replica_names(names, plan),
        origins=layer_origins(plan),
    )


def from_graph(
    session: SparkSession, structure: DataFrame, graph: ServiceGraph, plan: GrowthPlan
) -> Growth:
    """Grow by the rates of a service graph."""
    patterns = sampled_patterns(structure, plan)
    rates = rates_of(graph, calls_means(pools_of(patterns))[False], calls_inside(patterns))
    replicas = replicas_of(rates.asked, plan.wanted.processes)
    model = RequestModel(
        graph=graph,
        rates=rates,
        replicas=replicas,
        firsts=firsts(replicas),
        patterns=tuple(patterns),
        period_ns=plan.period_ns,
        speed=plan.wanted.speed,
        seed=plan.wanted.seed,
    )
    requests = ceil(plan.messages / max(messages_mean(model), 1e-9))
    workload = grown_requests(session.range(requests), model).select(
        "*",
        F.lit(None).cast(LongType()).alias("source_message_id"),
        F.lit(None).cast(IntegerType()).alias("layer"),
    )
    return Growth(
        workload=workload,
        processes=service_names(session, graph, replicas),
        origins=graph_origins(graph, len(patterns), requests, plan),
    )


def sampled_patterns(structure: DataFrame, plan: GrowthPlan) -> list[Pattern]:
    """Patterns of the recording, in an order that does not depend on partitions."""
    total = structure.agg(F.sum(1 + F.size("targets")).alias("parts")).collect()[0].parts
    sampled = sampled_parts(structure, plan.wanted.seed, PARTS_WANTED / total)
    rows = sorted(sampled.collect(), key=lambda row: row.errand)
    return patterns_of(row.parts for row in rows)


def service_names(
    session: SparkSession, graph: ServiceGraph, replicas: tuple[int, ...]
) -> DataFrame:
    """What the processes are called if services have `replicas` replicas."""
    rows: list[Any] = [
        (name if replica == 0 else f"{name}#{replica}", name, replica)
        for name, count in zip(graph.names, replicas, strict=True)
        for replica in range(count)
    ]
    numbered = [(process, *row) for process, row in enumerate(rows)]
    return session.createDataFrame(numbered, "process int, name string, source string, replica int")


def written(
    growth: Growth,
    plan: GrowthPlan,
    run_id: str,
    out: str,
    stack: ExitStack,
    words: dict[str, object],
) -> dict[str, object]:
    """Write the tables, and the summary with what there is and with `words`."""
    workload = persisted(growth.workload, stack)
    counts = counted(workload, plan)
    if not counts["messages"]:
        raise LocalError("not a single message came of it: ask for more messages")
    summary = {"run_id": run_id, **words, **counts, "rejects": 0, **growth.origins}
    session = workload.sparkSession
    with Storage(session).replacing(out, REPLACED) as stage:
        outputs = SparkOutputTables(session, stage, run_id)
        # Replays break ties by the order of rows: it must not depend on how they were partitioned.
        outputs.write_run(
            "workload", workload.select(*COLUMNS).orderBy("message_id"), workload.count()
        )
        people = growth.processes.orderBy("process")
        outputs.write_run("processes", people, people.count())
        outputs.write_summary(summary)
    return summary


def counted(workload: DataFrame, plan: GrowthPlan) -> dict[str, object]:
    """How much there is, and when it happens over a network that takes no time."""
    everybody = F.explode(F.concat(F.array("sender"), F.col("targets")))
    active = workload.select(everybody.alias("process")).agg(
        F.count_distinct("process").alias("active_processes")
    )
    counts = workload.agg(
        F.count("*").alias("messages"),
        F.sum(F.size("targets")).alias("copies"),
        F.min("ready_ns").alias("first_ns"),
        F.max("ready_ns").alias("last_ns"),
        F.count_if(F.col("layer") == 0).alias("real_messages"),
    )
    row = counts.crossJoin(active).collect()[0]
    if not row.messages:
        return row.asDict()
    rate = row.messages / (row.last_ns - row.first_ns + 1) / plan.wanted.processes
    return {**row.asDict(), "load_measured": rate / plan.recorded.rate / plan.wanted.speed}
