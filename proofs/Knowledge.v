(* A missing permit is knowledge that cannot be had: the decisions of hybrid-sps are optimal.

   Here a run is a list of steps, the newest first, each of which the protocol allows. A process sees
   its own submissions and transmissions, what it delivers (sender, number, flag; the predecessor
   follows from these), and the acknowledgements and permits that reach it. If i lacks the permit
   of a message z of k, then for any third j there is another run in which i has seen exactly the
   same, and in which z is also addressed to j and still under way to it. *)

Require Import Arith Lia List Bool.
Import ListNotations.

Notation proc := nat.
Notation msg := (nat * nat)%type.     (* sender, and number among its messages *)

Inductive step :=
| Sub (m : msg) (targets : list proc)
| Lv (m : msg) (j : proc) (unsettled : bool)    (* the copy of m to j leaves, flagged or not *)
| Dl (m : msg) (j : proc) (unsettled : bool)    (* and is delivered *)
| Ak (m : msg) (j : proc)                       (* the sender of m hears that j has delivered it *)
| Pm (m : msg) (i : proc).                      (* i hears that the sender of m has settled up to m *)

Definition before (b m : msg) : Prop := fst b = fst m /\ snd b < snd m.
Definition up_to (b m : msg) : Prop := fst b = fst m /\ snd b <= snd m.

Definition known_settled (tr : list step) (m : msg) (i : proc) : Prop :=
  forall b targets e, up_to b m -> In (Sub b targets) tr -> In e targets -> e <> i -> In (Ak b e) tr.

Definition permitted (tr : list step) (z : msg) (i : proc) : Prop :=
  exists n, up_to z n /\ (In (Pm n i) tr \/ In (Dl n i false) tr).

(* i had delivered z when it submitted y. *)
Definition seen (tr : list step) (z y : msg) (i : proc) : Prop :=
  exists a b targets f, tr = a ++ Sub y targets :: b /\ In (Dl z i f) b.

Definition allowed (tr : list step) (s : step) : Prop :=
  match s with
  | Sub m targets =>
      (forall t, ~ In (Sub m t) tr) /\ ~ In (fst m) targets /\
      forall n, n < snd m -> exists t, In (Sub (fst m, n) t) tr
  | Lv m j f =>
      (exists t, In (Sub m t) tr /\ In j t) /\ (forall g, ~ In (Lv m j g) tr) /\
      (forall b t, before b m -> In (Sub b t) tr -> In j t -> exists g, In (Lv b j g) tr) /\
      (forall z, seen tr z m (fst m) -> fst z <> j -> permitted tr z (fst m)) /\
      (f = false <-> known_settled tr m j)
  | Dl m j f =>
      In (Lv m j f) tr /\ (forall g, ~ In (Dl m j g) tr) /\
      forall b t, before b m -> In (Sub b t) tr -> In j t -> exists g, In (Dl b j g) tr
  | Ak m j => exists f, In (Dl m j f) tr
  | Pm m i => fst m <> i /\ (exists t, In (Sub m t) tr) /\ known_settled tr m i
  end.

Inductive run : list step -> Prop :=
| run_nil : run []
| run_step : forall tr s, run tr -> allowed tr s -> run (s :: tr).

Definition visible (i : proc) (s : step) : bool :=
  match s with
  | Sub m _ => fst m =? i
  | Lv m _ _ => fst m =? i
  | Dl _ j _ => j =? i
  | Ak m _ => fst m =? i
  | Pm _ j => j =? i
  end.

Definition view (i : proc) (tr : list step) : list step := filter (visible i) tr.

(* What holds in every run. *)

Ltac grow H := induction H as [| tr s R IH G]; simpl in *; [intuition; fail |].

Lemma sub_unique : forall tr m t u, run tr -> In (Sub m t) tr -> In (Sub m u) tr -> t = u.
Proof.
  intros tr m t u R. grow R. intros [-> | A] [B | B]; try congruence; auto.
  - exfalso. exact (proj1 G _ B).
  - subst s. exfalso. exact (proj1 G _ A).
Qed.

Lemma sub_lower : forall tr m t n, run tr -> In (Sub m t) tr -> n < snd m ->
  exists u, In (Sub (fst m, n) u) tr.
Proof.
  intros tr m t n R. grow R. intros [-> | A] L.
  - destruct G as (_ & _ & G). destruct (G n L) as [u U]. exists u. auto.
  - destruct (IH A L) as [u U]. exists u. auto.
Qed.

Lemma sub_foreign : forall tr m t, run tr -> In (Sub m t) tr -> ~ In (fst m) t.
Proof. intros tr m t R. grow R. intros [-> | A]; auto. apply G. Qed.

Lemma lv_sub : forall tr m j f, run tr -> In (Lv m j f) tr -> exists t, In (Sub m t) tr /\ In j t.
Proof.
  intros tr m j f R. grow R. intros [-> | A].
  - destruct G as [(t & T & J) _]. exists t. auto.
  - destruct (IH A) as (t & T & J). exists t. auto.
Qed.

Lemma dl_lv : forall tr m j f, run tr -> In (Dl m j f) tr -> In (Lv m j f) tr.
Proof. intros tr m j f R. grow R. intros [-> | A]; auto. destruct G; auto. Qed.

Lemma dl_once : forall tr m j f g, run tr -> In (Dl m j f) tr -> In (Dl m j g) tr -> f = g.
Proof.
  intros tr m j f g R. grow R. intros [-> | A] [B | B]; try congruence; auto.
  - exfalso. exact (proj1 (proj2 G) _ B).
  - subst s. exfalso. exact (proj1 (proj2 G) _ A).
Qed.

Lemma ak_dl : forall tr m j, run tr -> In (Ak m j) tr -> exists f, In (Dl m j f) tr.
Proof.
  intros tr m j R. grow R. intros [-> | A].
  - destruct G as [f F]. exists f. auto.
  - destruct (IH A) as [f F]. exists f. auto.
Qed.

Lemma run_suffix : forall a tr, run (a ++ tr) -> run tr.
Proof. induction a as [| s a IH]; simpl; auto. intros tr R. inversion R; auto. Qed.

(* What i sees tells the same of both runs. *)

Lemma visible_in : forall i tr tr' s, view i tr = view i tr' -> visible i s = true ->
  In s tr -> In s tr'.
