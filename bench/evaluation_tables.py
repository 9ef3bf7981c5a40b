"""The tables of docs/EVALUATION.md, from the recorded answers of the evaluation."""

from functools import cache

from bench.results import read_results

Row = dict[str, str]
NOBODY: Row = {}
NETWORKS = {"wan-lossless": "WAN, no loss", "wan": "WAN", "lan": "LAN"}
LOSSLESS = "wan-lossless"
SIXTEEN = "facts-16"
"""What ran on the largest traffic: `hybrid-facts` with 16 facts in a message instead of 64."""

NEGLIGIBLE = 0.05
"""Per cent: less than this is written as nothing."""


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Headings and rows, each with the same number of cells."""
    assert all(len(row) == len(heads) for row in rows), "every row has a cell for every heading"
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("| --- ", "|---") for line in lines)


@cache
def answers() -> dict[tuple[str, str, str], Row]:
    """Every recorded answer, by scenario, network and protocol."""
    return {
        (row["scenario"], row["network"], row["protocol"]): row
        for name, rows in read_results().items()
        for row in rows
        if name.startswith("evaluation-")
    }


def answer(scenario: str, network: str, protocol: str) -> Row:
    """One of them; an empty one if the protocol was not run there."""
    return answers().get((scenario, network, protocol), NOBODY)


def added(row: Row) -> str:
    """What ordering adds to the latency that would have been possible, with its interval."""
    if not row:
        return ""
    mean = 100 * float(row["added_share"])
    half = 100 * float(row["added_share_half_width"] or 0)
    if abs(mean) < NEGLIGIBLE and half < NEGLIGIBLE:
        return "0"
    return f"{per_cent(mean)}{f' ± {tens(half)}' if half >= NEGLIGIBLE else ''}"


def per_cent(mean: float) -> str:
    """With a sign, and a decimal where there is room for one."""
    return f"{mean:+,.0f} %" if abs(mean) >= 100 else f"{mean:+.1f} %"


def tens(half: float) -> str:
    """The width of an interval."""
    return f"{half:.0f}" if half >= 10 else f"{half:.1f}"


def bytes_of(row: Row) -> str:
    """Metadata per message."""
    if not row:
        return ""
    value = float(row["metadata_bytes"])
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}"


def duration(nanoseconds: float) -> str:
    """With three digits and a unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= 0.9995 * size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds / 1e3:.3g} µs"


def request(row: Row) -> str:
    """How long a request takes, and how much longer than without order."""
    longer = per_cent(100 * float(row["request_share"])) if row["protocol"] != "none" else ""
    return f"{duration(float(row['request_ns']))}{f' ({longer})' if longer else ''}"


def with_options(cell: str, others: dict[str, Row]) -> str:
    """What variants come to, each with its name."""
    make = added if cell == "added" else bytes_of
    return ", ".join(f"{make(row)} ({name})" for name, row in others.items())


def variants(scenario: str) -> dict[str, Row]:
    """The variants of hybrid-facts that a scenario has, by what they are called in a table."""
    names = {
        "filter-alone": "the filter alone",
        "facts-4": "4 facts",
        "facts-16": "16 facts",
        "facts-16-hops-4": "16 facts, 4 hops",
    }
    found = {title: answer(scenario, LOSSLESS, name) for name, title in names.items()}
    return {title: row for title, row in found.items() if row}


def added_table() -> str:
    """What is added over a WAN that loses nothing."""
    traffic = {
        "trainticket": "TrainTicket",
        "media": "media, 2 600 messages/s",
        "email": "e-mail, a day in a second",
        "email-3d": "its first three days",
    }
    protocols = ["hybrid", "hybrid-sps", "hybrid-csps", "hybrid-facts"]
    rows = []
    for scenario, title in traffic.items():
        found = [answer(scenario, LOSSLESS, protocol) for protocol in protocols]
        cells = [added(row) for row in found]
        if scenario == "media":  # It grows with the trace, so an interval would say nothing.
            cells[1] = f"{cells[1].partition(' ±')[0]}¹"
        others = with_options("added", variants(scenario))
        rows.append([title, found[0]["processes"], *cells, others])
    return table(["traffic", "processes", *protocols, "with other options"], rows)


def against_rst_table() -> str:
    """The same against the mean latency of RST in runs of its own, where that could be run."""
    traffic = {
        "trainticket": "TrainTicket",
        "media": "media",
        "email-3d": "e-mail, three days",
        "trainticket-2000-rst": "TrainTicket, grown to 2 000, one minute",
    }
    names = ("hybrid", "hybrid-sps", "hybrid-csps", "hybrid-facts")
    rows = []
    for scenario, title in traffic.items():
        optimum = float(answer(scenario, LOSSLESS, "rst")["latency_ns"])
        found = [answers().get((scenario, LOSSLESS, name)) for name in names]
        means = [
            None if row is None else 100 * (float(row["latency_ns"]) / optimum - 1) for row in found
        ]
        shown = ["" if mean is None else per_cent(mean) for mean in means]
        rows.append([title, duration(optimum), *shown])
    return table(["traffic", "RST", *names], rows)


