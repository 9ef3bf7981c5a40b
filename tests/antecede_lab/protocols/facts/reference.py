# ruff: noqa: N803, N806 - the names are the specification's
"""The specification of `hybrid-facts`, read aloud: dictionaries, no cleverness, any cost.

Every name is the specification's: u1, u2, v1, v2, R, CW, pw, px and so on. Filters are sets of bits
in an integer of any size. `literal` reads a permit with exceptions as one that replaces what the
last one said, even if it says less; otherwise what was once known to be delivered stays known.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

INFINITE = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """B, W, H, G, E."""

    B: int = 16
    W: int = 64
    H: int = 2
    G: int = 4
    E: int = 2


@dataclass(eq=False)
class Report:
    """A delivered report: of k's message n."""

    k: int
    n: int
    Z: int
    X: frozenset[int]
    facts: list[tuple[int, int, int]]  # (s, y, e)
    h: int
    idx: int = 0


@dataclass(eq=False)
class Entry:
    """An own message."""

    mid: int
    targets: list[int]
    pids: dict[int, int]
    payload: bytes
    unack: set[int]
    unsent: list[int]
    opened: bool = False
    blk: dict[int, list[Report]] = field(default_factory=dict)
    man: dict[int, dict[int, list[tuple[int, int, int]]]] = field(default_factory=dict)
    sent: dict[int, tuple[dict[int, int], dict[str, Any] | None]] = field(default_factory=dict)


Packet = dict[str, Any]
Effect = dict[str, Any]