Proof.
  intros i tr tr' s V S A. assert (B : In s (view i tr)) by (apply filter_In; auto).
  rewrite V in B. apply filter_In in B. tauto.
Qed.

Lemma view_split : forall i tr a s b, view i tr = a ++ s :: b ->
  exists c d, tr = c ++ s :: d /\ view i d = b.
Proof.
  intros i tr. induction tr as [| x tr IH]; intros a s b E; simpl in E.
  - destruct a; discriminate.
  - destruct (visible i x) eqn:X.
    + destruct a as [| y a]; simpl in E; injection E as -> E.
      * exists [], tr. auto.
      * destruct (IH _ _ _ E) as (c & d & -> & D). exists (y :: c), d. auto.
    + destruct (IH _ _ _ E) as (c & d & -> & D). exists (x :: c), d. auto.
Qed.

Lemma seen_view : forall i tr tr' z y, view i tr = view i tr' -> fst y = i ->
  seen tr z y i -> seen tr' z y i.
Proof.
  intros i tr tr' z y V Y (a & b & t & f & -> & D).
  assert (S : visible i (Sub y t) = true) by (simpl; apply Nat.eqb_eq; auto).
  unfold view in V. rewrite filter_app in V. cbn [filter] in V. rewrite S in V.
  destruct (view_split i tr' _ _ _ (eq_sym V)) as (c & d & -> & E).
  exists c, d, t, f. split; [reflexivity |].
  apply (visible_in i b d); auto. simpl. apply Nat.eqb_refl.
Qed.

Section Necessity.
Variable full : list step.
Hypothesis real : run full.
Variables i k j : proc.
Hypothesis distinct : i <> k /\ i <> j /\ k <> j.

(* The other run. A message that i delivered flagged goes to i and to a witness; one that it
   delivered unflagged to i alone; all others to nobody. *)
Definition witness (r : proc) : proc := if r =? j then k else j.

Lemma step_eq : forall s t : step, {s = t} + {s <> t}.
Proof. repeat decide equality. Qed.

Definition targets (m : msg) : list proc :=
  if in_dec step_eq (Dl m i true) full then [i; witness (fst m)]
  else if in_dec step_eq (Dl m i false) full then [i] else [].

Lemma witness_other : forall r, witness r <> i /\ witness r <> r.
Proof. intros r. unfold witness. destruct (Nat.eqb_spec r j); lia. Qed.

Lemma in_targets : forall m e, In e (targets m) ->
  (e = i /\ exists f, In (Dl m i f) full) \/ (e = witness (fst m) /\ In (Dl m i true) full).
Proof.
  intros m e. unfold targets.
  destruct (in_dec step_eq (Dl m i true) full) as [A | A];
    [| destruct (in_dec step_eq (Dl m i false) full) as [B | B]]; simpl; intuition eauto.
Qed.

Lemma targets_i : forall m f, In (Dl m i f) full -> In i (targets m).
Proof.
  intros m f F. unfold targets. destruct (in_dec step_eq (Dl m i true) full) as [A | A];
    [simpl; auto |]. destruct f; [contradiction |].
  destruct (in_dec step_eq (Dl m i false) full); [simpl; auto | contradiction].
Qed.

Lemma targets_witness : forall m, In (Dl m i true) full -> In (witness (fst m)) (targets m).
Proof.
  intros m F. unfold targets. destruct (in_dec step_eq (Dl m i true) full); [simpl; auto | contradiction].
Qed.

Variables P N : nat.
Definition inside (m : msg) : Prop := fst m <> i /\ fst m < P /\ snd m < N.

(* covered: the messages whose witnesses may have acknowledged them. *)
Record good (covered : msg -> Prop) (tr acc : list step) : Prop := {
  g_view : view i acc = view i tr;
  g_run : run acc;
  g_sub : forall m t, fst m <> i -> In (Sub m t) acc -> t = targets m;
  g_all : forall m, inside m -> In (Sub m (targets m)) acc;
  g_quiet : forall a b y t, acc = a ++ Sub y t :: b -> fst y <> i -> forall z p f, ~ In (Dl z p f) b;
  g_lv : forall m p f, fst m <> i -> In (Lv m p f) acc ->
    (p = i /\ In (Dl m i f) full) \/ (p = witness (fst m) /\ In (Lv m i true) acc);
  g_both : forall m, fst m <> i -> In (Lv m i true) acc -> In (Lv m (witness (fst m)) true) acc;
  g_dl : forall m p f, fst m <> i -> p <> i -> In (Dl m p f) acc ->
    p = witness (fst m) /\ In (Ak m (witness (fst m))) acc;
  g_ak : forall m p, fst m <> i -> In (Ak m p) acc -> p = witness (fst m) /\ covered m;
  g_own : forall m p f, fst m = i -> In (Lv m p f) acc -> In (Dl m p f) acc
}.

Lemma good_cover : forall (c d : msg -> Prop) tr acc, (forall m, c m -> d m) ->
  good c tr acc -> good d tr acc.
Proof.
  intros c d tr acc CD G. destruct G. constructor; auto.
  intros m p M A. destruct (g_ak0 m p M A). auto.
Qed.

(* Nobody but i has delivered anything when it submits. *)
Lemma nothing_seen : forall c tr acc m z, good c tr acc -> fst m <> i -> ~ seen acc z m (fst m).
Proof. intros c tr acc m z G M (a & b & t & f & E & D). exact (g_quiet _ _ _ G a b m t E M z _ f D). Qed.

Lemma quiet_cons : forall s acc, (forall y t, s = Sub y t -> fst y = i) ->
  (forall a b y t, acc = a ++ Sub y t :: b -> fst y <> i -> forall z p f, ~ In (Dl z p f) b) ->
  forall a b y t, s :: acc = a ++ Sub y t :: b -> fst y <> i -> forall z p f, ~ In (Dl z p f) b.
Proof.
  intros s acc S Q a b y t E Y. destruct a as [| x a]; simpl in E; injection E as -> E.
  - exfalso. exact (Y (S y t eq_refl)).
  - exact (Q a b y t E Y).
Qed.

Lemma invisible : forall s acc tr, visible i s = false ->
  view i acc = view i tr -> view i (s :: acc) = view i tr.
Proof. intros s acc tr S V. simpl. rewrite S. exact V. Qed.

Lemma foreign : forall b m, before b m -> fst m <> i -> fst b <> i.
Proof. intros b m [B _] M E. apply M. congruence. Qed.

Ltac not_i := match goal with |- (?a =? i) = false => apply Nat.eqb_neq; auto end.

(* All earlier messages to i have left. *)
Definition earlier_left (acc : list step) (m : msg) : Prop :=
  forall b f, before b m -> In (Dl b i f) full -> In (Lv b i f) acc.

Lemma leave_flagged : forall c tr acc m, good c tr acc -> inside m -> In (Dl m i true) full ->
  earlier_left acc m -> (forall g, ~ In (Lv m i g) acc) ->
  good c tr (Lv m i true :: Lv m (witness (fst m)) true :: acc).
Proof.
  intros c tr acc m G I F E NL. destruct I as (Mi & MP & MN). destruct (witness_other (fst m)) as [Wi Wm].
  assert (S : In (Sub m (targets m)) acc) by (apply (g_all _ _ _ G); repeat split; auto).
  assert (NW : forall g, ~ In (Lv m (witness (fst m)) g) acc).
  { intros g A. destruct (g_lv _ _ _ G m _ g Mi A) as [[B _] | [_ B]]; [exact (Wi B) | exact (NL _ B)]. }
  assert (NA : forall p, ~ In (Ak m p) acc).
  { intros p A. destruct (g_ak _ _ _ G m p Mi A) as [-> _].
    destruct (ak_dl acc m _ (g_run _ _ _ G) A) as [f D].
    exact (NW f (dl_lv acc m _ f (g_run _ _ _ G) D)). }
  assert (R1 : run (Lv m (witness (fst m)) true :: acc)).
  { constructor; [exact (g_run _ _ _ G) |]. simpl. split; [eauto using targets_witness |].
    split; [exact NW |]. split.
    - intros b t B Sb J. rewrite (g_sub _ _ _ G b t (foreign b m B Mi) Sb) in J.
      destruct B as [B1 B2].
      destruct (in_targets b _ J) as [[Q _] | [_ Fb]]; [destruct (Wi Q) |].
      exists true. rewrite <- B1. apply (g_both _ _ _ G); [intros Q; apply Mi; rewrite <- B1; exact Q |].
      apply (E b true); auto. split; auto.
    - split; [intros z Z; destruct (nothing_seen c tr acc m z G Mi Z) |].
      split; [discriminate |]. intros K. exfalso. apply (NA i).
      apply (K m (targets m) i); auto. split; auto. eapply targets_i; eauto. }
  assert (R2 : run (Lv m i true :: Lv m (witness (fst m)) true :: acc)).
  { constructor; [exact R1 |]. simpl. split; [exists (targets m); eauto using targets_i |].
    split; [intros g [A | A]; [injection A as A _; exact (Wi A) | exact (NL g A)] |]. split.
    - intros b t B [Sb | Sb] J; [discriminate |].
      rewrite (g_sub _ _ _ G b t (foreign b m B Mi) Sb) in J.
      destruct (in_targets b _ J) as [[_ [f Fb]] | [Q _]]; [exists f; right; apply (E b f); auto |].
      destruct B as [B1 B2]. rewrite B1 in Q. destruct (Wi (eq_sym Q)).
    - split.
      + intros z (a & b & t & f & A & D). exfalso. destruct a as [| x a]; [discriminate |].
        injection A as _ A. exact (g_quiet _ _ _ G a b m t A Mi z _ f D).
      + split; [discriminate |]. intros K. exfalso.
        destruct (K m (targets m) (witness (fst m))) as [A | A];
          [split; auto | right; exact S | apply targets_witness; auto | exact Wi | discriminate |].
        exact (NA _ A). }
  destruct G. constructor; auto.
  - apply invisible; [simpl; not_i | apply invisible; [simpl; not_i | auto]].
  - intros m' t M' [A | [A | A]]; try discriminate; auto.
  - intros m' I. right. right. auto.
  - intros a b y t A Y. destruct a as [| x [| x' a]]; simpl in A; try discriminate.
    injection A as _ _ A. exact (g_quiet0 a b y t A Y).
  - intros m' p f M' [A | [A | A]].
    + injection A as <- <- <-. auto.
    + injection A as <- <- <-. right. simpl. auto.
    + destruct (g_lv0 m' p f M' A) as [B | [B C]]; [auto |]. right. simpl. auto.
  - intros m' M' [A | [A | A]].
    + injection A as <-. simpl. auto.
    + injection A as <- A. destruct (Wi A).
    + right. right. auto.
  - intros m' p f M' Pi [A | [A | A]]; try discriminate.
    destruct (g_dl0 m' p f M' Pi A). simpl. auto.
  - intros m' p M' [A | [A | A]]; try discriminate; auto.
  - intros m' p f M' [A | [A | A]]; try (injection A as <- <- <-; contradiction).
    right. right. auto.
Qed.

(* All earlier messages have left, and their witnesses have acknowledged them. *)
Definition earlier_settled (acc : list step) (m : msg) : Prop :=
  forall b f, before b m -> In (Dl b i f) full ->
    In (Lv b i f) acc /\ (f = true -> In (Ak b (witness (fst b))) acc).

Lemma leave_unflagged : forall c tr acc m, good c tr acc -> inside m -> In (Dl m i false) full ->
  earlier_settled acc m -> (forall g, ~ In (Lv m i g) acc) -> good c tr (Lv m i false :: acc).
Proof.
  intros c tr acc m G I F E NL. destruct I as (Mi & MP & MN).
  assert (S : In (Sub m (targets m)) acc) by (apply (g_all _ _ _ G); repeat split; auto).
  assert (R1 : run (Lv m i false :: acc)).
  { constructor; [exact (g_run _ _ _ G) |]. simpl. split; [eauto using targets_i |].
    split; [exact NL |]. split.
    - intros b t B Sb J. rewrite (g_sub _ _ _ G b t (foreign b m B Mi) Sb) in J.
      destruct (in_targets b _ J) as [[_ [f Fb]] | [Q _]]; [exists f; apply (E b f); auto |].
      destruct (proj1 (witness_other (fst b)) (eq_sym Q)).
    - split; [intros z Z; destruct (nothing_seen c tr acc m z G Mi Z) |]. split; [| auto].
      intros _ b t e [U1 U2] Sb Je Ne.
      rewrite (g_sub _ _ _ G b t ltac:(intros Q; apply Mi; rewrite <- U1; exact Q) Sb) in Je.
      destruct (in_targets b _ Je) as [[Q _] | [-> Fb]]; [contradiction |].
      destruct (Nat.eq_dec (snd b) (snd m)) as [Q | Q].
      + assert (b = m) as -> by (destruct b, m; simpl in *; congruence).
        pose proof (dl_once full m i _ _ real F Fb). discriminate.
      + apply (E b true); auto. split; [auto | lia]. }
  destruct G. constructor; auto.
  - apply invisible; [simpl; not_i | auto].
  - intros m' t M' [A | A]; try discriminate; auto.
  - intros m' I. right. auto.
  - apply quiet_cons; [discriminate | auto].
  - intros m' p f M' [A | A].
    + injection A as <- <- <-. auto.
    + destruct (g_lv0 m' p f M' A) as [B | [B C]]; [auto |]. right. simpl. auto.
  - intros m' M' [A | A]; [discriminate | right; auto].
  - intros m' p f M' Pi [A | A]; try discriminate. destruct (g_dl0 m' p f M' Pi A). simpl. auto.
  - intros m' p M' [A | A]; try discriminate; auto.
  - intros m' p f M' [A | A]; [injection A as <- <- <-; contradiction | right; auto].
Qed.

Lemma testify : forall (c : msg -> Prop) tr acc m, good c tr acc -> inside m -> In (Lv m i true) acc ->
  earlier_settled acc m -> ~ In (Ak m (witness (fst m))) acc -> c m ->
  good c tr (Ak m (witness (fst m)) :: Dl m (witness (fst m)) true :: acc).
Proof.
  intros c tr acc m G (Mi & MP & MN) L E NA C. destruct (witness_other (fst m)) as [Wi Wm].
  assert (R1 : run (Dl m (witness (fst m)) true :: acc)).
  { constructor; [exact (g_run _ _ _ G) |]. simpl. split; [exact (g_both _ _ _ G m Mi L) |]. split.
    - intros g A. destruct (g_dl _ _ _ G m _ g Mi Wi A). contradiction.
    - intros b t B Sb J. rewrite (g_sub _ _ _ G b t (foreign b m B Mi) Sb) in J.
      destruct (in_targets b _ J) as [[Q _] | [_ Fb]]; [destruct (Wi Q) |].
      destruct (E b true B Fb) as [_ A]. destruct (ak_dl acc b _ (g_run _ _ _ G) (A eq_refl)) as [g D].
      destruct B as [B1 B2]. rewrite B1 in D. exists g. exact D. }
  assert (R2 : run (Ak m (witness (fst m)) :: Dl m (witness (fst m)) true :: acc)).
  { constructor; [exact R1 |]. simpl. eauto. }
  destruct G. constructor; auto.
  - apply invisible; [simpl; not_i | apply invisible; [simpl; not_i | auto]].
  - intros m' t M' [A | [A | A]]; try discriminate; auto.
  - intros m' I. right. right. auto.
  - intros a b y t A Y. destruct a as [| x [| x' a]]; simpl in A; try discriminate.
    injection A as _ _ A. exact (g_quiet0 a b y t A Y).
  - intros m' p f M' [A | [A | A]]; try discriminate.
    destruct (g_lv0 m' p f M' A) as [B | [B D]]; [auto |]. right. simpl. auto.
  - intros m' M' [A | [A | A]]; try discriminate. right. right. auto.
  - intros m' p f M' Pi [A | [A | A]]; try discriminate.
    + injection A as <- <- <-. simpl. auto.
    + destruct (g_dl0 m' p f M' Pi A). simpl. auto.
  - intros m' p M' [A | [A | A]]; try discriminate; auto. injection A as <- <-. auto.
  - intros m' p f M' [A | [A | A]]; try discriminate. right. right. auto.
Qed.

(* Everything of r below n leaves, if it has not, and is testified. *)
Lemma settle : forall (c : msg -> Prop) tr r n acc, good c tr acc -> r <> i -> r < P -> n <= N ->
  (forall b, fst b = r -> snd b < n -> c b) ->
  exists acc', good c tr acc' /\ earlier_settled acc' (r, n).
Proof.
  intros c tr r n. induction n as [| n IH]; intros acc G Ri RP Le C.
  { exists acc. split; [exact G |]. intros b f [_ B]. simpl in B. lia. }
  destruct (IH acc G Ri RP ltac:(lia) ltac:(intros; apply C; auto)) as (acc1 & G1 & E1).
  set (m := (r, n)) in *.
  assert (I : inside m) by (unfold inside, m; simpl; repeat split; auto; lia).
  assert (Last : forall b, before b (r, S n) -> before b m \/ b = m).
  { intros [r' n'] [B1 B2]. unfold before, m. simpl in *. subst r'.
    destruct (Nat.eq_dec n' n) as [-> | Q]; [auto | left; split; [auto | lia]]. }
  destruct (in_dec step_eq (Dl m i true) full) as [F | NF].
  - (* flagged *)
    assert (exists acc2, good c tr acc2 /\ earlier_settled acc2 m /\ In (Lv m i true) acc2)
      as (acc2 & G2 & E2 & L2).
    { destruct (in_dec step_eq (Lv m i true) acc1) as [L | NL]; [exists acc1; auto |].
      exists (Lv m i true :: Lv m (witness (fst m)) true :: acc1). split; [| split].
      - apply leave_flagged; auto.
        + intros b f B Fb. apply (E1 b f B Fb).
        + intros g A. destruct (g_lv _ _ _ G1 m i g (proj1 I) A) as [[_ D] | [Q _]].
          * rewrite (dl_once full m i _ _ real F D) in NL. contradiction.
          * exact (proj1 (witness_other _) (eq_sym Q)).
      - intros b f B Fb. destruct (E1 b f B Fb). simpl. auto.
      - simpl. auto. }
    destruct (in_dec step_eq (Ak m (witness (fst m))) acc2) as [A | NA].
    + exists acc2. split; [exact G2 |]. intros b f B Fb. destruct (Last b B) as [B' | ->]; [auto |].
      rewrite (dl_once full m i _ _ real Fb F). auto.
    + exists (Ak m (witness (fst m)) :: Dl m (witness (fst m)) true :: acc2). split.
      * apply testify; auto.
      * intros b f B Fb. destruct (Last b B) as [B' | ->].
        -- destruct (E2 b f B' Fb). simpl. auto.
        -- rewrite (dl_once full m i _ _ real Fb F). simpl. auto.
  - destruct (in_dec step_eq (Dl m i false) full) as [F | NF'].
    + (* unflagged *)
      destruct (in_dec step_eq (Lv m i false) acc1) as [L | NL].
      * exists acc1. split; [exact G1 |]. intros b f B Fb. destruct (Last b B) as [B' | ->]; [auto |].
        destruct f; [contradiction |]. split; [auto | discriminate].
      * exists (Lv m i false :: acc1). split.
        -- apply leave_unflagged; auto. intros g A.
           destruct (g_lv _ _ _ G1 m i g (proj1 I) A) as [[_ D] | [Q _]].
           ++ rewrite (dl_once full m i _ _ real F D) in NL. contradiction.
           ++ exact (proj1 (witness_other _) (eq_sym Q)).
        -- intros b f B Fb. destruct (Last b B) as [B' | ->].
           ++ destruct (E1 b f B' Fb). simpl. auto.
           ++ destruct f; [contradiction |]. simpl. split; [auto | discriminate].
    + exists acc1. split; [exact G1 |]. intros b f B Fb. destruct (Last b B) as [B' | ->]; [auto |].
      destruct f; contradiction.
Qed.

(* The beginning: everybody but i submits everything. *)

Definition due (p n : nat) (m : msg) : Prop :=
  snd m < N /\ (fst m < p \/ (fst m = p /\ snd m < n)).

Definition begun (p n : nat) (acc : list step) : Prop :=
  run acc /\
  (forall s, In s acc -> exists m, s = Sub m (targets m) /\ fst m <> i /\ due p n m) /\
  (forall m, fst m <> i -> due p n m -> In (Sub m (targets m)) acc).

Lemma begin_one : forall p n acc, begun p n acc -> p <> i -> n < N ->
  begun p (S n) (Sub (p, n) (targets (p, n)) :: acc).
Proof.
  intros p n acc (R & A & B) Pi L. repeat split.
  - constructor; [exact R |]. simpl. split; [| split].
    + intros t T. destruct (A _ T) as (m & E & _ & D). injection E as <- _.
      unfold due in D. simpl in D. lia.
    + intros T. destruct (in_targets _ _ T) as [[Q _] | [Q _]]; [exact (Pi Q) |].
      exact (proj2 (witness_other p) (eq_sym Q)).
    + intros n' L'. exists (targets (p, n')). apply B; [exact Pi |]. unfold due. simpl. lia.
  - intros s [<- | S].
    + exists (p, n). unfold due. simpl. repeat split; auto; lia.
    + destruct (A s S) as (m & E & M & D). exists m. repeat split; auto; unfold due in *; lia.
  - intros [p' n'] M D. simpl in M. unfold due in D. simpl in D.
    destruct (Nat.eq_dec p' p) as [-> | Q]; [destruct (Nat.eq_dec n' n) as [-> | Q'] |].
    + simpl. auto.
    + right. apply B; [exact M |]. unfold due. simpl. lia.
    + right. apply B; [exact M |]. unfold due. simpl. lia.
Qed.

Lemma begin_process : forall p n acc, n <= N -> begun p 0 acc -> p <> i -> exists acc', begun p n acc'.
Proof.
  intros p n acc. induction n as [| n IH]; intros L B Pi; [eauto |].
  destruct (IH ltac:(lia) B Pi) as [acc' B']. eauto using begin_one.
Qed.

Lemma begin_all : forall p, exists acc, begun p 0 acc.
Proof.
  induction p as [| p [acc B]].
  - exists []. repeat split; [constructor | intros s [] |]. intros m _ D. unfold due in D. lia.
  - assert (Next : forall n acc', (p = i \/ n = N) -> begun p n acc' -> begun (S p) 0 acc').
    { intros n acc' Q (R & A & C). repeat split; auto.
      - intros s S. destruct (A s S) as (m & E & M & D). exists m.
        repeat split; auto; unfold due in *; lia.
      - intros m M D. apply C; auto. unfold due in *. destruct Q as [-> | ->]; lia. }
    destruct (Nat.eq_dec p i) as [Q | Q]; [eauto |].
    destruct (begin_process p N acc (le_n N) B Q) as [acc' B']. eauto.
Qed.

Lemma good_start : forall c, exists acc, good c [] acc.
Proof.
  intros c. destruct (begin_all P) as (acc & R & A & B). exists acc.
  assert (Only : forall s, In s acc -> exists m, s = Sub m (targets m) /\ fst m <> i).
  { intros s S. destruct (A s S) as (m & E & M & _). eauto. }
  constructor; auto.
  - clear R A B. induction acc as [| s acc IH]; [reflexivity |].
    destruct (Only s (or_introl eq_refl)) as (m & -> & M). simpl.
    apply Nat.eqb_neq in M. rewrite M. apply IH. intros t T. apply Only. right. exact T.
  - intros m t M S. destruct (Only _ S) as (m' & E & _). injection E as -> ->. reflexivity.
  - intros m (Mi & MP & MN). apply B; auto. unfold due. lia.
  - intros a b y t -> Y z p f D.
    destruct (Only (Dl z p f)) as (m & E & _); [apply in_or_app; simpl; auto | discriminate].
  - intros m p f _ L. destruct (Only _ L) as (m' & E & _). discriminate.
  - intros m _ L. destruct (Only _ L) as (m' & E & _). discriminate.
  - intros m p f _ _ L. destruct (Only _ L) as (m' & E & _). discriminate.
  - intros m p _ L. destruct (Only _ L) as (m' & E & _). discriminate.
  - intros m p f _ L. destruct (Only _ L) as (m' & E & _). discriminate.
Qed.

(* One step of the real run. *)

Lemma good_skip : forall c s tr acc, visible i s = false -> good c tr acc -> good c (s :: tr) acc.
Proof. intros c s tr acc S G. destruct G. constructor; auto. simpl. rewrite S. auto. Qed.

Lemma good_push : forall c s tr acc, visible i s = true -> (forall m p f, s <> Lv m p f) ->
  allowed acc s -> good c tr acc -> good c (s :: tr) (s :: acc).
Proof.
  intros c s tr acc S NL A G. destruct G. constructor.
  - simpl. rewrite S. f_equal. auto.
  - constructor; auto.
  - intros m t M [-> | T]; auto. simpl in S. apply Nat.eqb_eq in S. contradiction.
  - intros m I. right. auto.
  - apply quiet_cons; auto. intros y t ->. simpl in S. apply Nat.eqb_eq. exact S.
  - intros m p f M [-> | L]; [destruct (NL m p f eq_refl) |].
    destruct (g_lv0 m p f M L) as [B | [B C]]; [auto |]. right. simpl. auto.
  - intros m M [-> | L]; [destruct (NL m i true eq_refl) |]. right. auto.
  - intros m p f M Pi [-> | D]; [simpl in S; apply Nat.eqb_eq in S; contradiction |].
    destruct (g_dl0 m p f M Pi D). simpl. auto.
  - intros m p M [-> | D]; [simpl in S; apply Nat.eqb_eq in S; contradiction |]. auto.
  - intros m p f M [-> | L]; [destruct (NL m p f eq_refl) |]. right. auto.
Qed.

Section Step.
Variables (tr : list step) (s : step) (a : list step).
Hypothesis whole : full = a ++ s :: tr.

Lemma in_full : forall s', In s' tr -> In s' full.
Proof. intros s' A. rewrite whole. apply in_or_app. simpl. auto. Qed.

Lemma runs : run tr /\ allowed tr s.
Proof.
  assert (R : run (s :: tr)) by (apply (run_suffix a); rewrite <- whole; exact real).
  inversion R. auto.
Qed.

Lemma to_acc : forall c acc s', good c tr acc -> visible i s' = true -> In s' tr -> In s' acc.
Proof. intros c acc s' G. apply visible_in. symmetry. exact (g_view _ _ _ G). Qed.

Lemma to_tr : forall c acc s', good c tr acc -> visible i s' = true -> In s' acc -> In s' tr.
Proof. intros c acc s' G. apply visible_in. exact (g_view _ _ _ G). Qed.

Ltac vis := simpl; apply Nat.eqb_eq; auto.

(* Whatever i delivers of one sender comes in order: earlier ones are there. *)
Lemma chain : forall m f b g, s = Dl m i f -> before b m -> In (Dl b i g) full -> In (Dl b i g) tr.
Proof.
  intros m f b g E B D. destruct runs as [R A]. rewrite E in A. destruct A as (L & _ & G).
  destruct (lv_sub tr m i f R L) as (t & T & _).
  destruct B as [B1 B2]. destruct (sub_lower tr m t (snd b) R T B2) as [t' T'].
  rewrite <- B1 in T'. rewrite <- surjective_pairing in T'.
  destruct (lv_sub full b i g real (dl_lv full b i g real D)) as (u & U & J).
  rewrite (sub_unique full b u t' real U (in_full _ T')) in J.
  destruct (G b t' (conj B1 B2) T' J) as [g' D'].
  rewrite (dl_once full b i g g' real D (in_full _ D')). exact D'.
Qed.

Lemma push_delivery : forall c acc m f, s = Dl m i f -> fst m <> i -> good c tr acc ->
  In (Lv m i f) acc -> good c (s :: tr) (s :: acc).
Proof.
  intros c acc m f E Mi G L. apply good_push; auto; [rewrite E; vis | rewrite E; discriminate |].
  destruct runs as [R A]. rewrite E in A |- *. simpl in A |- *. split; [exact L |]. split.
  - intros g D. apply (proj1 (proj2 A) g). apply (to_tr c acc); auto. vis.
  - intros b t B T J. rewrite (g_sub _ _ _ G b t (foreign b m B Mi) T) in J.
    destruct (in_targets b i J) as [[_ [g D]] | [Q _]];
      [| destruct (proj1 (witness_other _) (eq_sym Q))].
    exists g. apply (to_acc c acc); auto; [vis |]. exact (chain m f b g E B D).
Qed.

Lemma own_copy : forall c acc m p f, s = Lv m p f -> fst m = i -> good c tr acc ->
  good c (s :: tr) (Dl m p f :: s :: acc).
Proof.
  intros c acc m p f E M G. destruct runs as [R A]. rewrite E in A |- *. simpl in A.
  destruct A as ((t & T & J) & Once & Earlier & Release & Flag).
  assert (Pi : p <> i) by (intros ->; apply (sub_foreign tr m t R T); rewrite M; exact J).
  assert (NL : forall g, ~ In (Lv m p g) acc).
  { intros g L. apply (Once g). apply (to_tr c acc); auto. vis. }
  assert (Own : forall b, before b m -> fst b = i) by (intros b [B _]; rewrite B; exact M).
  assert (R1 : run (Lv m p f :: acc)).
  { constructor; [exact (g_run _ _ _ G) |]. simpl. split; [| split; [exact NL |]].
    { exists t. split; [apply (to_acc c acc); auto; vis | exact J]. }
    split; [| split; [| split]].
    - intros b u B U Ju. pose proof (Own b B).
      destruct (Earlier b u B) as [g L]; [apply (to_tr c acc); auto; vis | exact Ju |].
      exists g. apply (to_acc c acc); auto. vis.
    - intros z Z Zp. rewrite M in *.
      destruct (Release z (seen_view i acc tr z m (g_view _ _ _ G) M Z) Zp) as (n & U & H).
      exists n. split; [exact U |].
      destruct H as [H | H]; [left | right]; apply (to_acc c acc); auto; vis.
    - intros F b u e U Ub Je Ne. assert (fst b = i) by (destruct U as [U _]; rewrite U; exact M).
      apply (to_acc c acc); auto; [vis |].
      apply (proj1 Flag F b u e U); auto. apply (to_tr c acc); auto. vis.
    - intros K. apply (proj2 Flag). intros b u e U Ub Je Ne.
      assert (fst b = i) by (destruct U as [U _]; rewrite U; exact M).
      apply (to_tr c acc); auto; [vis |].
      apply (K b u e U); auto. apply (to_acc c acc); auto. vis. }
  assert (R2 : run (Dl m p f :: Lv m p f :: acc)).
  { constructor; [exact R1 |]. simpl. split; [auto |]. split.
    - intros g [D | D]; [discriminate |]. exact (NL g (dl_lv acc m p g (g_run _ _ _ G) D)).
    - intros b u B [U | U] Ju; [discriminate |]. pose proof (Own b B).
      destruct (Earlier b u B) as [g L]; [apply (to_tr c acc); auto; vis | exact Ju |].
      exists g. right. apply (g_own _ _ _ G); auto. apply (to_acc c acc); auto. vis. }
  assert (Mt : (fst m =? i) = true) by (apply Nat.eqb_eq; exact M).
  assert (Pf : (p =? i) = false) by (apply Nat.eqb_neq; exact Pi).
  destruct G. constructor; auto.
  - simpl. rewrite Mt, Pf. f_equal. auto.
  - intros m' u M' [U | [U | U]]; try discriminate; auto.
  - intros m' I. right. right. auto.
  - intros x b y u X Y. destruct x as [| x1 [| x2 x]]; simpl in X; try discriminate.
    injection X as _ _ X. exact (g_quiet0 x b y u X Y).
  - intros m' q g M' [L | [L | L]]; try discriminate; [injection L as <- <- <-; contradiction |].
    destruct (g_lv0 m' q g M' L) as [B | [B C]]; [auto |]. right. simpl. auto.
  - intros m' M' [L | [L | L]]; try discriminate; [injection L as <- _ _; contradiction |].
    right. right. auto.
  - intros m' q g M' Qi [D | [D | D]]; try discriminate; [injection D as <- _ _; contradiction |].
    destruct (g_dl0 m' q g M' Qi D). simpl. auto.
  - intros m' q M' [D | [D | D]]; try discriminate. auto.
  - intros m' q g M' [L | [L | L]]; try discriminate.
    + injection L as <- <- <-. simpl. auto.
    + right. right. auto.
Qed.

End Step.

Definition bounded : Prop :=
  forall m f, (In (Dl m i f) full \/ In (Pm m i) full) -> fst m < P /\ snd m < N.

Ltac vis := simpl; apply Nat.eqb_eq; auto.

Lemma one_step : forall tr s a, full = a ++ s :: tr -> bounded -> forall acc,
  good (fun m => permitted tr m i) tr acc ->
  exists acc', good (fun m => permitted (s :: tr) m i) (s :: tr) acc'.
Proof.
  intros tr s a whole limits acc G0. set (c := fun m => permitted (s :: tr) m i).
  assert (G : good c tr acc).
  { apply (good_cover (fun m => permitted tr m i)); [| exact G0].
    intros m (n & U & H). exists n. split; [exact U |]. simpl. tauto. }
  destruct (visible i s) eqn:V; [| exists acc; apply good_skip; auto].
  assert (Here : In s full) by (rewrite whole; apply in_or_app; simpl; auto).
  destruct (runs tr s a whole) as [R A].
  destruct s as [m t | m p f | m p f | m p | m p]; simpl in V; apply Nat.eqb_eq in V.
  - exists (Sub m t :: acc). apply good_push; auto; [vis | discriminate |].
    destruct A as (A1 & A2 & A3). simpl. split; [| split; [exact A2 |]].
    + intros u U. apply (A1 u). apply (to_tr tr c acc); auto. vis.
    + intros n L. destruct (A3 n L) as [u U]. exists u. apply (to_acc tr c acc); auto. vis.
  - exists (Dl m p f :: Lv m p f :: acc). exact (own_copy tr _ a whole c acc m p f eq_refl V G).
  - subst p.
    assert (Mi : fst m <> i).
    { intros Q. destruct (lv_sub full m i f real (dl_lv full m i f real Here)) as (t & T & J).
      apply (sub_foreign full m t real T). rewrite Q. exact J. }
    destruct (limits m f (or_introl Here)) as [BP BN].
    assert (I : inside m) by (repeat split; auto).
    assert (exists acc1, good c tr acc1 /\ In (Lv m i f) acc1) as (acc1 & G1 & L1).
    { destruct f.
      - destruct (in_dec step_eq (Lv m i true) acc) as [L | NL]; [exists acc; auto |].
        exists (Lv m i true :: Lv m (witness (fst m)) true :: acc). split; [| simpl; auto].
        apply leave_flagged; auto.
        + intros b g B D. apply (dl_lv acc b i g (g_run _ _ _ G)).
          apply (to_acc tr c acc); auto; [vis |]. exact (chain tr _ a whole m true b g eq_refl B D).
        + intros g L. destruct (g_lv _ _ _ G m i g Mi L) as [[_ D] | [Q _]].
          * rewrite (dl_once full m i _ _ real Here D) in NL. contradiction.
          * exact (proj1 (witness_other _) (eq_sym Q)).
      - destruct (settle c tr (fst m) (S (snd m)) acc G Mi BP BN) as (acc1 & G1 & E1).
        + intros b B1 B2. exists m. split; [split; [auto | lia] |]. simpl. auto.
        + exists acc1. split; [exact G1 |]. apply (E1 m false); [split; simpl; lia | exact Here]. }
    exists (Dl m i f :: acc1). exact (push_delivery tr _ a whole c acc1 m f eq_refl Mi G1 L1).
  - exists (Ak m p :: acc). apply good_push; auto; [vis | discriminate |].
    destruct A as [f D]. exists f. apply (g_own _ _ _ G); auto.
    apply (to_acc tr c acc); auto; [vis |]. apply dl_lv; auto.
  - subst p. destruct A as (Mi & _ & _).
    destruct (limits m true (or_intror Here)) as [BP BN].
    destruct (settle c tr (fst m) (S (snd m)) acc G Mi BP BN) as (acc1 & G1 & E1).
    { intros b B1 B2. exists m. split; [split; [auto | lia] |]. simpl. auto. }
    exists (Pm m i :: acc1). apply good_push; auto; [vis | discriminate |].
    simpl. split; [exact Mi |]. split.
    + exists (targets m). apply (g_all _ _ _ G1). repeat split; auto.
    + intros b t e [U1 U2] T J Ne.
      rewrite (g_sub _ _ _ G1 b t ltac:(intros Q; apply Mi; rewrite <- U1; exact Q) T) in J.
      destruct (in_targets b e J) as [[Q _] | [-> D]]; [contradiction |].
      apply (E1 b true); auto. split; simpl; [exact U1 | lia].
Qed.

Lemma all_steps : bounded -> forall tr a, full = a ++ tr ->
  exists acc, good (fun m => permitted tr m i) tr acc.
Proof.
  intros B tr. induction tr as [| s tr IH]; intros a E; [apply good_start |].
  destruct (IH (a ++ [s])) as [acc G]; [rewrite E, <- app_assoc; reflexivity |].
  exact (one_step tr s a E B acc G).
Qed.

End Necessity.

Lemma bounds : forall full i, exists P N,
  forall m f, (In (Dl m i f) full \/ In (Pm m i) full) -> fst m < P /\ snd m < N.
Proof.
  intros full i. induction full as [| s full (P & N & B)].
  - exists 0, 0. intros m f [[] | []].
  - assert (M : exists m, forall n f, s = Dl n i f \/ s = Pm n i -> n = m).
    { destruct s as [m t | m p f | m p f | m p | m p]; exists m; intros n g [H | H];
        try discriminate; injection H; auto. }
    destruct M as [m M]. exists (P + S (fst m)), (N + S (snd m)).
    intros n f H.
    assert ((s = Dl n i f \/ s = Pm n i) \/ (In (Dl n i f) full \/ In (Pm n i) full)) as [Q | Q]
      by (simpl in H; tauto).
    + rewrite (M n f Q). lia.
    + destruct (B n f Q). lia.
Qed.

(* i lacks the permit of z. In a run that it cannot tell from the real one, z is also for j, and is
   still under way to it. *)
Theorem missing_permit_is_necessary : forall full i k j z,
  run full -> i <> k -> i <> j -> k <> j -> fst z = k ->
  In (Dl z i true) full -> ~ permitted full z i ->
  exists other, run other /\ view i other = view i full /\
    (exists t, In (Sub z t) other /\ In j t) /\ In (Lv z j true) other /\
    forall f, ~ In (Dl z j f) other.
Proof.
  intros full i k j z R Nik Nij Nkj Z D NP. destruct (bounds full i) as (P & N & B).
  destruct (all_steps full R i k j (conj Nik (conj Nij Nkj)) P N B full [] eq_refl) as [other G].
  assert (Zi : fst z <> i) by (rewrite Z; auto).
  assert (W : witness k j (fst z) = j).
  { unfold witness. rewrite Z. destruct (Nat.eqb_spec k j); [contradiction | reflexivity]. }
  assert (L : In (Lv z i true) other).
  { apply dl_lv; [exact (g_run _ _ _ _ _ _ _ _ _ G) |].
    apply (visible_in i full other); [symmetry; exact (g_view _ _ _ _ _ _ _ _ _ G) | | exact D].
    simpl. apply Nat.eqb_refl. }
  exists other. split; [exact (g_run _ _ _ _ _ _ _ _ _ G) |].
  split; [exact (g_view _ _ _ _ _ _ _ _ _ G) |].
  pose proof (g_both _ _ _ _ _ _ _ _ _ G z Zi L) as L'. rewrite W in L'. split; [| split; [exact L' |]].
  - exact (lv_sub other z j true (g_run _ _ _ _ _ _ _ _ _ G) L').
  - intros f D'. destruct (g_dl _ _ _ _ _ _ _ _ _ G z j f Zi ltac:(auto) D') as [_ A].
    destruct (g_ak _ _ _ _ _ _ _ _ _ G z _ Zi A) as [_ C]. exact (NP C).
Qed.

(* So if i let a copy of y go to j, which it submitted after it had delivered z, the network could
   bring it there before z, although z happens before it. *)
Corollary letting_go_breaks_causality : forall full i k j z y,
  run full -> i <> k -> i <> j -> k <> j -> fst z = k -> fst y = i ->
  In (Dl z i true) full -> ~ permitted full z i -> seen full z y i ->
  exists other, run other /\ view i other = view i full /\ seen other z y i /\
    (exists t, In (Sub z t) other /\ In j t) /\
    forall f g, ~ In (Dl z j g) (Dl y j f :: Lv y j f :: other).
Proof.
  intros full i k j z y R Nik Nij Nkj Z Y D NP S.
  destruct (missing_permit_is_necessary full i k j z R Nik Nij Nkj Z D NP)
    as (other & R' & V & T & _ & ND).
  exists other. split; [exact R' |]. split; [exact V |]. split; [| split; [exact T |]].
  - exact (seen_view i full other z y (eq_sym V) Y S).
  - intros f g [A | [A | A]]; [injection A; congruence | discriminate | exact (ND g A)].
Qed.

(* There are such runs. *)
Example it_happens : exists full,
  run full /\ In (Dl (0, 0) 1 true) full /\ ~ permitted full (0, 0) 1.
Proof.
  exists [Dl (0, 0) 1 true; Lv (0, 0) 1 true; Sub (0, 0) [1; 2]].
  assert (R1 : run [Sub (0, 0) [1; 2]]).
  { constructor; [constructor |]. simpl. split; [auto |].
    split; [intros [A | [A | []]]; discriminate | lia]. }
  assert (R2 : run [Lv (0, 0) 1 true; Sub (0, 0) [1; 2]]).
  { constructor; [exact R1 |]. simpl. split; [| split; [| split; [| split; [| split]]]].
    - exists [1; 2]. simpl. auto.
    - intros g [A | []]. discriminate.
    - intros b t [_ B] _ _. simpl in B. lia.
    - intros z (a & b & t & f & A & D) _. destruct a as [| x a]; simpl in A; injection A as _ A.
      + subst b. destruct D.
      + destruct a; discriminate.
    - discriminate.
    - intros K. destruct (K (0, 0) [1; 2] 2) as [A | []]; simpl; auto; try discriminate.
      split; simpl; auto. }
  split; [| split; [simpl; auto |]].
  - constructor; [exact R2 |]. simpl. split; [auto |]. split.
    + intros g [A | [A | []]]; discriminate.
    + intros b t [_ B] _ _. simpl in B. lia.
  - intros (n & _ & [[A | [A | [A | []]]] | [A | [A | [A | []]]]]); discriminate.
Qed.
