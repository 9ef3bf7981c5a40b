(* FIFO and sender permission to send (SPS) imply causal delivery. *)

Require Import Arith Lia Wf_nat.
Require Import Antecede.Run.

Section Causal.
Variable r : run.

(* At the instant t, the sender of z has settled up to z as seen by i: z and all that this sender had
   submitted before it have been delivered at all of their targets, i excepted. *)
Definition settled (z : msg) (i : proc) (t : nat) : Prop :=
  forall b e s s', sender r b = sender r z -> what r s = Submit b -> what r s' = Submit z ->
    s <= s' -> target r b e -> e <> i -> before r (Deliver b e) t.

(* A copy of y to j leaves its sender i only when every sender k of a message z that i had delivered
   before it submitted y has settled up to z; but k = j is exempt (FIFO takes care of it), and so is
   k = i: nobody waits for his own messages to himself. *)
Definition sps : Prop :=
  forall y j t z s d, what r t = Leave y j -> what r s = Submit y ->
    what r d = Deliver z (sender r y) -> d < s ->
    sender r z <> j -> sender r z <> sender r y -> settled z (sender r y) t.

(* The conservative strategy knows no exemption for the receiver. *)
Definition csps : Prop :=
  forall y j t z s d, what r t = Leave y j -> what r s = Submit y ->
    what r d = Deliver z (sender r y) -> d < s ->
    sender r z <> sender r y -> settled z (sender r y) t.

Lemma csps_is_sps : csps -> sps.
Proof. unfold csps, sps. eauto. Qed.

(* p has submitted x, or delivered something that x is or happens before. *)
Definition knows (p : proc) (x : msg) (t : nat) : Prop :=
  (sender r x = p /\ before r (Submit x) t) \/
  (exists v d, what r d = Deliver v p /\ d < t /\ hbe r x v).

Section Theorem_.
Hypothesis wf : well_formed r.
Hypothesis order : fifo r.
Hypothesis permission : sps.

Lemma sender_knows : forall x y s, hbe r x y -> what r s = Submit y -> knows (sender r y) x (S s).
Proof.
  intros x y s [-> | H] S.
  - left. split; [reflexivity | exists s; auto].
  - destruct (Nat.eq_dec (sender r x) (sender r y)) as [Q | N].
    + left. split; [exact Q |]. eapply before_later; [exact (hb_submitted r wf _ _ _ H S) | lia].
    + right. destruct (brought_by r wf _ _ _ H N S) as (v & d & D & L & X).
      exists v, d. repeat split; auto.
Qed.

(* A copy of z leaves q for p at t; q had delivered w before it submitted z; w brings x, which q did
   not send. Then x has reached j, or p knew of x when z was submitted. By induction over the
   instant d at which q delivered w. *)
Lemma carried : forall d t q p z w x j s,
  what r t = Leave z p -> what r s = Submit z -> sender r z = q ->
  what r d = Deliver w q -> d < s -> hbe r x w -> sender r x <> q -> target r x j ->
  before r (Deliver x j) t \/ knows p x s.
