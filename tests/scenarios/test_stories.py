"""Every scenario gives the figures it is known for, and tells them in words."""

import pytest

from antecede.core import LocalError
from antecede_audit.judging.findings import MessageId
from antecede_lab.scenarios.catalogue import SCENARIOS, Act, find_scenario, starvation
from antecede_lab.scenarios.player import Performance, tell, verdict_lines

NAMES = [
    "triangle",
    "figure",
    "starvation",
    "conversation",
    "silent-receiver",
    "yct-overtakes",
    "cykas-skip",
    "multicast-is-not-unicasts",
    "mf-multicast",
    "baldoni-window",
    "baldoni-carried-acks",
    "permit-overtakes",
    "duplicated-datagram",
    "rst-self-send",
    "rtt-limit",
]


def act(scenario: str, label: str) -> Act:
    [found] = [each for each in SCENARIOS[scenario].acts if each.label == label]
    return found


def play(scenario: str, label: str) -> Performance:
    return act(scenario, label).play()


def early_and_late(performance: Performance) -> list[tuple[MessageId, MessageId]]:
    return [(found.early, found.late) for found in performance.verdict.violations]


def test_every_story_is_there() -> None:
    assert list(SCENARIOS) == NAMES


def test_an_unknown_story_is_answered_with_the_known_ones() -> None:
    with pytest.raises(LocalError, match="triangle, figure, starvation"):
        find_scenario("squares")


@pytest.mark.parametrize(
    ("protocol", "answered"), [("none", 2.5), ("fifo", 2.5), ("rst", 5.0), ("hybrid", 8.0)]
)
def test_triangle(protocol: str, answered: float) -> None:
    """Without causal order the answer comes before the question."""
    performance = play("triangle", protocol)

    assert performance.when("delivered", "question") == [5.0]
    assert performance.when("delivered", "answer") == [answered]
    assert performance.verdict.ok == (answered >= 5.0)


@pytest.mark.parametrize(
    ("protocol", "left"),
    [("cykas", 8.7), ("paper-basic", 5.5), ("hybrid-csps", 5.5), ("rst", 2.2), ("ks", 2.2)],
)
def test_figure(protocol: str, left: float) -> None:
    """The paper's figure 2: Cykas waits for c, which did not happen before m; CSPS does not."""
    performance = play("figure", protocol)

    assert performance.when("delivered", "b", "i") == [1.2]
    assert performance.when("delivered", "a", "i") == [1.7]
    assert performance.when("delivered", "c", "i") == [4.4]
    assert performance.when("transmitted", "m") == [left]
    assert performance.verdict.ok


def test_starvation_while_the_traffic_goes_on() -> None:
    """After a thousand rounds m has not left; under CSPS it left in the first."""
    cykas = play("starvation", "cykas, traffic goes on")
    csps = play("starvation", "hybrid-csps")

    assert cykas.when("submitted", "m") == [0.1]
    assert cykas.when("transmitted", "m") == []
    assert csps.when("transmitted", "m") == [0.85]


def test_starvation_ends_with_the_traffic() -> None:
    performance = play("starvation", "cykas, traffic stops after 100")

    assert performance.when("transmitted", "m") == [100.35]
    assert performance.verdict.ok


def test_starvation_lasts_as_long_as_the_traffic_whatever_that_is() -> None:
    for rounds in (3, 10):
        shorter = Act(
            label="", script=starvation(rounds, 1e6), info=act("starvation", "hybrid-csps").info
        )
        cykas = Act(
            label="",
            script=starvation(rounds, 1e6),
            info=act("starvation", "cykas, traffic goes on").info,
        )
        assert shorter.play().when("transmitted", "m") == [0.85]
        assert cykas.play().when("transmitted", "m") == [rounds + 0.35]


def test_yct_overtakes() -> None:
    """Rule 7 as printed: m (message 1 of i, process 2) overtakes s2 (message 1 of k, process 3)."""
    literal = play("yct-overtakes", "cykas, rule 7 as printed")
    mended = play("yct-overtakes", "cykas")

    assert early_and_late(literal) == [(MessageId(2, 1), MessageId(3, 1))]
    assert mended.verdict.ok
    assert mended.when("transmitted", "m") == [55.0]


def test_cykas_skip() -> None:
    """Skipping ahead deadlocks; the FIFO buffer does not."""
    skipping = play("cykas-skip", "cykas with skipping")

    assert [skipping.when("delivered", name) for name in ("a1", "b1")] == [[], []]
    assert len(skipping.verdict.losses) == 2
    assert play("cykas-skip", "cykas").verdict.ok


@pytest.mark.parametrize("protocol", ["hybrid", "rst"])
def test_multicast_is_not_unicasts(protocol: str) -> None:
    """The comment follows the news only if the news is one message."""
    one = play("multicast-is-not-unicasts", f"{protocol}, one multicast")
    two = play("multicast-is-not-unicasts", f"{protocol}, two unicasts")

    assert one.when("delivered", "news", "carol") == [5.0]
    assert one.when("delivered", "comment")[0] >= 5.0
    assert two.when("delivered", "comment") == [2.5]
    assert two.when("delivered", "news for carol") == [5.0]


