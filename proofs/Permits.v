(* Acknowledgements, flags and permits establish SPS, and predecessor chains establish FIFO; the
   ordered rule releases a part of what SPS releases. So all three protocols are causal. *)

Require Import Arith Lia Wf_nat.
Require Import Antecede.Run Antecede.Causal.

Section Permits.
Variable r : run.
Hypothesis wf : well_formed r.

(* b has the sender of z and was submitted with z or before it. *)
Definition up_to (b z : msg) : Prop :=
  sender r b = sender r z /\
  exists s s', what r s = Submit b /\ what r s' = Submit z /\ s <= s'.

(* Every copy names its predecessor: the last message before it from that sender to that target. *)
Variable predecessor : msg -> proc -> option msg.

Definition chained : Prop :=
  forall x y j s s', sender r x = sender r y -> target r x j -> what r s = Submit x ->
    what r s' = Submit y -> s < s' ->
    exists p u, predecessor y j = Some p /\ sender r p = sender r y /\ target r p j /\
      what r u = Submit p /\ s <= u < s'.

Definition delivered_in_chain : Prop :=
  forall y j t p, what r t = Deliver y j -> j <> sender r y -> predecessor y j = Some p ->
    before r (Deliver p j) t.

Theorem chains_establish_fifo : chained -> delivered_in_chain -> fifo r.
Proof.
  intros C D x y j s s' t E J S S' L T.
  destruct (Nat.eq_dec j (sender r x)) as [-> | N].
  { assert (P : of_process r (sender r x) (what r t)) by (rewrite T; reflexivity).
    assert (Lt : s < t).
    { destruct (submitted_before_delivered r wf _ _ _ T) as [u [A B]].
      rewrite <- (submitted_once r wf _ _ _ S' B) in A. lia. }
    destruct (own_at_once r wf x s t S J Lt P) as [v [Lv V]].
    exists v. split; [| exact V]. destruct (Nat.eq_dec v t) as [-> | Nv]; [| lia].
    rewrite T in V. injection V as ->. pose proof (submitted_once r wf _ _ _ S S'). lia. }
  revert y s' t E S' L T. intros y s'. revert y.
  induction s' as [s' IH] using lt_wf_ind. intros y t E S' L T.
  destruct (C x y j s s' E J S S' L) as (p & u & P & Ep & Jp & U & [Lo Hi]).
  destruct (D y j t p T ltac:(congruence) P) as [v [Lv V]].
  destruct (Nat.eq_dec s u) as [-> | Ns].
  - assert (x = p) as -> by congruence. exists v; auto.
  - eapply before_later; [exact (IH u Hi p v ltac:(congruence) U ltac:(lia) V) | lia].
Qed.

(* ack_arrives m e t: at t the sender of m hears that e has delivered m. Cumulative: all up to m that
   went to e count as acknowledged.
   permit_leaves n i t: at t the sender of n tells i that it has settled up to n, by a permit or by
   an unflagged copy of n. permit_arrives n i t: at t process i hears of it. *)
Variable ack_arrives : msg -> proc -> nat -> Prop.
Variable permit_leaves permit_arrives : msg -> proc -> nat -> Prop.

Definition acked (b : msg) (e : proc) (t : nat) : Prop :=
  exists m u, u < t /\ ack_arrives m e u /\ up_to b m.

Definition known_settled (z : msg) (i : proc) (t : nat) : Prop :=
  forall b e, up_to b z -> target r b e -> e <> i -> e = sender r b \/ acked b e t.

Definition permitted (z : msg) (i : proc) (t : nat) : Prop :=
  exists n u, u < t /\ permit_arrives n i u /\ up_to z n.

Record signals : Prop := {
  acked_after_delivery : forall m e t, ack_arrives m e t -> before r (Deliver m e) t;
  permit_when_settled : forall n i t, permit_leaves n i t -> known_settled n i t;
  nothing_invented : forall n i t, permit_arrives n i t -> exists u, u < t /\ permit_leaves n i u;
  (* own copies are not on the wire; they are delivered inside the submission *)
  own_delivered : forall m s t n i, what r s = Submit m -> target r m (sender r m) ->
    permit_leaves n i t -> up_to m n -> before r (Deliver m (sender r m)) t
}.

Hypothesis order : fifo r.
Hypothesis truth : signals.

Lemma up_to_trans : forall a b c, up_to a b -> up_to b c -> up_to a c.
Proof.
  intros a b c [E (s & s' & S & S' & L)] [E' (u & u' & U & U' & L')].
  split; [congruence |]. exists s, u'. repeat split; auto.
  rewrite (submitted_once r wf _ _ _ S' U) in L. lia.
Qed.

Lemma acked_is_delivered : forall b e t, target r b e -> acked b e t -> before r (Deliver b e) t.
Proof.
  intros b e t J (m & u & L & A & [E (s & s' & S & S' & Le)]).
  destruct (acked_after_delivery truth _ _ _ A) as [d [Ld D]].
  destruct (Nat.eq_dec s s') as [-> | N].
  - assert (b = m) as -> by congruence. exists d. split; [lia | exact D].
  - eapply before_later; [exact (order b m e s s' d E J S S' ltac:(lia) D) | lia].
Qed.

(* A permit is true, also for everything before the message that it names. *)
Lemma permitted_is_settled : forall z i t, permitted z i t -> settled r z i t.
Proof.
  intros z i t (n & u & L & A & Z) b e s s' E S S' Le J N.
  destruct (nothing_invented truth _ _ _ A) as [v [Lv V]].
  assert (B : up_to b n).
  { apply up_to_trans with z; auto. split; [exact E |]. exists s, s'. auto. }
  destruct (permit_when_settled truth _ _ _ V b e B J N) as [-> | K].
  - eapply before_later; [exact (own_delivered truth b s v n i S J V B) | lia].
  - eapply before_later; [exact (acked_is_delivered _ _ _ J K) | lia].
Qed.

(* z was delivered at the sender of y before it submitted y. *)
Definition seen_before (z y : msg) : Prop :=
  exists s d, what r s = Submit y /\ what r d = Deliver z (sender r y) /\ d < s.

Definition missing (y z : msg) (t : nat) : Prop :=
  seen_before z y /\ sender r z <> sender r y /\ ~ permitted z (sender r y) t.

(* The three rules of release, as the protocols have them. *)
Definition rule_csps : Prop := forall y j t z, what r t = Leave y j -> seen_before z y ->
  sender r z <> sender r y -> permitted z (sender r y) t.

Definition rule_sps : Prop := forall y j t z, what r t = Leave y j -> seen_before z y ->
  sender r z <> sender r y -> sender r z <> j -> permitted z (sender r y) t.

(* Ordered: whole messages, in order of submission; the exemption only if y has a single target. *)
Definition ordered_release : Prop := forall y j t z, what r t = Leave y j -> seen_before z y ->
  sender r z <> sender r y ->
  permitted z (sender r y) t \/
  (sender r z = j /\ forall e, target r y e -> e = j \/ e = sender r y).

Definition in_order_of_submission : Prop := forall x y j e t s s', sender r x = sender r y ->
  what r s = Submit x -> what r s' = Submit y -> s < s' -> what r t = Leave y j ->
  target r x e -> e <> sender r x -> before r (Leave x e) t.

Definition rule_ordered : Prop := ordered_release /\ in_order_of_submission.

Lemma rule_csps_is_part_of_sps : rule_csps -> rule_sps.
Proof. unfold rule_csps, rule_sps. eauto. Qed.

Lemma rule_ordered_is_part_of_sps : rule_ordered -> rule_sps.
Proof.
  intros [O _] y j t z T S N Nj. destruct (O y j t z T S N) as [P | [E _]]; [exact P | contradiction].
Qed.

Theorem permits_establish_sps : rule_sps -> sps r.
Proof.
  intros R y j t z s d T S D L Nj Ni. apply permitted_is_settled.
  apply (R y j t z T); auto. exists s, d. auto.
Qed.

Hypothesis where_sent : delivered_where_sent r.

Theorem hybrid_sps_is_causal : rule_sps -> causal_delivery r.
Proof. auto using fifo_and_sps_are_causal, permits_establish_sps. Qed.

Theorem hybrid_csps_is_causal : rule_csps -> causal_delivery r.
Proof. auto using hybrid_sps_is_causal, rule_csps_is_part_of_sps. Qed.

Theorem hybrid_is_causal : rule_ordered -> causal_delivery r.
Proof. auto using hybrid_sps_is_causal, rule_ordered_is_part_of_sps. Qed.

End Permits.
