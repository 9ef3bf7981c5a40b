"""`python -m antecede.tools.proxy --config '{"nodes": {"alice": "127.0.0.1:9001", ...}}'`."""

import argparse
import json
import sys

from antecede.core.errors import LocalError
from antecede.tools.child import say
from antecede.tools.proxy import control


def main() -> None:
    """Relay between the configured nodes until standard input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m antecede.tools.proxy",
        description=control.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config", required=True, help="JSON: nodes, and optionally seed, host, set"
    )
    arguments = parser.parse_args()
    try:
        relay = control.build_relay(json.loads(arguments.config))
    except (LocalError, ValueError) as error:
        parser.error(str(error))
    control.Control(relay, sys.stdin.fileno(), say).run()


if __name__ == "__main__":
    main()
