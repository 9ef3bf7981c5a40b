"""The paper's listings with an erratum put back, and a few other ways to get them wrong."""

from tests.broken.mutants import Mutant

PROCESSES = {
    "paper-basic": "PaperBasicProcess",
    "paper-sps": "PaperSpsProcess",
    "paper-multicast": "PaperMulticastProcess",
}


def paper(protocol: str, name: str, why: str, *changes: tuple[str, str], caught_by: str) -> Mutant:
    """A mutant of one of the three listings."""
    return Mutant(
        name=f"{protocol}-{name}",
        protocol=protocol,
        source=f"antecede_lab/protocols/{protocol.replace('-', '_')}.py",
        process=PROCESSES[protocol],
        why=why,
        changes=changes,
        caught_by=frozenset(caught_by.split()),
    )


WATERMARK = ("mid > self._pw.get(j, 0):", "mid > 0:")

PAPER_MUTANTS = [
    paper(
        "paper-basic",
        "e1",
        "ids start at 0, which also means none: the first message is taken for a duplicate",
        ("self._ck: i64 = 1 ", "self._ck: i64 = 0 "),
        (
            "self._u: SlidingArray[Msg] = SlidingArray() ",
            "self._u: SlidingArray[Msg] = SlidingArray(0) ",
        ),
        caught_by="loss optimal search",
    ),
    paper(
        "paper-basic",
        "e2",
        "the duplicate branch acks a variable that is not bound",
        ("Ack(m.carried.sequence)", "Ack(b.carried.sequence)"),
        caught_by="error search",
    ),
    paper(
        "paper-basic",
        "e8",
        "a permit that overtakes its message is dropped, and the receiver stalls until a timer",
        WATERMARK,
        caught_by="optimal",
    ),
    paper(
        "paper-basic",
        "permit-with-its-own-ack",
        "the permit leaves when the message itself is acked, whatever came before it",
        (
            "        u.at(n).message = None\n",
            "        u.at(n).message = None\n        effects.append(Transmit(j, Permit(n)))\n",
        ),
        caught_by="order optimal search",
    ),
    paper(
        "paper-basic",
        "sends-at-once",
        "the send buffer does not wait for missing permits",
        ("if self._p.first < m.per:", "if self._p.first < 0:"),
        caught_by="order optimal search",
    ),
    paper(
        "paper-sps",
        "e4",
        "u2 is not advanced by causalSend",
        ("            self._u2 = k + 1  # E4\n", "            pass\n"),
        caught_by="optimal",
    ),
    paper(
        "paper-sps",
        "e5",
        "m2 falls below u.first",
        ("                self._m2 = self._m1  # E5, E6\n", "                pass\n"),
        caught_by="error search",
    ),
    paper(
        "paper-sps",
        "e7",
        "one ack can send the same permit twice",
        ("    m.flag = False\n    effects", "    effects"),
        caught_by="optimal",
    ),
    paper("paper-sps", "e8", "as for the basic algorithm", WATERMARK, caught_by="optimal"),
    paper(
        "paper-sps",
        "flags-too-little",
        "an unacked message to somebody else does not count",
        ("m.flag = self._u2 < k or m.rcv != r", "m.flag = self._u2 < k"),
        caught_by="order optimal search",
    ),
    paper(
        "paper-multicast",
        "e9",
        "one predecessor for all destinations",
        (
            "pid = {j: self._ls.get(j, 0) for j in receivers}",
            "pid = dict.fromkeys(receivers, max(self._ls.values(), default=0))",
        ),
        caught_by="loss search",
    ),
    paper(
        "paper-multicast",
        "e11",
        "a duplicate ack is taken out of the set twice",
        (
            "            return  # E10: not to j, or unsent; E11: acked by j before\n",
            "            pass\n",
        ),
        caught_by="error search",
    ),
    paper(
        "paper-multicast",
        "e12",
        "a message with no destination on the wire is never acked",
        ("carried = message if receivers else None", "carried = message"),
        caught_by="loss search",
    ),
    paper(
        "paper-multicast",
        "multicast-as-unicasts",
        "the other copies of a multicast do not count as sent before it",
        ("m.flag = u.first < u.next or len(m.rcv) > 1", "m.flag = u.first < u.next"),
        caught_by="order search",
    ),
]
