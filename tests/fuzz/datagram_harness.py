"""What atheris runs: no datagram makes a node raise, whether it knows the node's token or not.

Run it with `python -m tests.fuzz.datagram_harness [folder of finds] [-runs=N] [other libFuzzer
options]`, on the interpreted build: atheris sees no branches in compiled modules.
"""

import sys

import atheris  # type: ignore[import-untyped]  # it ships no types

with atheris.instrument_imports(
    include=[
        *("antecede.core", "antecede.durability", "antecede.endpoint", "antecede.membership"),
        *("antecede.transport", "antecede.wire"),
    ]
):
    from tests.fuzz.datagram_target import Target

TARGETS = [Target()]
ROUNDS_PER_TARGET = 500


def try_bytes(data: bytes) -> None:
    """One input of the fuzzer's; now and then a node has seen enough and is replaced."""
    target = TARGETS[0]
    if target.rounds == ROUNDS_PER_TARGET:
        TARGETS[0] = target = Target()
    target.receive(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, try_bytes)
    atheris.Fuzz()
