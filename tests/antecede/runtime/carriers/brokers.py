"""A real nats-server for tests, on a port of its own; it can be killed and started again."""

import shutil
import socket
import subprocess
import time
from typing import Self

import pytest

from tests.free_ports import free_port

START_SECONDS = 60.0


class Broker:
    """One nats-server, while the context lasts."""

    def __init__(self) -> None:
        pytest.importorskip("nats", reason="the Python package nats-py is not installed")
        if shutil.which("nats-server") is None:
            pytest.skip("the program nats-server is not installed")
        self.port = free_port()
        self.address = f"nats://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            ["nats-server", "-a", "127.0.0.1", "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("nats-server does not start")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
