"""Ten thousand processes, ten million messages, sixteen neighbours each: one run, one core."""

import json
import resource
import sys

from bench.simulated import ours

PROCESSES = 10_000
MESSAGES = 10_000_000
NEIGHBOURS = 16


def main() -> None:
    """Run it in this very process, so that the peak memory is its own; print JSON."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    speed = ours(PROCESSES, messages, NEIGHBOURS)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer = {
        "processes": PROCESSES,
        "messages": messages,
        "delivered": speed.deliveries,
        "events": speed.events,
        "seconds": round(speed.seconds, 1),
        "peak_mb": round(peak_mb),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
