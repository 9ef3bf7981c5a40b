"""The theorems of docs/guarantee.md are proved: Coq accepts them as stated here, without axioms."""

import fcntl
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.proofs import coq

pytestmark = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")

# Each theorem with its statement, written out again: a proof of something weaker does not fit.
STATEMENTS = {
    "Causal.fifo_and_sps_are_causal": """
        forall r, well_formed r -> delivered_where_sent r -> fifo r ->
          (forall y j t z s d, what r t = Leave y j -> what r s = Submit y ->
            what r d = Deliver z (sender r y) -> d < s ->
            sender r z <> j -> sender r z <> sender r y ->
            forall b e u v, sender r b = sender r z -> what r u = Submit b -> what r v = Submit z ->
              u <= v -> target r b e -> e <> sender r y -> before r (Deliver b e) t) ->
          forall x y j s t, hb r x y -> what r s = Deliver x j -> what r t = Deliver y j ->
            s < t""",
    "Causal.fifo_and_csps_are_causal": """
        forall r, well_formed r -> delivered_where_sent r -> fifo r -> csps r ->
          causal_delivery r""",
    "Needed.fifo_alone_is_not_causal": """
        well_formed hasty /\\ fifo hasty /\\ ~ causal_delivery hasty""",
    "Needed.sps_alone_is_not_causal": """
        well_formed swapped /\\ sps swapped /\\ ~ causal_delivery swapped""",
    "Needed.hypotheses_can_be_met": """
        well_formed patient /\\ fifo patient /\\ sps patient /\\ delivered_where_sent patient /\\
        hb patient 0 2""",
    "Permits.chains_establish_fifo": """
        forall r, well_formed r -> forall predecessor, chained r predecessor ->
          delivered_in_chain r predecessor -> fifo r""",
    "Permits.hybrid_sps_is_causal": """
        forall r, well_formed r -> forall acks permits heard, fifo r ->
          signals r acks permits heard -> delivered_where_sent r ->
          rule_sps r heard -> causal_delivery r""",
    "Permits.hybrid_csps_is_causal": """
        forall r, well_formed r -> forall acks permits heard, fifo r ->
          signals r acks permits heard -> delivered_where_sent r ->
          rule_csps r heard -> causal_delivery r""",
    "Permits.hybrid_is_causal": """
        forall r, well_formed r -> forall acks permits heard, fifo r ->
          signals r acks permits heard -> delivered_where_sent r ->
          rule_ordered r heard -> causal_delivery r""",
    "Bound.ordered_rule_leaves_in_time": """
        forall r dmin dmax, Bound.punctual r dmin dmax -> Bound.ordered_rule r ->
          forall m j, Bound.target r m j ->
            (Bound.leaves r m j <= Bound.submitted r m + 3 * dmax - dmin)%Z""",
    "Bound.ordered_rule_delivers_in_time": """
        forall r dmin dmax, Bound.punctual r dmin dmax -> Bound.ordered_rule r ->
          forall m j, Bound.target r m j ->
            (Bound.delivered r m j <= Bound.submitted r m + 4 * dmax - dmin)%Z""",
    "Bound.bound_is_tight": """
        forall dmin dmax, (0 <= dmin <= dmax)%Z ->
          Bound.punctual (Bound.slowest dmin dmax) dmin dmax /\\
          Bound.ordered_rule (Bound.slowest dmin dmax) /\\
          Bound.target (Bound.slowest dmin dmax) 2 3 /\\
          (Bound.leaves (Bound.slowest dmin dmax) 2%nat 3%nat =
            Bound.submitted (Bound.slowest dmin dmax) 2%nat + 3 * dmax - dmin)%Z /\\
          (Bound.delivered (Bound.slowest dmin dmax) 2%nat 3%nat =
            Bound.submitted (Bound.slowest dmin dmax) 2%nat + 4 * dmax - dmin)%Z""",
    "Bound.plain_rule_has_no_bound": """
        forall wait : nat, exists r m j, Bound.punctual r 1 1 /\\ Bound.plain_rule r /\\
          Bound.target r m j /\\
          (Bound.leaves r m j >= Bound.submitted r m + Z.of_nat wait)%Z""",
    "Knowledge.missing_permit_is_necessary": """
        forall full i k j z, Knowledge.run full -> i <> k -> i <> j -> k <> j -> fst z = k ->
          In (Knowledge.Dl z i true) full -> ~ Knowledge.permitted full z i ->
          exists other, Knowledge.run other /\\ Knowledge.view i other = Knowledge.view i full /\\
            (exists t, In (Knowledge.Sub z t) other /\\ In j t) /\\
            In (Knowledge.Lv z j true) other /\\
            forall f, ~ In (Knowledge.Dl z j f) other""",
    "Knowledge.letting_go_breaks_causality": """
        forall full i k j z y, Knowledge.run full -> i <> k -> i <> j -> k <> j ->
          fst z = k -> fst y = i -> In (Knowledge.Dl z i true) full ->
          ~ Knowledge.permitted full z i -> Knowledge.seen full z y i ->
          exists other, Knowledge.run other /\\ Knowledge.view i other = Knowledge.view i full /\\
            Knowledge.seen other z y i /\\
            (exists t, In (Knowledge.Sub z t) other /\\ In j t) /\\
            forall f g, ~ In (Knowledge.Dl z j g)
              (cons (Knowledge.Dl y j f) (cons (Knowledge.Lv y j f) other))""",
    "Expulsion.expulsion_is_safe": """
        forall r, well_formed r -> delivered_where_sent r -> fifo r ->
          forall fence wire noted heard, fencing r fence wire noted heard -> causal_delivery r""",
}
IMPORTS = """
Require Import ZArith List.
Require Antecede.Bound Antecede.Knowledge.
Require Import Antecede.Run Antecede.Causal Antecede.Needed Antecede.Permits Antecede.Expulsion.
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole development, compiled once, also where several workers share the tests."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "proofs"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "compiled").exists():
            coq.compile_all(place)
            (place / "compiled").touch()
    return place


def test_every_theorem_is_proved_as_stated_and_rests_on_nothing_else(folder: Path) -> None:
    names = [f"restated_{number}" for number in range(len(STATEMENTS))]
    lines = [IMPORTS]
    for name, (proof, statement) in zip(names, STATEMENTS.items(), strict=True):
        lines.append(f"Theorem {name} : {statement}.\nProof. exact {proof}. Qed.")
    lines.append(f"Definition all := ({', '.join(names)}).\nPrint Assumptions all.")
    (folder / "Restated.v").write_text("\n".join(lines), encoding="utf-8")
    result = coq.compiled(folder, "Restated.v")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["Closed under the global context"]


def test_nothing_is_given_up_or_assumed() -> None:
    for name in coq.in_order():
        text = (coq.PROOFS / name).read_text(encoding="utf-8")
        assert coq.GIVEN_UP.findall(text) == [], name


def test_every_file_takes_part() -> None:
    assert sorted(coq.in_order()) == sorted(file.name for file in coq.PROOFS.glob("*.v"))


def test_an_axiom_does_not_go_unnoticed(folder: Path) -> None:
    cheat = "Axiom trust : forall P : Prop, P.\nTheorem t : 1 = 2. Proof. apply trust. Qed."
    (folder / "Cheat.v").write_text(f"{cheat}\nPrint Assumptions t.", encoding="utf-8")
    assert "Closed" not in coq.compiled(folder, "Cheat.v").stdout
    assert coq.GIVEN_UP.search(cheat)


# A rule weakened, or a promise made larger: the proof must break.
FALSE = [
    ("Causal.v", "s <= s' -> target r b e", "s < s' -> target r b e"),
    ("Causal.v", "target r b e -> e <> i -> before", "target r b e -> e = i -> before"),
    ("Causal.v", "Hypothesis order : fifo r.", "Hypothesis order : True."),
    ("Permits.v", "ack_arrives m e t -> before r (Deliver m e) t;", "ack_arrives m e t -> True;"),
    ("Permits.v", "e = j \\/ e = sender r y).", "e = j \\/ e = sender r y) \\/ True."),
    ("Bound.v", "<= submitted r m + 3 * dmax - dmin.", "<= submitted r m + 3 * dmax - dmin - 1."),
    (
        "Bound.v",
        "earlier b m -> target r b e -> leaves r b e <= t) /\\",
        "earlier b m -> target r b e -> True) /\\",
    ),
    ("Knowledge.v", "~ permitted full z i ->\n  exists", "True ->\n  exists"),
    ("Knowledge.v", "(f = false <-> known_settled tr m j)", "f = true"),
    ("Expulsion.v", "notices k -> fenced e k t;", "notices k -> fenced e k (S t);"),
    ("Expulsion.v", "notices k \\/ noted x e k s;", "notices k \\/ noted x e k s \\/ True;"),
    ("Expulsion.v", "-> ~ fenced (sender r m) e t;", "-> True;"),
]
# Complaints about the text, not about the proof: then the change here is not what it should be.
NONSENSE = re.compile("Syntax error|Cannot infer")


@pytest.mark.parametrize("number", range(len(FALSE)))
def test_a_weaker_rule_proves_nothing(folder: Path, number: int) -> None:
    name, rule, weaker = FALSE[number]
    text = (coq.PROOFS / name).read_text(encoding="utf-8")
    assert text.count(rule) == 1, f"{rule!r} stands {text.count(rule)} times in {name}"
    (folder / f"Weak{number}.v").write_text(text.replace(rule, weaker), encoding="utf-8")
    result = coq.compiled(folder, f"Weak{number}.v")
    assert result.returncode != 0
    assert not NONSENSE.search(result.stderr), result.stderr