LOSSLESS = "wan-lossless"


def metadata_table() -> str:
    """Bytes a message, over a WAN that loses nothing."""
    traffic = {
        "trainticket": "TrainTicket",
        "media": "media",
        "email-3d": "e-mail, three days²",
        "trainticket-2000-rst": "TrainTicket, grown to 2 000, one minute",
    }
    rows = []
    for scenario, title in traffic.items():
        cells = {
            protocol: bytes_of(answer(scenario, LOSSLESS, protocol))
            for protocol in ("none", "hybrid", "hybrid-facts", "ks", "rst")
        }
        others = with_options("bytes", variants(scenario))
        if scenario == "trainticket-2000-rst":
            cells["hybrid-facts"] = f"{bytes_of(answer('trainticket-2000', 'wan', SIXTEEN))}³"
        first = [cells["none"], cells["hybrid"], cells["hybrid-facts"]]
        rows.append([title, *first, others, cells["ks"], cells["rst"]])
    heads = ["traffic", "none", "hybrid", "hybrid-facts", "with other options", "KS", "RST"]
    return table(heads, rows)


def requests_table() -> str:
    """How long whole requests take."""
    protocols = ["none", "rst", "hybrid-facts", "hybrid", "hybrid-csps", "hybrid-sps"]
    rows = []
    for scenario, title in {"trainticket": "TrainTicket", "media": "media"}.items():
        for network, name in NETWORKS.items():
            found = [answer(scenario, network, protocol) for protocol in protocols]
            rows.append([title, name, *map(request, found)])
    return table(["traffic", "network", "none", "RST, KS", *protocols[2:]], rows)


def losses_table() -> str:
    """What is added where packets are lost, and within a data centre."""
    protocols = ["hybrid", "hybrid-csps", "hybrid-facts"]
    traffic = {"trainticket": "TrainTicket", "media": "media", "email": "e-mail"}
    rows = []
    for scenario, title in traffic.items():
        for network in ("wan", "lan"):
            found = [answer(scenario, network, protocol) for protocol in protocols]
            cells = [*map(added, found), possible(scenario, network)]
            rows.append([title, NETWORKS[network], *cells])
    return table(["traffic", "network", *protocols, "latency that is possible (RST)"], rows)


def possible(scenario: str, network: str) -> str:
    """The mean latency of RST, or, where that was not run, of hybrid without what it adds."""
    rst = answer(scenario, network, "rst")
    if rst:
        return duration(float(rst["latency_ns"]))
    hybrid = answer(scenario, network, "hybrid-facts")
    return duration(float(hybrid["latency_ns"]) - float(hybrid["added_ns"]))


def others_table() -> str:
    """Hybrid beside Cykas and MF."""
    traffic = {
        ("trainticket", LOSSLESS): "TrainTicket",
        ("trainticket", "lan"): "TrainTicket",
        ("media-1s", LOSSLESS): "media, 1 s",
        ("media-1s", "lan"): "media, 1 s",
        ("email-unicast", LOSSLESS): "e-mail as unicasts",
    }
    rows = []
    for (scenario, network), title in traffic.items():
        found = [answer(scenario, network, protocol) for protocol in ("hybrid", "cykas", "mf")]
        name = f"{title}, {found[0]['processes']}"
        cells = [*map(or_behind, found), *map(bytes_of, found)]
        rows.append([name, NETWORKS[network], *cells])
    heads = ["traffic", "network", "hybrid", "Cykas", "MF", "metadata, hybrid", "Cykas", "MF"]
    return table(heads, rows)


def or_behind(row: Row) -> str:
    """What is added; of one that falls behind, how late its messages were on average."""
    if float(row["added_share"]) < 50:
        return added(row)
    return f"behind: {duration(float(row['latency_ns']))}"


def grown_table() -> str:
    """Traffic that was grown, over a WAN with losses."""
    traffic = {
        "trainticket-2000": "TrainTicket",
        "media-2000": "media",
        "graph-1238": "service graph",
    }
    rows = []
    for scenario, title in traffic.items():
        named = "hybrid-facts" if answer(scenario, "wan", "hybrid-facts") else SIXTEEN
        none, hybrid, facts = (
            answer(scenario, "wan", protocol) for protocol in ("none", "hybrid", named)
        )
        title += "³" if named == SIXTEEN else ""
        size = f"{int(hybrid['processes']):,}".replace(",", " ")
        times = [request(none), request(hybrid), request(facts)]
        rows.append(
            [title, size, added(hybrid), added(facts), *times, *map(bytes_of, (hybrid, facts))]
        )
    heads = ["traffic", "processes", "hybrid", "hybrid-facts", "request, none", "hybrid"]
    return table([*heads, "hybrid-facts", "metadata, hybrid", "hybrid-facts"], rows)