def test_mf_multicast() -> None:
    """x (message 1 of process 1) overtakes m (message 1 of process 0) at 2."""
    naive = play("mf-multicast", "mf, applied to two targets")

    assert early_and_late(naive) == [(MessageId(1, 1), MessageId(0, 1))]
    assert play("mf-multicast", "hybrid").verdict.ok


def test_permit_overtakes() -> None:
    """Without the watermark only the timer, a thousand units later, sets m free."""
    printed = play("permit-overtakes", "paper-basic, as printed")

    assert printed.when("transmitted", "m") == [1012.0]
    for protocol in ("paper-basic", "hybrid-csps"):
        assert play("permit-overtakes", protocol).when("transmitted", "m") == [12.0]


def test_duplicated_datagram() -> None:
    """Nobody delivers twice: the hybrid family acks again, rst refuses."""
    for protocol in ("hybrid", "paper-basic", "rst"):
        performance = play("duplicated-datagram", protocol)
        assert performance.when("arrived", "pay") == [1.0, 3.0]
        assert performance.when("delivered", "pay") == [1.0]
        assert performance.when("refused", "pay") == ([3.0] if protocol == "rst" else [])


@pytest.mark.parametrize(
    ("protocol", "wait"), [("hybrid-sps", 48.0), ("hybrid", 2.0), ("hybrid-csps", 2.0)]
)
def test_conversation(protocol: str, wait: float) -> None:
    """The last report waits for a round trip per turn, or for one in all."""
    performance = play("conversation", protocol)

    [wanted] = performance.when("submitted", "report 25")
    [left] = performance.when("transmitted", "report 25")
    assert left - wanted == wait
    assert performance.verdict.ok


def test_rst_self_send() -> None:
    """A message to oneself is delivered at once and blocks nothing that comes after."""
    for protocol in ("rst", "hybrid"):
        performance = play("rst-self-send", protocol)
        assert performance.when("delivered", "reminder") == [3.0]
        assert performance.when("delivered", "more") == [5.0]
        assert performance.verdict.ok


@pytest.mark.parametrize("delay", [0.1, 1.0, 10.0])
def test_rtt_limit(delay: float) -> None:
    """A hundred messages take 199 delays one by one, and a single one all together."""
    for protocol, delays in (("mf", 199), ("cykas", 199), ("hybrid", 1)):
        performance = play("rtt-limit", f"{protocol}, one way {delay:g}")
        assert performance.when("delivered", "m100") == [pytest.approx(delays * delay)]


def test_a_story_is_told_in_order_of_time() -> None:
    performance = play("triangle", "none")

    assert tell(performance) == [
        "    0.00  alice wants to send question to carol",
        "    0.00  alice sends question on its way to carol",
        "    0.10  alice wants to send hint to bob",
        "    0.10  alice sends hint on its way to bob",
        "    1.10  hint from alice reaches bob",
        "    1.10  bob delivers hint",
        "    1.10  bob sends an ack on its way to alice",
        "    1.50  bob wants to send answer to carol",
        "    1.50  bob sends answer on its way to carol",
        "    2.10  an ack from bob reaches alice",
        "    2.50  answer from bob reaches carol",
        "    2.50  carol delivers answer",
        "    2.50  carol sends an ack on its way to bob",
        "    3.50  an ack from carol reaches bob",
        "    5.00  question from alice reaches carol",
        "    5.00  carol delivers question",
        "    5.00  carol sends an ack on its way to alice",
        "    6.00  an ack from carol reaches alice",
    ]


def test_the_verdict_names_the_culprits() -> None:
    [verdict] = verdict_lines(play("triangle", "none"))

    assert verdict.startswith("carol delivered message 1 of bob at 2.5 ms, but message 1 of alice")


@pytest.mark.parametrize(
    ("protocol", "answered"), [("hybrid", 1004.1), ("hybrid-facts", 3.3), ("rst", 3.3)]
)
def test_a_silent_receiver(protocol: str, answered: float) -> None:
    """Under permits the word leaves when zoe's ack has come and the permit after it."""
    performance = play("silent-receiver", protocol)

    assert performance.when("delivered", "answer", "bob") == [answered]
    assert performance.verdict.ok


def test_baldoni_with_two_messages_under_way_needs_five_values() -> None:
    """Modulo three j never delivers m nor k3, and i is never acknowledged."""
    stopped = play("baldoni-window", "baldoni, two under way, modulo 3")
    assert stopped.when("delivered", "m", "j") == stopped.when("delivered", "k3", "j") == []
    assert stopped.when("delivered", "more", "j") == []

    mended = play("baldoni-window", "baldoni, two under way, modulo 5")
    assert mended.when("delivered", "m", "j") == mended.when("delivered", "k3", "j") == [20.0]
    for label in ("baldoni", "baldoni, two under way, modulo 5"):
        assert play("baldoni-window", label).when("delivered", "more", "j") == [31.0]


def test_baldoni_with_acknowledgements_in_messages_only_stops() -> None:
    stopped = play("baldoni-carried-acks", "baldoni, acks in messages only")
    assert [stopped.when("transmitted", name) for name in ("a2", "b2", "c2")] == [[], [], []]
    assert play("baldoni-carried-acks", "baldoni").when("transmitted", "a2") == [5.0, 5.0]