Proof.
  intros d. induction d as [d IH] using lt_wf_ind.
  intros t q p z w x j s T S Q D L X N J.
  assert (ST : s < t).
  { destruct (submitted_before_leaving r wf _ _ _ T) as [u [A B]].
    rewrite (submitted_once r wf _ _ _ S B). exact A. }
  destruct (submitted_before_delivered r wf _ _ _ D) as [sw [Lw Sw]].
  destruct (Nat.eq_dec (sender r w) q) as [Own | Other].
  { (* w was one to oneself: an earlier message brought x. *)
    destruct X as [-> | X]; [contradiction |].
    rewrite <- Own in N. destruct (brought_by r wf _ _ _ X N Sw) as (v & c & C & Lc & Xv).
    rewrite Own in *. exact (IH c ltac:(lia) t q p z v x j s T S Q C ltac:(lia) Xv N J). }
  destruct (Nat.eq_dec (sender r w) p) as [P | NP].
  { right. rewrite <- P. destruct (sender_knows _ _ _ X Sw) as [[A B] | (v & c & C & Lc & Xv)].
    - left. split; [exact A |]. eapply before_later; [exact B | lia].
    - right. exists v, c. repeat split; auto. lia. }
  destruct (Nat.eq_dec (sender r x) (sender r w)) as [Xw | NX].
  { (* The sender of w sent x, and has settled up to w. *)
    left.
    assert (Sx : exists sx, what r sx = Submit x /\ sx <= sw /\ (x = w \/ sx < sw)).
    { destruct X as [-> | X]; [exists sw; auto |].
      destruct (hb_submitted r wf _ _ _ X Sw) as [sx [A B]]. exists sx. repeat split; auto; lia. }
    destruct Sx as (sx & Sx & Le & Eq).
    destruct (Nat.eq_dec j q) as [-> | Nj].
    - destruct Eq as [-> | Lt]; [exists d; split; [lia | exact D] |].
      eapply before_later; [exact (order _ _ _ _ _ _ Xw J Sx Sw Lt D) | lia].
    - subst q. apply (permission z p t w s d T S D L NP Other x j sx sw); auto. }
  destruct X as [-> | X]; [contradiction |].
  destruct (delivered_after_leaving r wf _ _ _ D (fun E => Other (eq_sym E))) as [tw [Ltw Tw]].
  destruct (brought_by r wf _ _ _ X NX Sw) as (v & c & C & Lc & Xv).
  destruct (IH c ltac:(lia) tw (sender r w) q w v x j sw Tw Sw eq_refl C Lc Xv NX J)
    as [Done | [[E _] | (v' & c' & C' & Lc' & Xv')]].
  - left. eapply before_later; [exact Done | lia].
  - contradiction.
  - exact (IH c' ltac:(lia) t q p z v' x j s T S Q C' ltac:(lia) Xv' N J).
Qed.

Theorem fifo_and_sps_deliver_without_gaps : causal_delivery_without_gaps r.
Proof.
  intros x y j t. revert x y j. induction t as [t IH] using lt_wf_ind.
  intros x y j H J T.
  destruct (submitted_before_delivered r wf _ _ _ T) as [s [L S]].
  (* j submitted x itself, and has delivered it since. *)
  assert (Own : forall u, u < t -> what r u = Submit x -> sender r x = j -> before r (Deliver x j) t).
  { intros u Lu U E. rewrite <- E in J.
    assert (P : of_process r (sender r x) (what r t)) by (rewrite T; simpl; congruence).
    destruct (own_at_once r wf x u t U J Lu P) as [v [Lv V]]. rewrite E in V. exists v.
    split; [| exact V]. destruct (Nat.eq_dec v t) as [-> | Nv]; [| lia].
    rewrite T in V. injection V as ->. destruct (hb_irreflexive r wf _ H). }
  (* j delivered something earlier that x is or happens before. *)
  assert (Earlier : forall v d, what r d = Deliver v j -> d < t -> hbe r x v ->
    before r (Deliver x j) t).
  { intros v d D Ld [-> | Xv]; [exists d; auto |].
    eapply before_later; [exact (IH d Ld x v j Xv J D) | lia]. }
  destruct (Nat.eq_dec (sender r x) (sender r y)) as [Same | N].
  { destruct (hb_submitted r wf _ _ _ H S) as [u [Lu U]].
    destruct (Nat.eq_dec (sender r x) j) as [E | _].
    - apply (Own u); auto. lia.
    - exact (order _ _ _ _ _ _ Same J U S Lu T). }
  destruct (brought_by r wf _ _ _ H N S) as (z & d & D & Ld & Xz).
  destruct (Nat.eq_dec j (sender r y)) as [-> | Nj].
  { exact (Earlier z d D ltac:(lia) Xz). }
  destruct (delivered_after_leaving r wf _ _ _ T Nj) as [u [Lu U]].
  destruct (carried d u (sender r y) j y z x j s U S eq_refl D Ld Xz N J)
    as [Done | [[E [v [Lv V]]] | (v & c & C & Lc & Xv)]].
  - eapply before_later; [exact Done | lia].
  - apply (Own v); auto. lia.
  - exact (Earlier v c C ltac:(lia) Xv).
Qed.

End Theorem_.

Definition delivered_where_sent : Prop := forall m j t, what r t = Deliver m j -> target r m j.

Theorem fifo_and_sps_are_causal :
  well_formed r -> delivered_where_sent -> fifo r -> sps -> causal_delivery r.
Proof.
  intros wf A F S. apply without_gaps_is_causal; auto.
  exact (fifo_and_sps_deliver_without_gaps wf F S).
Qed.

Theorem fifo_and_csps_are_causal :
  well_formed r -> delivered_where_sent -> fifo r -> csps -> causal_delivery r.
Proof. auto using fifo_and_sps_are_causal, csps_is_sps. Qed.

End Causal.
