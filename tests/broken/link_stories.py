"""The shortest stories in which a rule of expulsion lives in the link: letters carried by hand.

Bob is expelled by Ann, wrongly: he lives. Each story says whether all went well.
"""

from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    DAN,
    EVE,
    FAY,
    MTU,
    SECOND,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    submit,
)


def met(*names: str, mtu: int = MTU) -> Post:
    """Nodes that all know each other."""
    post = Post()
    for name in names:
        post.add(name)
    for name in names:
        for other in names:
            if other != name:
                introduce(post.nodes[address_of(name)], other, post.now_ns, mtu=mtu)
    post.pass_time(SECOND)
    return post


def payloads(post: Post, name: str) -> list[bytes]:
    return [message.payload for message in post.nodes[address_of(name)].take_inbox()]


def taken(post: Post) -> list[Letter]:
    """What the nodes have to send, in the hands of the test."""
    letters = post.collect()
    post.waiting.clear()
    return letters


def message_after_its_notice() -> bool:
    """Four notices find no room in one datagram: what Ann sends then must not come before all."""
    post = met(ANN, CAT, DAN, EVE, FAY, BOB, mtu=450)  # Ann tells in the order of their ids.
    ann, bob = post.nodes[address_of(ANN)], post.nodes[address_of(BOB)]
    for name in (DAN, EVE, FAY, BOB):
        ann.expel(name, "a reason that takes much of the room in a datagram", post.now_ns)
    submit(ann, [CAT], b"after", post.now_ns)
    for_cat = [letter for letter in taken(post) if letter.target == address_of(CAT)]
    post.deliver(for_cat[0])
    early = payloads(post, CAT)
    submit(bob, [CAT], b"of the expelled", post.now_ns)
    for letter in taken(post):
        if letter.source == address_of(BOB):
            post.deliver(letter)
    return not (early and payloads(post, CAT))


def expelled_for_ever() -> bool:
    """Cat has heard that Bob is expelled, and never of him; he greets her, and is not met."""
    post = met(ANN, BOB)
    ann, bob = post.nodes[address_of(ANN)], post.nodes[address_of(BOB)]
    cat = post.add(CAT)
    introduce(cat, ANN, post.now_ns)
    introduce(ann, CAT, post.now_ns)
    post.pass_time(SECOND)
    ann.expel(BOB, "", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: BOB in letter.target + letter.source)
    introduce(bob, CAT, post.now_ns)
    introduce(cat, BOB, post.now_ns)
    submit(bob, [CAT], b"of the expelled", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: address_of(ANN) in (letter.source, letter.target))
    return payloads(post, CAT) == []


def told_when_met() -> bool:
    """Ann meets Cat only after the expulsion: Cat hears of it before anything else of Ann."""
    post = met(ANN, BOB)
    ann = post.nodes[address_of(ANN)]
    cat = post.add(CAT)
    introduce(cat, BOB, post.now_ns)
    introduce(post.nodes[address_of(BOB)], CAT, post.now_ns)
    post.pass_time(SECOND)
    ann.expel(BOB, "", post.now_ns)
    introduce(ann, CAT, post.now_ns)
    introduce(cat, ANN, post.now_ns)
    submit(ann, [CAT], b"after", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: BOB in letter.target + letter.source)
    bob = post.nodes[address_of(BOB)]
    submit(bob, [CAT], b"of the expelled", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: letter.target != address_of(CAT))
    return payloads(post, CAT) == [b"after"]


def earlier_lives_too() -> bool:
    """Cat still talks to Bob's first life when she hears that his second one is expelled."""
    post = met(ANN, BOB, CAT)
    ann, first = post.nodes[address_of(ANN)], post.nodes[address_of(BOB)]
    second = make_endpoint(BOB, incarnation=2)
    post.nodes[address_of(BOB)] = second
    introduce(second, ANN, post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: CAT in letter.target + letter.source)
    ann.expel(BOB, "", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: BOB in letter.target + letter.source)
    post.nodes[address_of(BOB)] = first
    submit(first, [CAT], b"of the expelled", post.now_ns)
    for letter in taken(post):
        if letter.source == address_of(BOB):
            post.deliver(letter)
    return payloads(post, CAT) == []


STORIES = {
    story.__name__: story
    for story in (
        message_after_its_notice,
        expelled_for_ever,
        told_when_met,
        earlier_lives_too,
    )
}
