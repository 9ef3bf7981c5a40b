(* Expulsion is safe: causal delivery holds at every process, expelled ones included, whoever is
   expelled by whom and when, rightly or wrongly. *)

Require Import Arith Lia Wf_nat.
Require Import Antecede.Run Antecede.Causal Antecede.Permits.

Section Expulsion.
Variable r : run.
Hypothesis wf : well_formed r.
Hypothesis where_sent : delivered_where_sent r.
Hypothesis order : fifo r.          (* a fence only cuts a stream off *)

(* fence x k t: at t process x expels k, or hears that somebody has. *)
Variable fence : proc -> proc -> nat -> Prop.
Definition fenced (x k : proc) (t : nat) : Prop := exists u, u < t /\ fence x k u.

(* wire x e s t notices: a packet (a copy or a permit, also one that is repeated) that x put on the
   wire for e at s, with these notices of expulsion, takes effect at t.
   noted x e k t: at t process x has heard from e that e has fenced k.
   permit_arrives n i t: as in Permits.v. *)
Variable wire : proc -> proc -> nat -> nat -> (proc -> Prop) -> Prop.
Variable noted : proc -> proc -> proc -> nat -> Prop.
Variable permit_arrives : msg -> proc -> nat -> Prop.

(* The sender of n has settled up to n; who is fenced counts as having acknowledged everything. *)
Definition cleared (n : msg) (i : proc) (t : nat) : Prop :=
  forall b e, up_to r b n -> target r b e -> e <> i ->
    before r (Deliver b e) t \/ fenced (sender r n) e t.

Record fencing : Prop := {
  notices_first : forall x e s t notices k, wire x e s t notices -> notices k -> fenced e k t;
  notices_until_noted : forall x e s t notices k, wire x e s t notices -> fenced x k s ->
    notices k \/ noted x e k s;
  noted_after_fence : forall x e k t, noted x e k t -> fenced e k t;
  wire_takes_time : forall x e s t notices, wire x e s t notices -> s < t;
  nothing_to_the_fenced : forall m e t, what r t = Leave m e -> ~ fenced (sender r m) e t;
  nothing_from_the_fenced : forall m e t, what r t = Deliver m e -> e <> sender r m ->
    ~ fenced e (sender r m) t;
  deliveries_come_by_wire : forall m e t, what r t = Deliver m e -> e <> sender r m ->
    exists u s t' notices, what r u = Leave m e /\ u <= s /\ wire (sender r m) e s t' notices /\ t' <= t;
  permits_come_by_wire : forall n i t, permit_arrives n i t ->
    exists s notices, wire (sender r n) i s t notices /\ cleared n i s;
  (* SPS, with the permits of who is fenced counted as given *)
  release : forall y j t z, what r t = Leave y j -> seen_before r z y ->
    sender r z <> j -> sender r z <> sender r y ->
    (exists n u, u < t /\ permit_arrives n (sender r y) u /\ up_to r z n) \/
    fenced (sender r y) (sender r z) t
}.

Hypothesis rules : fencing.

Lemma fenced_later : forall x k s t, fenced x k s -> s <= t -> fenced x k t.
Proof. intros x k s t [u [L F]] H. exists u. split; [lia | exact F]. Qed.

(* Invariant (I): what x puts on the wire after it fenced k takes effect where k is fenced, too. *)
Lemma fences_travel : forall x e s t notices k,
  wire x e s t notices -> fenced x k s -> fenced e k t.
Proof.
  intros x e s t notices k W F.
  destruct (notices_until_noted rules _ _ _ _ _ k W F) as [N | N].
  - exact (notices_first rules _ _ _ _ _ k W N).
  - apply fenced_later with s; [exact (noted_after_fence rules _ _ _ _ N) |].
    pose proof (wire_takes_time rules _ _ _ _ _ W). lia.
Qed.

(* q may pass on what x brought: x is there, or what q sends will meet a fence in time. *)
Definition harmless (q : proc) (x : msg) (j : proc) (t : nat) : Prop :=
  before r (Deliver x j) t \/ fenced q (sender r x) t \/ fenced q j t.

