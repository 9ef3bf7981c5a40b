"""eclipse-zenoh: two sessions connected by TCP, without a router."""

import threading
from functools import partial
from typing import Any

from bench.live.peer import (
    END,
    Contestant,
    ContestRun,
    ReceiveTally,
    Stopwatch,
    Volley,
    free_port,
    package,
)
from bench.live.service import TIMEOUT_S, Finish, RequestLoad, Service


class Zenoh(Contestant, Service):
    """A publisher that waits instead of dropping, and a subscriber with a callback.

    Requests: a querier, and a queryable with a callback."""

    name = "zenoh"
    package = "zenoh"

    def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        done = threading.Event()
        count = 0

        def take(sample: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            nonlocal count
            payload = sample.payload.to_bytes()
            count += 1
            if payload[0] and tally.mark(payload[0], count):
                done.set()

        endpoint = f"tcp/127.0.0.1:{free_port()}"
        with session(listen=endpoint) as own, own.declare_subscriber("bench", take):
            stage.announce(endpoint)
            done.wait()

    def source(self, stage: ContestRun, volley: Volley) -> None:
        with session(connect=stage.address) as own, publisher(own, "bench", False) as out:
            wait_for_subscriber(out)
            put = out.put
            for payload in volley:
                put(payload)
            stage.wait_for_release()

    def echo(self, stage: ContestRun) -> None:
        done = threading.Event()
        endpoint = f"tcp/127.0.0.1:{free_port()}"
        with session(listen=endpoint) as own, publisher(own, "back", True) as back:

            def answer(sample: Any) -> None:  # noqa: ANN401 of a package that may not be installed
                payload = sample.payload.to_bytes()
                if payload[0] == END:
                    done.set()
                else:
                    back.put(payload)

            with own.declare_subscriber("there", answer):
                stage.announce(endpoint)
                done.wait()

    def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        zenoh = package("zenoh")
        with (
            session(connect=stage.address) as own,
            own.declare_subscriber("back", zenoh.handlers.FifoChannel(16)) as answers,
            publisher(own, "there", True) as out,
        ):
            wait_for_subscriber(out)
            for _ in stopwatch.turns():
                out.put(stopwatch.ping)
                answers.recv().payload.to_bytes()
            out.put(stopwatch.end)

    def serve(self, stage: ContestRun, tally: ReceiveTally) -> None:
        done = threading.Event()
        count = 0

        def reply(query: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            nonlocal count
            payload = query.payload.to_bytes()
            count += 1
            query.reply("ask", payload)
            if payload[0] and tally.mark(payload[0], count):
                done.set()

        endpoint = f"tcp/127.0.0.1:{free_port()}"
        with session(listen=endpoint) as own, own.declare_queryable("ask", reply):
            stage.announce(endpoint)
            done.wait()
            stage.wait_for_release()

    def ask(self, stage: ContestRun, load: RequestLoad) -> None:
        zenoh = package("zenoh")
        with (
            session(connect=stage.address) as own,
            own.declare_querier(
                "ask",
                consolidation=zenoh.ConsolidationMode.NONE,
                timeout=TIMEOUT_S,
                express=True,
            ) as querier,
        ):
            wait_for_subscriber(querier)
            load.run_by_callbacks(partial(start_query, querier))


def start_query(querier: Any, payload: bytes, finish: Finish) -> None:  # noqa: ANN401 of a package that may not be installed
    """Ask, and have the reply taken in one of zenoh's threads: one of its own costs much more."""

    def take(reply: Any) -> None:  # noqa: ANN401 of a package that may not be installed
        reply.ok.payload.to_bytes()
        finish()

    callback = package("zenoh").handlers.Callback(take, indirect=False)
    querier.get(callback, payload=payload)


def session(*, listen: str = "", connect: str = "") -> Any:  # noqa: ANN401 of a package that may not be installed
    """A session that talks to one other one and looks for no more."""
    zenoh = package("zenoh")
    settings = zenoh.Config()
    settings.insert_json5("mode", '"peer"')
    settings.insert_json5("scouting/multicast/enabled", "false")
    settings.insert_json5("listen/endpoints", f'["{listen}"]' if listen else "[]")
    settings.insert_json5("connect/endpoints", f'["{connect}"]' if connect else "[]")
    return zenoh.open(settings)


def publisher(own: Any, key: str, express: bool) -> Any:  # noqa: ANN401 of a package that may not be installed
    """A publisher that loses nothing; an express one does not wait to fill a batch."""
    zenoh = package("zenoh")
    return own.declare_publisher(
        key,
        congestion_control=zenoh.CongestionControl.BLOCK,
        reliability=zenoh.Reliability.RELIABLE,
        express=express,
    )


def wait_for_subscriber(out: Any) -> None:  # noqa: ANN401 of a package that may not be installed
    """Return when somebody subscribes: what is published before that goes nowhere."""
    pause = threading.Event()
    while not out.matching_status.matching:
        pause.wait(0.01)
