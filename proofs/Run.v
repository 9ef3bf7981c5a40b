(* Runs: what happens, when, and what happens before what.

   A run says for every instant 0, 1, 2, ... what happens then: at most one thing. Instants order
   events and measure nothing; clocks come in Bound.v. Runs may be infinite. *)

Require Import Arith Lia.

Definition proc := nat.
Definition msg := nat.

Inductive event :=
| Submit (m : msg)               (* its sender's application hands m over *)
| Leave (m : msg) (j : proc)     (* the copy of m to j is transmitted for the first time *)
| Deliver (m : msg) (j : proc)   (* the application at j is handed m *)
| Nothing.                       (* nothing that concerns us here *)

Record run := {
  sender : msg -> proc;
  target : msg -> proc -> Prop;
  what : nat -> event
}.

Section Run.
Variable r : run.

(* e has happened before the instant t. *)
Definition before (e : event) (t : nat) : Prop := exists s, s < t /\ what r s = e.

(* p's application takes part in e. *)
Definition of_process (p : proc) (e : event) : Prop :=
  match e with
  | Submit m => sender r m = p
  | Deliver _ j => j = p
  | _ => False
  end.

(* What every protocol here does, whatever its order. *)
Record well_formed : Prop := {
  submitted_once : forall m s t, what r s = Submit m -> what r t = Submit m -> s = t;
  delivered_once : forall m j s t, what r s = Deliver m j -> what r t = Deliver m j -> s = t;
  leaves_after_submission : forall m j t, what r t = Leave m j ->
    target r m j /\ j <> sender r m /\ before (Submit m) t;
  delivered_after_leaving : forall m j t, what r t = Deliver m j -> j <> sender r m ->
    before (Leave m j) t;
  own_after_submission : forall m t, what r t = Deliver m (sender r m) -> before (Submit m) t;
  (* Messages to oneself are delivered inside the submission: before whatever comes next there. *)
  own_at_once : forall m s t, what r s = Submit m -> target r m (sender r m) -> s < t ->
    of_process (sender r m) (what r t) -> before (Deliver m (sender r m)) (S t)
}.

(* Happens-before: the sender of y had submitted or delivered x when it submitted y, or a chain of
   such steps. Transmission and arrival play no part in it. *)
Definition step (x y : msg) : Prop :=
  exists t, what r t = Submit y /\
    (before (Deliver x (sender r y)) t \/ (sender r x = sender r y /\ before (Submit x) t)).

Inductive hb (x : msg) : msg -> Prop :=
| hb_step : forall y, step x y -> hb x y
| hb_more : forall v y, hb x v -> step v y -> hb x y.

Definition hbe (x y : msg) : Prop := x = y \/ hb x y.

Definition causal_delivery : Prop :=
  forall x y j s t, hb x y -> what r s = Deliver x j -> what r t = Deliver y j -> s < t.

(* The same without gaps: what comes before y, and is addressed to j, is there when y is. *)
Definition causal_delivery_without_gaps : Prop :=
  forall x y j t, hb x y -> target r x j -> what r t = Deliver y j -> before (Deliver x j) t.

(* Copies from one sender to one receiver are delivered in the order of submission. *)
Definition fifo : Prop :=
  forall x y j s s' t, sender r x = sender r y -> target r x j ->
    what r s = Submit x -> what r s' = Submit y -> s < s' ->
    what r t = Deliver y j -> before (Deliver x j) t.

Lemma hb_trans : forall x y z, hb x y -> hb y z -> hb x z.
Proof. intros x y z H K. induction K; eauto using hb_more. Qed.

Lemma before_later : forall e s t, before e s -> s <= t -> before e t.
Proof. intros e s t [u [H K]] L. exists u. split; [lia | exact K]. Qed.

Section WellFormed.
Hypothesis wf : well_formed.

Lemma submitted_before_delivered : forall m j t, what r t = Deliver m j -> before (Submit m) t.
Proof.
  intros m j t H. destruct (Nat.eq_dec j (sender r m)) as [-> | N].
  - exact (own_after_submission wf _ _ H).
  - destruct (delivered_after_leaving wf _ _ _ H N) as [s [L S]].
    destruct (leaves_after_submission wf _ _ _ S) as (_ & _ & B).
    eapply before_later; [exact B | lia].
Qed.

Lemma submitted_before_leaving : forall m j t, what r t = Leave m j -> before (Submit m) t.
Proof. intros m j t H. apply (leaves_after_submission wf _ _ _ H). Qed.

Lemma step_submitted : forall x y t, step x y -> what r t = Submit y -> before (Submit x) t.
Proof.
  intros x y t [u [U [[d [D E]] | [_ B]]]] T;
    rewrite (submitted_once wf _ _ _ T U).
  - eapply before_later; [exact (submitted_before_delivered _ _ _ E) | lia].
  - exact B.
Qed.

(* What happens before was submitted before. *)
Lemma hb_submitted : forall x y t, hb x y -> what r t = Submit y -> before (Submit x) t.
Proof.
  intros x y t H. revert t. induction H as [y S | v y H IH S]; intros t T.
  - exact (step_submitted _ _ _ S T).
  - destruct (step_submitted _ _ _ S T) as [s [L V]].
    eapply before_later; [exact (IH s V) | lia].
Qed.

Lemma hb_irreflexive : forall x, ~ hb x x.
Proof.
  assert (N : forall t x, what r t = Submit x -> ~ hb x x).
  { intros t x T H. destruct (hb_submitted _ _ _ H T) as [s [L S]].
    pose proof (submitted_once wf _ _ _ S T). lia. }
  intros x H. assert (T : exists t, what r t = Submit x).
  { inversion H as [? [t [T _]] | ? ? _ [t [T _]]]; eauto. }
  destruct T as [t T]. exact (N t x T H).
Qed.

(* Whoever passes x on without having sent it has delivered something that brought it; and the
   first such message is never one to oneself, because that one, too, came after another. *)
Lemma brought_by : forall x y t, hb x y -> sender r x <> sender r y -> what r t = Submit y ->
  exists v d, what r d = Deliver v (sender r y) /\ d < t /\ hbe x v.
Proof.
  intros x y t H. revert t. induction H as [y S | v y H IH S]; intros t N T;
    destruct S as [u [U [[d [D E]] | [Q [s [L V]]]]]]; rewrite (submitted_once wf _ _ _ T U) in *.
  - exists x, d. unfold hbe. auto.
  - contradiction.
  - exists v, d. unfold hbe. auto.
  - rewrite <- Q in *. destruct (IH s N V) as (w & d & D & L' & X).
    exists w, d. repeat split; auto. lia.
Qed.

End WellFormed.

Lemma without_gaps_is_causal : well_formed ->
  (forall m j t, what r t = Deliver m j -> target r m j) ->
  causal_delivery_without_gaps -> causal_delivery.
Proof.
  intros wf A G x y j s t H S T.
  destruct (G x y j t H (A _ _ _ S) T) as [u [L U]].
  rewrite (delivered_once wf _ _ _ _ S U). exact L.
Qed.

End Run.
