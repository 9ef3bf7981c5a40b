"""The upper bounds of RST and KS, reached: `python -m bench hub`.

One process hears from all others before anybody else does, and sends a message
(`antecede_lab.comparison.hub`). What that message carries and what the process keeps, up to a
thousand processes; `hybrid-facts` beside it, whose message has a budget.
"""

import json

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.hub import MADE_TO_CARRY, hub_figures

SIZES = (10, 100, 500, 1_000)


def main() -> None:
    """A table as JSON, by protocol and number of processes."""
    found: dict[str, dict[int, dict[str, int]]] = {}
    for name in MADE_TO_CARRY:
        for size in SIZES:
            seen = hub_figures(PROTOCOLS[name], size)
            row = {"integers": seen.integers, "bytes": seen.bytes, "state": seen.state}
            found.setdefault(name, {})[size] = row
    print(json.dumps(found))


if __name__ == "__main__":
    main()
