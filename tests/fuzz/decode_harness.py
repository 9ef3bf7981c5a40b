"""What atheris runs: any bytes at all are refused by `decode`, or are what `encode` makes.

Run it with `python -m tests.fuzz.decode_harness [folder of finds] [-runs=N] [other libFuzzer
options]`, on the interpreted build: atheris sees no branches in compiled modules.
"""

import sys

import atheris  # type: ignore[import-untyped]  # it ships no types

with atheris.instrument_imports(include=["antecede.wire", "antecede.core"]):
    from antecede.core import RemoteError
    from antecede_lab.wire import decode, encode

SOURCE = 7


def try_bytes(data: bytes) -> None:
    """One input of the fuzzer's."""
    try:
        packet = decode(data, SOURCE)
    except RemoteError:
        return
    assert encode(packet) == data, data.hex()


if __name__ == "__main__":
    atheris.Setup(sys.argv, try_bytes)
    atheris.Fuzz()
