"""Tables of the documents that quote recorded figures as they are.

They stand in their pages between lines that name them.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import evaluation_tables
from bench.evaluation_tables import table
from bench.live.catalogue import PEERS
from bench.reproduce import read_claims
from bench.reproduce import table as table_of_claims
from bench.results import read_results

Figures = dict[str, str]
LIVE = {
    "messages_per_s_64": "64 B, messages/s",
    "messages_per_s_1024": "1 kB, messages/s",
    "p50_us": "round trip, p50",
}
CARRIERS = {"udp": "UDP", "tcp": "TCP", "nats": "NATS"}


def figures_of(claim: str) -> Figures:
    """What is recorded for a claim, by key."""
    return {row["key"]: row["value"] for row in read_results()[claim]}


def count(text: str) -> str:
    """A count with commas between thousands."""
    return f"{float(text):,.0f}"


def rounded(text: str) -> str:
    """A speed in thousands, to three digits."""
    value = float(f"{float(text) / 1000:.3g}")
    return f"{value:,.0f} k" if value >= 100 else f"{value:g} k"


def steps(claim: str, by: str, heading: str, per: str = "message") -> str:
    """Steps per message, against one thing."""
    prefix = f"steps_per_{per}_by_{by}."
    found = {
        key.removeprefix(prefix): value
        for key, value in figures_of(claim).items()
        if key.startswith(prefix)
    }
    sizes = [count(size).replace(",", " ") for size in found]
    return table([heading, *sizes], [["steps", *map(count, found.values())]])


def builds() -> str:
    """Compiled against interpreted."""
    found = figures_of("builds")
    drivers = {
        "simulator": "the simulator, compiled along",
        "list": "a plain Python loop over the list-returning face",
    }
    rows = []
    for key, name in drivers.items():
        speeds = [found[f"builds.{key}.{build}_messages_per_s"] for build in BUILDS]
        rows.append([name, *map(rounded, speeds), found[f"builds.{key}.ratio"]])
    return table(["driver, messages/s", *BUILDS, "ratio"], rows)


BUILDS = ("compiled", "interpreted")


def simulator() -> str:
    """The simulator against SimPy."""
    found = {key.rpartition(".")[2]: value for key, value in figures_of("simulator").items()}
    return table(
        ["", "events/s", "ratio"],
        [
            ["antecede", rounded(found["antecede_events_per_s"]), ""],
            [
                "SimPy, a process per packet, as its documentation models things",
                rounded(found["simpy_events_per_s"]),
                found["ratio"],
            ],
            [
                "SimPy, callbacks on timeouts, as fast as it goes",
                rounded(found["simpy_with_callbacks_events_per_s"]),
                found["ratio_to_callbacks"],
            ],
        ],
    )


def carriers() -> str:
    """UDP, TCP and NATS side by side."""
    found = figures_of("carriers")
    rows = [
        [
            name,
            rounded(found[f"{key}.messages_per_s"]),
            found[f"{key}.messages_per_s_of_udp"],
            f"{found[f'{key}.round_trip_us']} µs",
            found[f"{key}.round_trip_us_of_udp"],
        ]
        for key, name in CARRIERS.items()
    ]
    heads = ["carrier", "messages of 100 bytes a second", "of UDP", "round trip", "of UDP"]
    return table(heads, rows)


def live() -> str:
    """Nodes against other messaging libraries."""
    kept = read_results()["live"]
    found = {(row["peer"], row["measure"]): row for row in kept}
    rows = []
    for peer in dict.fromkeys(row["peer"] for row in kept):
        cells = [PEERS[peer].name]
        for measure in LIVE:
            row = found[peer, measure]
            is_time = measure.endswith("_us")
            median = f"{float(row['median']):.0f} µs" if is_time else rounded(row["median"])
            cells += [median, row["ratio"]]
        rows.append(cells)
    heads = [head for measured in LIVE.values() for head in (measured, "ratio")]
    return table(["", *heads], rows)


def reliability() -> str:
    """What can be run again in minutes."""
    rows = []
    for claim, clusters in (
        ("reliability-simulated", "simulated clusters"),
        ("reliability-simulated-journals", "simulated clusters with journals"),
    ):
        found = figures_of(claim)
        totals = {key.rpartition(".")[2]: count(found[key]) for key in found if "totals" in key}
        said = (
            f"{totals['messages']} messages, {totals['deliveries']} deliveries, "
            f"{totals['datagrams']} datagrams, {totals['gone']} nodes gone, "
            f"{totals['power']} crashes at a write"
        )
        rows.append([f"{count(found['runs'])} {clusters}", said, verdict(found["ok"])])
    for claim, programs in (
        ("reliability-losses", "programs, one packet lost, every interleaving"),
        ("reliability-partings", "programs, one crash, one expulsion, every interleaving"),
    ):
        found = figures_of(claim)
        number = len([key for key in found if key.endswith(".verdict")])
        rows.append(
            [f"{number} {programs}", f"{count(found['states'])} states", verdict(found["ok"])]
        )
    found = figures_of("reliability-processes")
    faults = len([key for key in found if key.startswith("schedule.")])
    rows.append(["real processes", f"{faults} faults", verdict(found["ok"])])
    kills = figures_of("reliability-kills")
    wrong = [key for key in kills if key.startswith("wrong")]
    rows.append(["real processes with journals", f"{kills['kills']} SIGKILLs", verdict(not wrong)])
    hostile = figures_of("reliability-hostile")
    said = f"{count(hostile['datagrams'])} hostile datagrams"
    rows.append(["nodes with keys and without", said, verdict(hostile["found"] == "0")])
    return table(["what", "how much", "found"], rows)


def secure() -> str:
    """What encryption costs."""
    kept = {(row["peer"], row["measure"]): row for row in read_results()["secure"]}
    rows = []
    for peer in SEALED:
        small, large = (kept[peer, f"messages_per_s_{size}"] for size in (64, 1024))
        cells = [PEERS[peer].name]
        for row in (small, large):
            cells += [rounded(row["median"]), row["over_plain"], row["over_zmq"], row["over_curve"]]
        rows.append([*cells, f"{float(kept[peer, 'p50_us']['median']):.0f} µs"])
    over = ["over plain", "over PUSH/PULL", "over CURVE"]
    return table(["", "64 B, messages/s", *over, "1 kB", *over, "round trip, p50"], rows)


SEALED = (
    "antecede-sealed",
    "antecede-1400-sealed",
    "antecede-handler-1400-sealed",
    "zmq-curve",
    "tls-20",
)


def fairness() -> str:
    """What a quiet member sees of floods."""
    found = figures_of("fairness")
    rows = [
        [
            f"{words}: {count(found[f'{flood}.per_s'])}/s",
            *(f"{count(found[f'{flood}.{where}.p99'])} µs" for where in PLACES),
            found[f"{flood}.p99_over_alone"],
            found[f"{flood}.p50_over_alone"],
        ]
        for flood, words in FLOODS.items()
    ]
    heads = ["the flood", "alone, p99", "of somebody else", "of the hub", "over alone"]
    return table([*heads, "its median over alone"], rows)


FLOODS = {
    "member": "another member, 64-byte messages, as many as the hub takes",
    "tokens": "a stranger with made-up tokens, a datagram a call",
    "joined": "the same, 64 datagrams a call",
}
PLACES = ("alone", "elsewhere", "here")


def below(claim: str, prefix: str) -> Figures:
    """What is recorded for a part of a claim."""
    return {
        key.removeprefix(f"{prefix}."): value
        for key, value in figures_of(claim).items()
        if key.startswith(f"{prefix}.")
    }


def audit() -> str:
    """Ten million events on Spark."""
    found = below("audit", "10 M")
    cells = {
        "events": count(found["events"]),
        "seconds": found["seconds"],
        "events/s": count(found["events_per_s"]),
        "µs of processor an event": found["cpu_us_per_event"],
        "peak memory": gigabytes(found["peak_mb"]),
        "violations": count(found["violations"]),
    }
    return table([*cells], [[*cells.values()]])


def small_audit() -> str:
    """A hundred thousand events, against the oracle."""
    found = below("audit", "oracle")
    names = {
        "oracle_s": "the oracle (`check_log` without witnesses)",
        "audit_s": "`antecede audit`: judged in one process, as small logs are",
        "spark_s": "the same on Spark",
    }
    oracle_s = float(found["oracle_s"])
    rows = [
        [name, found[key], f"{oracle_s / float(found[key]):.1f}"] for key, name in names.items()
    ]
    return table(["", "seconds", "oracle / this"], rows)


def gigabytes(megabytes: str) -> str:
    """A size, to a tenth."""
    return f"{float(megabytes) / 1000:.1f} GB"


def ingest() -> str:
    """Half a million spans."""
    found = figures_of("ingest")
    cells = {
        "spans": count(found["spans"]),
        "messages": count(found["messages"]),
        "seconds": found["seconds"],
        "spans/s": count(found["spans_per_s"]),
        "spans/s of a core": count(found["spans_per_core_s"]),
        "peak memory": gigabytes(found["peak_mb"]),
        "decoding alone, seconds": found["peer_s"],
        "over that": found["ratio"],
    }
    return table([*cells], [[*cells.values()]])


WAYS = {
    "tcp-shared": "one TCP connection, cubic",
    "tcp-shared-bbr": "one TCP connection, BBR",
    "tcp-per-pair": "one TCP connection a pair, cubic",
    "antecede": "antecede",
}


def head_of_line() -> str:
    """What one lost packet costs others."""
    rows, before = [], ""
    for found in read_results()["head-of-line"]:
        times = [f"{float(found[name]):,.0f}" for name in ("p50", "p90", "p99", "p99.9")]
        held_up = f"{100 * float(found['held_up']):.1f} %"
        loss = found["loss"].replace("%", " %")
        rows.append([loss if loss != before else "", WAYS[found["way"]], *times, held_up])
        before = loss
    return table(["loss", "", "p50", "p90", "p99", "p99.9", "held up"], rows)


def verdict(well: object) -> str:
    """Whether all was well, in words."""
    return "nothing" if str(well) == "True" else "something"


def hub() -> str:
    """What RST and KS can be made to carry."""
    rows = []
    for name in ("rst", "ks"):
        found = below("hub", name)
        sizes = dict.fromkeys(key.partition(".")[0] for key in found)
        for measure, words in HUB.items():
            rows.append([name, words, *(count(found[f"{size}.{measure}"]) for size in sizes)])
    return table(["protocol", "", *(f"n = {count(size)}" for size in sizes)], rows)


HUB = {
    "integers": "integers in its message",
    "bytes": "bytes of metadata",
    "state": "integers kept",
}


def groups() -> str:
    """Latency in groups against the length of the run, of the three rules."""
    found = {
        (row["protocol"], row["quantity"], row["at"]): f"{float(row['mean']):.3g}"
        for rows in read_results().values()
        for row in rows
        if row.get("quantity", "").endswith("latency in groups by length of run")
    }
    lengths = list(dict.fromkeys(at for _, _, at in found))
    rows = [
        [
            f"`{name}`",
            *(
                f"{found[name, GROUPS, at]}, {found[name, f'longest {GROUPS}', at]}"
                for at in lengths
            ),
        ]
        for name in ("hybrid", "hybrid-sps", "hybrid-csps")
    ]
    return table(["", *(f"{count(at)} messages" for at in lengths)], rows)


GROUPS = "latency in groups by length of run"


def settings_of(claim: str) -> dict[str, Figures]:
    """What is recorded for each setting of a claim, by what it is of."""
    found: dict[str, Figures] = {}
    for key, value in figures_of(claim).items():
        setting, _, what = key.rpartition(".")
        found.setdefault(setting, {})[what] = value
    return found


def facts_latency() -> str:
    """`hybrid-facts` over the optimum, by size, pattern and load."""
    patterns: dict[str, list[list[str]]] = {}
    for setting, row in settings_of("facts-latency").items():
        size, pattern, load = setting.split()
        columns = [f"{float(row['hybrid']):.2f}", *(row[budget] for budget in BUDGETS)]
        cells = [f"{size} {pattern}", load, *columns, row["rst bytes"], row["ks bytes"]]
        patterns.setdefault(cells[0], []).append(cells)
    heads = ["n, pattern", "load", "`hybrid`", *BUDGETS, "RST", "KS"]
    return table(heads, [cells for rows in patterns.values() for cells in rows])


BUDGETS = ("B=4", "B=16", "B=64")


def facts_losses() -> str:
    """In how many runs `hybrid-facts` is slower than `hybrid`."""
    rows = []
    for label, said in figures_of("facts-losses").items():
        slower, _, ratio = said.partition(", ")
        rows.append([label, "none of" + slower[4:] if slower.startswith("0 ") else slower, ratio])
    return table(["", "slower in", "ratio"], rows)


def facts_stalled() -> str:
    """One process of twenty falls silent."""
    found = settings_of("facts-stalled")
    rows = [
        [load, *(said.replace("->", "→").replace("%", " %") for said in row.values())]
        for load, row in found.items()
    ]
    names = [f"`{name}`" if "=" not in name else name for name in next(iter(found.values()))]
    return table(["load", *names], rows)


PIPELINE = {
    "hybrid": "`hybrid`, nodes",
    "hybrid-core": "`hybrid`, the core on sockets",
    "mf": "`mf`",
    "cykas": "`cykas`",
    "tcp": "TCP",
}


def pipeline() -> str:
    """What passes through a pipeline, by delay."""
    rows = []
    heads: list[str] = []
    for way, words in PIPELINE.items():
        found = below("pipeline", way)
        heads = list(found)
        rows.append([words, *(f"{float(value):.4g}" for value in found.values())])
    return table(["one way", *heads], rows)


def many() -> str:
    """Thousands of processes behind one socket."""
    rows = [
        [
            count(setting.removeprefix("many.")),
            count(row["messages_per_cpu_s"]),
            row["bytes_per_message"],
            row["kb_per_process"],
        ]
        for setting, row in settings_of("many").items()
    ]
    heads = ["processes per host", "messages per second of processor", "bytes per message"]
    return table([*heads, "kB per process"], rows)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "hub": ("docs/COMPARISON.md", hub),
    "pipeline": ("docs/COMPARISON.md", pipeline),
    "many": ("docs/COMPARISON.md", many),
    "facts-latency": ("docs/protocols/facts.md", facts_latency),
    "facts-losses": ("docs/protocols/facts.md", facts_losses),
    "facts-stalled": ("docs/protocols/facts.md", facts_stalled),
    "groups": ("docs/protocols/hybrid.md", groups),
    "against-rst": ("docs/EVALUATION.md", evaluation_tables.against_rst_table),
    "claims": ("docs/REPRODUCE.md", lambda: table_of_claims(read_claims())),
    "steps": ("bench/README.md", partial(steps, "steps", "processes", "processes")),
    "unacked-steps": (
        "bench/README.md",
        partial(steps, "steps", "unacked", "unacked messages of the sender"),
    ),
    "peer-steps": ("bench/README.md", partial(steps, "peer-steps", "peers", "peers")),
    "multicast-steps": (
        "bench/README.md",
        partial(steps, "peer-steps", "targets", "targets", per="copy"),
    ),
    "builds": ("bench/README.md", builds),
    "simulator": ("bench/README.md", simulator),
    "live": ("bench/README.md", live),
    "carriers": ("docs/operations/carriers.md", carriers),
    "secure": ("bench/README.md", secure),
    "fairness": ("bench/README.md", fairness),
    "audit": ("bench/README.md", audit),
    "small-audit": ("bench/README.md", small_audit),
    "ingest": ("bench/README.md", ingest),
    "head-of-line": ("docs/COMPARISON.md", head_of_line),
    "reliability": ("docs/RELIABILITY.md", reliability),
    "added": ("docs/EVALUATION.md", evaluation_tables.added_table),
    "metadata": ("docs/EVALUATION.md", evaluation_tables.metadata_table),
    "requests": ("docs/EVALUATION.md", evaluation_tables.requests_table),
    "losses": ("docs/EVALUATION.md", evaluation_tables.losses_table),
    "mf-cykas": ("docs/EVALUATION.md", evaluation_tables.others_table),
    "grown": ("docs/EVALUATION.md", evaluation_tables.grown_table),
}
"""By name: the page, and what makes the table."""


END = "<!-- end -->"


def mark_of(name: str) -> str:
    """What stands before a table in its page."""
    return f"<!-- figures: {name} -->"


def quoted(name: str, page: Path) -> str:
    """The table as it is in a page."""
    rest = page.read_text(encoding="utf-8").partition(mark_of(name))[2]
    return rest.partition(END)[0].strip("\n") + "\n"


def mend(name: str, page: Path) -> None:
    """Put the table into a page."""
    head, mark, rest = page.read_text(encoding="utf-8").partition(mark_of(name))
    assert mark, f"{page} has no place for {name}: {mark_of(name)}"
    _, end, rest = rest.partition(END)
    assert end, f"the table of {name} in {page} does not end with {END}"
    page.write_text(f"{head}{mark}\n\n{TABLES[name][1]()}\n{end}{rest}", encoding="utf-8")