class Reference:
    """One process."""

    def __init__(self, me: int, p: Parameters, *, literal: bool = False) -> None:
        self.me = me
        self.p = p
        self.literal = literal
        self.ck = 1
        self.ls: dict[int, int] = {}
        self.out: dict[int, deque[int]] = {}
        self.ld: dict[int, int] = {}
        self.rb: dict[int, dict[int, Packet]] = {}
        self.u: dict[int, Entry] = {}
        self.ackd: dict[int, int] = {}
        self.hints: list[int] = []
        self.susp: list[int] = []
        self.log: list[Report | Entry] = []
        self.R: dict[int, Report] = {}
        self.idx = 0
        self.CW: dict[tuple[int, int], int] = {}
        self.cov: dict[int, int] = {}
        self.pend: dict[int, int] = {}
        self.pw: dict[int, int] = {}
        # px, OX: k -> (n, {e: what is known for e nevertheless})
        self.px: dict[int, tuple[int, dict[int, int]]] = {}
        self.OW: dict[int, int] = {}
        self.OX: dict[int, tuple[int, dict[int, int]]] = {}
        self.DW: dict[tuple[int, int], int] = {}
        self.recent: list[int] = []
        self.pq: dict[int, list[tuple[int, list[Report]]]] = {}
        self.permitted: dict[int, int] = {}
        self.pxgiven: dict[int, tuple[int, frozenset[int]]] = {}
        self.parked: dict[int, list[tuple[Entry, list[Report]]]] = {}
        self.unclean: dict[int, int] = {}
        self.effects: list[Effect] = []

    # Calls.

    def submit(self, targets: list[int], payload: bytes = b"") -> list[Effect]:
        local = self.me in targets
        remote = [d for d in targets if d != self.me]
        mid = self.ck
        self.ck += 1
        pids = {d: self.ls.get(d, 0) for d in remote}
        entry = Entry(mid, remote, pids, payload, set(remote), list(remote))
        if remote:
            self.u[mid] = entry
        for d in remote:
            self.ls[d] = mid
            self.out.setdefault(d, deque()).append(mid)
        self.log.append(entry)
        self.pass_()
        if local:
            self.effects.append({"deliver": [self.me, mid]})
        return self.take()

    def arrive(self, j: int, packet: Packet) -> list[Effect]:
        for s, low, lowx, xs in packet.get("g", []):
            if s != self.me:
                self.learn(s, low, lowx, frozenset(xs))
        kind = packet["kind"]
        if kind == "msg":
            self.on_message(j, packet)
        elif kind == "ack":
            self.on_ack(j, packet["n"])
        elif kind == "permit":
            self.on_permit(j, packet["n"], frozenset(packet["X"]))
        else:
            self.on_ask(j, packet["n"], packet["low"], packet["lowx"])
        self.pass_()
        return self.take()

    def hint(self, hints: list[int]) -> list[Effect]:
        self.hints = list(hints)
        self.suspect()
        self.pass_()
        return self.take()

    def timer(self) -> list[Effect]:
        for d, mids in self.out.items():
            for mid in mids:
                if d in self.u[mid].sent:
                    self.transmit(d, self.resent(self.u[mid], d))
        for k in self.unclean:
            if self.unclean[k] > self.pw.get(k, 0):
                self.transmit(k, self.asked(k))
        return self.take()

    def take(self) -> list[Effect]:
        effects, self.effects = self.effects, []
        return effects

    # Own messages: u1, u2, v1, v2.

    def unack(self, mid: int, without: list[int]) -> set[int]:
        return self.u[mid].unack - set(without) if mid in self.u else set()

    def first(self, without: list[int]) -> int:
        """u1, or v1 without some destinations."""
        return next((n for n in sorted(self.u) if self.unack(n, without)), self.ck)

    def frontier(self, d: int, without: list[int]) -> int:
        """The last id up to which nobody but d may have to acknowledge anything."""
        others = (n for n in sorted(self.u) if self.unack(n, without) - {d})
        return next(others, self.ck) - 1

    def susp_at(self, n: int) -> list[int]:
        return [d for d in self.susp if self.out.get(d) and self.out[d][0] <= n]

    def suspect(self) -> None:
        both = [*self.parked, *(d for d in self.hints if d not in self.parked)]
        self.susp = both[: self.p.E]

    # What is delivered, as known now.

    def above(self, marks: dict[int, tuple[int, dict[int, int]]], k: int, e: int, n: int) -> bool:
        """Whether px[k] or OX[k] says that everything up to n is delivered at e."""
        w, but = marks.get(k, (0, {}))
        return but.get(e, w) >= n

    def raise_(
        self, marks: dict[int, tuple[int, dict[int, int]]], k: int, n: int, X: frozenset[int]
    ) -> bool:
        w, but = marks.get(k, (0, {}))
        if n > w:
            old = {e: 0 if self.literal else but.get(e, w) for e in X}
            marks[k] = (n, old)
            return True
        if n == w:
            marks[k] = (n, {e: but[e] for e in but if e in X})
        elif not self.literal:
            marks[k] = (w, {e: max(but[e], 0 if e in X else n) for e in but})
        return False

    def learn(self, s: int, low: int, lowx: int, xs: frozenset[int]) -> None:
        raised = low > self.OW.get(s, 0)
        if raised:
            self.OW[s] = low
        if lowx > 0 and self.raise_(self.OX, s, lowx, xs):
            raised = True
        if raised:
            self.recent = [s, *(r for r in self.recent if r != s)]

    def alive(self, s: int, y: int, e: int, k: int, n: int) -> bool:
        return not (
            self.pw.get(k, 0) >= n
            or self.pw.get(s, 0) >= y
            or self.OW.get(s, 0) >= y
            or self.DW.get((s, e), 0) >= y
            or self.above(self.OX, s, e, y)
            or self.above(self.px, s, e, y)
            or self.above(self.px, k, e, n)
        )

    def gone(self, r: Report) -> bool:
        return self.pw.get(r.k, 0) >= r.n or (r.h == 1 and self.OW.get(r.k, 0) >= r.n)

    def has(self, Z: int, e: int) -> bool:
        return Z != 0 if self.p.W == 0 else Z >> (e % self.p.W) & 1 == 1

    def eff(self, r: Report) -> tuple[int, frozenset[int], list[tuple[int, int, int]]]:
        if self.gone(r):
            return 0, frozenset(), []
        F = [(s, y, e) for s, y, e in r.facts if self.alive(s, y, e, r.k, r.n)]
        w, but = self.px.get(r.k, (0, {}))
        if w < r.n and r.h == 1:
            w, but = self.OX.get(r.k, (0, {}))
        if w >= r.n:
            X = {e for e in but if but[e] < r.n and self.blocks(r, e)}
            if r.h == 1 and not self.literal:
                X = {e for e in X if not self.above(self.OX, r.k, e, r.n)}
            return 0, frozenset(X), F
        return r.Z, r.X, F

    def blocks(self, r: Report, e: int) -> bool:
        return self.has(r.Z, e) or e in r.X

    def resolved(self, r: Report, d: int) -> bool:
        Z, X, F = self.eff(r)
        return Z == 0 and {d} >= X and all(e == d or s == d for s, _, e in F)

    def stalled(self) -> set[int]:
        found = set(self.susp)
        for k, (n, but) in self.px.items():
            if n > self.pw.get(k, 0):
                found |= set(but)
        for r in self.R.values():
            if r.X:
                found |= self.eff(r)[1]
        return found

    # Sending.

    def pass_(self) -> None:
        while self.log:
            x = self.log[0]
            if isinstance(x, Report):
                self.idx += 1
                x.idx = self.idx
                self.R[x.k] = x
            else:
                if not x.opened:
                    self.open(x)
                if not self.try_(x):
                    break
            self.log.pop(0)
        self.suspect()
        self.unpark()
        self.suspect()
        self.permits()

    def open(self, x: Entry) -> None:
        x.opened = True
        for d in x.targets:
            x.blk[d] = [
                r
                for r in self.R.values()
                if r.k != d and r.idx > self.cov.get(d, 0) and self.blocks(r, d)
            ]
            man: dict[int, list[tuple[int, int, int]]] = {}
            for r in self.R.values():
                for s, y, e in r.facts:
                    uncovered = e == d != r.k and y > self.CW.get((s, d), 0)
                    if uncovered and self.alive(s, y, e, r.k, r.n):
                        man.setdefault(s, []).append((y, r.k, r.n))
            x.man[d] = {
                s: [item for item in items if item[0] == max(items)[0]] for s, items in man.items()
            }
        for d in x.targets:
            for s, items in x.man[d].items():
                self.CW[s, d] = items[0][0]
            self.cov[d] = self.idx
            self.pend[d] = x.mid

    def try_(self, x: Entry) -> bool:
        leaving = []
        waits = False
        stalled = self.stalled()
        for d in list(x.unsent):
            if self.parked.get(d):
                self.park(x, d)
                continue
            built = self.build(x, d)
            if built is not None:
                leaving.append((d, *built))
            elif d in stalled:
                self.park(x, d)
            else:
                waits = True
        for d, man, rep, unres in leaving:
            if not waits or rep is None or rep["Z"] == 0:
                self.send(x, d, man, rep, unres)
        return not waits

    def park(self, x: Entry, d: int) -> None:
        x.unsent.remove(d)
        snap = [r for r in self.R.values() if not self.gone(r)]
        self.parked.setdefault(d, []).append((x, snap))

    def send(
        self, x: Entry, d: int, man: dict[int, int], rep: dict[str, Any] | None, unres: list[Report]
    ) -> None:
        if d in x.unsent:
            x.unsent.remove(d)
        x.sent[d] = (man, rep)
        if rep is None:
            self.permitted[d] = x.mid
        else:
            self.pq.setdefault(d, []).append((x.mid, unres))
        self.transmit(d, self.message(x, d, man, rep))

    def man_of(self, x: Entry, d: int) -> dict[int, int]:
        """What d must have delivered first, as far as it may not have."""
        man = {}
        for s, items in x.man[d].items():
            if all(self.alive(s, y, d, k, n) for y, k, n in items):
                man[s] = items[0][0]
        return man

    def build(
        self, x: Entry, d: int
    ) -> tuple[dict[int, int], dict[str, Any] | None, list[Report]] | None:
        p = self.p
        for r in x.blk[d]:
            Z, X, _ = self.eff(r)
            if self.has(Z, d) or d in X:
                return None
        man = self.man_of(x, d)
        if len(man) > p.B:
            return None
        groups: dict[int, dict[int, int]] = {}
        for e, mid in self.pend.items():
            if e != d and mid > self.ackd.get(e, 0):
                groups[e] = {self.me: mid}
        unres = []
        Zs, deep = 0, 0
        Xs: set[int] = set()
        for r in self.R.values():
            if r.k == d:
                continue
            Z, X, F = self.eff(r)
            left = [(s, y, e) for s, y, e in F if s != d and e != d and y > self.CW.get((s, e), 0)]
            if Z or X - {d} or left:
                unres.append(r)
                Zs |= Z
                Xs |= X - {d}
                if Z or left:
                    deep = max(deep, r.h)
            for s, y, e in left:
                group = groups.setdefault(e, {})
                group[s] = max(group.get(s, 0), y)
        for e in Xs:
            groups.pop(e, None)
        budget = p.B - len(man)
        stalled = self.stalled()
        while sum(map(len, groups.values())) > budget and len(Xs) < p.E:
            big = sorted((-len(g), e) for e, g in groups.items() if e in stalled)
            if not big:
                break
            Xs.add(big[0][1])
            del groups[big[0][1]]
        for e in sorted(Xs)[p.E :]:
            Xs.discard(e)
            Zs |= self.bit(e)
        oth: dict[tuple[int, int], int] = {}
        clean = not groups and Zs == 0 and not Xs
        if p.W == 0:
            if sum(map(len, groups.values())) <= budget and Zs == 0:
                oth = {(s, e): y for e, g in groups.items() for s, y in g.items()}
            else:
                Zs, Xs = 1, set()
        else:
            for _, e in sorted((len(g), e) for e, g in groups.items()):
                if len(groups[e]) <= budget:
                    budget -= len(groups[e])
                    oth |= {(s, e): y for s, y in groups[e].items()}
                else:
                    budget = -1
                    Zs |= self.bit(e)
            oth = {(s, e): y for (s, e), y in oth.items() if not self.has(Zs, e)}
        if Zs and deep > 0 and 1 + deep > p.H:
            return None
        if clean:
            return man, None, []
        h = 1 + max((r.h for r in unres), default=0)
        return man, {"Z": Zs, "X": frozenset(Xs), "oth": oth, "h": h}, unres

    def bit(self, e: int) -> int:
        return 1 if self.p.W == 0 else 1 << (e % self.p.W)

    def all_bits(self) -> int:
        return 1 if self.p.W == 0 else (1 << self.p.W) - 1

    def unpark(self) -> None:
        for d in list(self.parked):
            while self.parked[d]:
                x, snap = self.parked[d][0]
                if not self.leaves_parking(x, snap, d):
                    break
                self.parked[d].pop(0)
            if not self.parked[d]:
                del self.parked[d]

    def leaves_parking(self, x: Entry, snap: list[Report], d: int) -> bool:
        Xs: set[int] = set()
        unres = []
        for r in snap:
            if r.k == d:
                continue
            Z, X, F = self.eff(r)
            if Z or any(e != d and s != d for s, _, e in F) or (r in x.blk[d] and d in X):
                return False
            if X - {d}:
                unres.append(r)
                Xs |= X - {d}
        man = self.man_of(x, d)
        if len(man) > self.p.B:
            return False
        Z = 0
        if x.mid > self.frontier(d, []):
            if x.mid <= self.frontier(d, self.susp):
                Xs |= set(self.susp_at(x.mid)) - {d}
            else:
                Z = self.all_bits()
        for e in sorted(Xs)[self.p.E :]:
            Xs.discard(e)
            Z |= self.bit(e)
        if self.p.W == 0 and Z:
            Xs = set()
        h = 1 + max((r.h for r in unres), default=0)
        rep = {"Z": Z, "X": frozenset(Xs), "oth": {}, "h": h} if Z or Xs else None
        self.send(x, d, man, rep, unres)
        return True

    def permits(self) -> None:
        for d in list(self.pq):
            queue = self.pq[d]
            last = 0
            while queue and queue[0][0] <= self.frontier(d, []):
                if not all(self.resolved(r, d) for r in queue[0][1]):
                    break
                last = queue.pop(0)[0]
            if last > 0:
                self.permitted[d] = max(last, self.permitted.get(d, 0))
                self.transmit(d, {"kind": "permit", "n": last, "X": frozenset()})
            self.permit_with_exceptions(d)
            if not queue:
                del self.pq[d]

    def permit_with_exceptions(self, d: int) -> None:
        best = None
        for mid, unres in self.pq[d]:
            X = self.exceptions_of(mid, unres, d)
            if X is not None:
                best = mid, X
        if best is None:
            return
        given, given_x = self.pxgiven.get(d, (0, frozenset()))
        if best[0] > given or (best[0] == given and best[1] < given_x):
            self.pxgiven[d] = best
            self.transmit(d, {"kind": "permit", "n": best[0], "X": best[1]})

    def exceptions_of(self, mid: int, unres: list[Report], d: int) -> frozenset[int] | None:
        if mid > self.frontier(d, self.susp):
            return None
        X = set(self.susp_at(mid))
        effects = [self.eff(r) for r in unres]
        for Z, x, _ in effects:
            if Z:
                return None
            X |= x
        X -= {d}
        for _, _, F in effects:
            if any(e not in X and e != d and s != d for s, _, e in F):
                return None
        return frozenset(X) if X and len(X) <= self.p.E else None

    # Arriving.

    def on_ack(self, j: int, n: int) -> None:
        if n > self.ls.get(j, 0):
            return
        queue = self.out.get(j, deque())
        while queue and queue[0] <= n and j in self.u[queue[0]].sent:
            mid = queue.popleft()
            entry = self.u[mid]
            entry.unack.discard(j)
            self.ackd[j] = mid
            for s, y in entry.sent[j][0].items():
                self.DW[s, j] = max(y, self.DW.get((s, j), 0))
            if not entry.unack:
                del self.u[mid]

    def on_permit(self, k: int, n: int, X: frozenset[int]) -> None:
        if n <= self.pw.get(k, 0):
            return
        if X:
            self.raise_(self.px, k, n, X)
            return
        self.pw[k] = n
        if k in self.px and self.px[k][0] <= n:
            del self.px[k]  # It says nothing more than pw.
        r = self.R.get(k)
        if r is not None and r.n <= n:
            for s, y, e in r.facts:
                self.DW[s, e] = max(y, self.DW.get((s, e), 0))
            del self.R[k]

    def on_message(self, j: int, packet: Packet) -> None:
        if packet["rep"] is None:
            self.on_permit(j, packet["mid"], frozenset())
        if packet["mid"] <= self.ld.get(j, 0):
            self.transmit(j, {"kind": "ack", "n": self.ld[j]})
            return
        self.rb.setdefault(j, {})[packet["pid"]] = packet
        acks: dict[int, bool] = {}
        again = True
        while again:
            again = False
            for k in list(self.rb):
                while self.deliver_next(k):
                    acks[k] = again = True
        for k in acks:
            self.transmit(k, {"kind": "ack", "n": self.ld[k]})

    def deliver_next(self, k: int) -> bool:
        packet = self.rb[k].get(self.ld.get(k, 0))
        if packet is None or any(self.ld.get(s, 0) < y for s, y in packet["man"]):
            return False
        del self.rb[k][packet["pid"]]
        mid, rep = packet["mid"], packet["rep"]
        self.ld[k] = mid
        if rep is not None:
            self.unclean[k] = mid
            if mid > self.pw.get(k, 0):
                facts = [(s, y, e) for s, e, y in rep["oth"]]
                self.log.append(Report(k, mid, rep["Z"], frozenset(rep["X"]), facts, rep["h"]))
        self.effects.append({"deliver": [k, mid]})
        return True

    def on_ask(self, j: int, n: int, low: int, lowx: int) -> None:
        if j not in self.ls:
            return
        self.on_ack(j, n)
        permitted = self.permitted.get(j, 0)
        if permitted >= low:
            self.transmit(j, {"kind": "permit", "n": permitted, "X": frozenset()})
        given, X = self.pxgiven.get(j, (0, frozenset()))
        if given >= lowx and given > permitted:
            self.transmit(j, {"kind": "permit", "n": given, "X": X})

    # Packets.

    def transmit(self, d: int, packet: Packet) -> None:
        self.effects.append({"transmit": d, "packet": packet | {"g": self.gossip(d)}})

    def gossip(self, d: int) -> list[list[Any]]:
        if self.p.G == 0:
            return []
        v1 = self.first(self.susp)
        rows = [watermark(self.me, self.first([]) - 1, v1 - 1, self.susp_at(v1 - 1))]
        for s in [s for s in self.recent if s != d][: self.p.G]:
            w, but = self.OX.get(s, (0, {}))
            rows.append(watermark(s, self.OW.get(s, 0), w, list(but)))
        return rows

    def message(self, x: Entry, d: int, man: dict[int, int], rep: dict[str, Any] | None) -> Packet:
        shown = None
        if rep is not None:
            oth = sorted((e, s, y) for (s, e), y in rep["oth"].items())
            shown = {
                "Z": rep["Z"],
                "X": sorted(rep["X"]),
                "oth": [[s, e, y] for e, s, y in oth],
                "h": rep["h"],
            }
        return {
            "kind": "msg",
            "mid": x.mid,
            "pid": x.pids[d],
            "man": [[s, man[s]] for s in sorted(man)],
            "rep": shown,
        }

    def resent(self, x: Entry, d: int) -> Packet:
        man, rep = x.sent[d]
        return self.message(x, d, man, None if self.permitted.get(d, 0) >= x.mid else rep)

    def asked(self, k: int) -> Packet:
        return {
            "kind": "ask",
            "n": self.ld[k],
            "low": self.pw.get(k, 0) + 1,
            "lowx": self.px.get(k, (0, {}))[0] + 1,
        }


def watermark(s: int, low: int, lowx: int, xs: list[int]) -> list[Any]:
    """(s, low, lowx, Xs); without exceptions if they say nothing more."""
    return [s, low, lowx, sorted(xs)] if lowx > low else [s, low, 0, []]