Lemma hop : forall w q d, what r d = Deliver w q -> q <> sender r w ->
  exists u, what r u = Leave w q /\ u < d /\ forall k, fenced (sender r w) k u -> fenced q k d.
Proof.
  intros w q d D N.
  destruct (deliveries_come_by_wire rules _ _ _ D N) as (u & s & t & C & U & Lu & W & Lt).
  pose proof (wire_takes_time rules _ _ _ _ _ W).
  exists u. repeat split; [exact U | lia |]. intros k F.
  apply fenced_later with t; [| exact Lt].
  apply (fences_travel _ _ _ _ _ _ W). apply fenced_later with u; auto.
Qed.

Lemma harmless_later : forall q x j s t, harmless q x j s -> s <= t -> harmless q x j t.
Proof.
  intros q x j s t [H | [H | H]] L; unfold harmless;
    eauto using before_later, fenced_later.
Qed.

Lemma carried : forall d t q p z w x j s,
  what r t = Leave z p -> what r s = Submit z -> sender r z = q ->
  what r d = Deliver w q -> d < s -> hbe r x w -> sender r x <> q -> target r x j ->
  harmless q x j t \/ knows r p x s.
Proof.
  intros d. induction d as [d IH] using lt_wf_ind.
  intros t q p z w x j s T S Q D L X N J.
  assert (ST : s < t).
  { destruct (submitted_before_leaving r wf _ _ _ T) as [u [A B]].
    rewrite (submitted_once r wf _ _ _ S B). exact A. }
  destruct (submitted_before_delivered r wf _ _ _ D) as [sw [Lw Sw]].
  destruct (Nat.eq_dec (sender r w) q) as [Own | Other].
  { destruct X as [-> | X]; [contradiction |].
    rewrite <- Own in N. destruct (brought_by r wf _ _ _ X N Sw) as (v & c & C & Lc & Xv).
    rewrite Own in *. exact (IH c ltac:(lia) t q p z v x j s T S Q C ltac:(lia) Xv N J). }
  destruct (Nat.eq_dec (sender r w) p) as [P | NP].
  { right. rewrite <- P.
    destruct (sender_knows r wf _ _ _ X Sw) as [[A B] | (v & c & C & Lc & Xv)].
    - left. split; [exact A |]. eapply before_later; [exact B | lia].
    - right. exists v, c. repeat split; auto. lia. }
  destruct (Nat.eq_dec (sender r x) (sender r w)) as [Xw | NX].
  { left.
    assert (Sx : exists sx, what r sx = Submit x /\ sx <= sw /\ (x = w \/ sx < sw)).
    { destruct X as [-> | X]; [exists sw; auto |].
      destruct (hb_submitted r wf _ _ _ X Sw) as [sx [A B]]. exists sx. repeat split; auto; lia. }
    destruct Sx as (sx & Sx & Le & Eq).
    destruct (Nat.eq_dec j q) as [-> | Nj].
    { left. destruct Eq as [-> | Lt]; [exists d; split; [lia | exact D] |].
      eapply before_later; [exact (order _ _ _ _ _ _ Xw J Sx Sw Lt D) | lia]. }
    subst q.
    destruct (release rules z p t w T (ex_intro _ s (ex_intro _ d (conj S (conj D L)))) NP Other)
      as [(n & u & Lu & A & [E (a & b & Sa & Sb & Lab)]) | F].
    - destruct (permits_come_by_wire rules _ _ _ A) as (v & C & W & K).
      assert (U : up_to r x n).
      { split; [congruence |]. exists sx, b. repeat split; auto.
        rewrite (submitted_once r wf _ _ _ Sw Sa) in Le. lia. }
      pose proof (wire_takes_time rules _ _ _ _ _ W).
      destruct (K x j U J Nj) as [Done | F].
      + left. eapply before_later; [exact Done | lia].
      + right; right. apply fenced_later with u; [| lia]. exact (fences_travel _ _ _ _ _ _ W F).
    - right; left. rewrite Xw. exact F. }
  destruct X as [-> | X]; [contradiction |].
  destruct (hop w q d D (fun E => Other (eq_sym E))) as (tw & Tw & Ltw & Hop).
  destruct (brought_by r wf _ _ _ X NX Sw) as (v & c & C & Lc & Xv).
  destruct (IH c ltac:(lia) tw (sender r w) q w v x j sw Tw Sw eq_refl C Lc Xv NX J)
    as [Done | [[E _] | (v' & c' & C' & Lc' & Xv')]].
  - left. apply harmless_later with d; [| lia]. destruct Done as [Done | [F | F]].
    + left. eapply before_later; [exact Done | lia].
    + right; left. exact (Hop _ F).
    + right; right. exact (Hop _ F).
  - contradiction.
  - exact (IH c' ltac:(lia) t q p z v' x j s T S Q C' ltac:(lia) Xv' N J).
Qed.

Theorem expulsion_is_safe : causal_delivery r.
Proof.
  intros x y j t1 t H X T. assert (J : target r x j) by exact (where_sent _ _ _ X).
  revert x y j t1 H X T J. induction t as [t IH] using lt_wf_ind. intros x y j t1 H X T J.
  destruct (submitted_before_delivered r wf _ _ _ T) as [s [L S]].
  assert (Once : before r (Deliver x j) t -> t1 < t).
  { intros [u [Lu U]]. rewrite (delivered_once r wf _ _ _ _ X U). exact Lu. }
  assert (Earlier : forall v d, what r d = Deliver v j -> d < t -> hbe r x v -> t1 < t).
  { intros v d D Ld [-> | Xv].
    - rewrite (delivered_once r wf _ _ _ _ X D). exact Ld.
    - pose proof (IH d Ld x v j t1 Xv X D J). lia. }
  destruct (Nat.eq_dec (sender r x) j) as [E | Nx].
  { (* j delivered x when it submitted it *)
    apply Once. destruct (hb_submitted r wf _ _ _ H S) as [u [Lu U]]. rewrite <- E in J.
    assert (P : of_process r (sender r x) (what r t)) by (rewrite T; simpl; congruence).
    destruct (own_at_once r wf x u t U J ltac:(lia) P) as [v [Lv V]]. rewrite E in V. exists v.
    split; [| exact V]. destruct (Nat.eq_dec v t) as [-> | Nv]; [| lia].
    rewrite T in V. injection V as ->. destruct (hb_irreflexive r wf _ H). }
  destruct (Nat.eq_dec (sender r x) (sender r y)) as [Same | N].
  { apply Once. destruct (hb_submitted r wf _ _ _ H S) as [u [Lu U]].
    exact (order _ _ _ _ _ _ Same J U S Lu T). }
  destruct (brought_by r wf _ _ _ H N S) as (z & d & D & Ld & Xz).
  destruct (Nat.eq_dec j (sender r y)) as [-> | Nj].
  { exact (Earlier z d D ltac:(lia) Xz). }
  destruct (hop y j t T Nj) as (u & U & Lu & Hop).
  destruct (carried d u (sender r y) j y z x j s U S eq_refl D Ld Xz N J)
    as [[Done | [F | F]] | [[E _] | (v & c & C & Lc & Xv)]].
  - apply Once. eapply before_later; [exact Done | lia].
  - (* j has fenced the sender of x, and delivers nothing of it any more *)
    destruct (Hop _ F) as [f [Lf Ff]]. assert (~ f < t1); [| lia]. intros Lf'.
    apply (nothing_from_the_fenced rules x j t1 X ltac:(congruence)). exists f. auto.
  - (* y never left for j *)
    destruct (nothing_to_the_fenced rules _ _ _ U F).
  - contradiction.
  - exact (Earlier v c C ltac:(lia) Xv).
Qed.

End Expulsion.
