(* The ordered rule has a bound, it is tight, and the plain rule of SPS has none.

   Here everything has a time on a clock, in whole multiples of some unit. Nothing is lost, a packet
   takes between dmin and dmax, steps take no time, and whatever may be sent is sent at once. *)

Require Import ZArith Lia Wf_nat ZifyNat.
Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.
Open Scope Z_scope.
Arguments Z.mul : simpl never.
Arguments Z.add : simpl never.
Arguments Z.of_nat : simpl never.
Arguments Nat.div : simpl never.
Arguments Nat.modulo : simpl never.
Arguments Nat.eqb : simpl never.
Arguments Nat.mul : simpl never.
Arguments Nat.sub : simpl never.

Definition proc := nat.
Definition msg := nat.

Definition earliest (P : Z -> Prop) (t : Z) : Prop := P t /\ forall u, P u -> t <= u.

Record timed := {
  sender : msg -> proc;
  number : msg -> nat;               (* among the messages of its sender *)
  target : msg -> proc -> Prop;      (* others than the sender *)
  submitted : msg -> Z;
  leaves : msg -> proc -> Z;         (* for a copy, by its target *)
  arrives : msg -> proc -> Z;
  delivered : msg -> proc -> Z;
  acked : msg -> proc -> Z;          (* when the acknowledgement is back at the sender *)
  permit : msg -> proc -> Z;         (* since when the target has permission concerning it *)
  past : msg -> msg -> Prop          (* past x m: x was delivered where m was submitted, before that *)
}.

Section Timed.
Variables (r : timed) (dmin dmax : Z).

Definition up_to (b x : msg) : Prop := sender r b = sender r x /\ (number r b <= number r x)%nat.
Definition earlier (b x : msg) : Prop := sender r b = sender r x /\ (number r b < number r x)%nat.

(* When its sender k knows that it has settled up to x, as far as i is concerned. *)
Definition settled_by (x : msg) (i : proc) (t : Z) : Prop :=
  leaves r x i <= t /\
  forall b e, up_to b x -> target r b e -> e <> i -> acked r b e <= t.

Record punctual : Prop := {
  delays : 0 <= dmin <= dmax;
  numbered : forall x y, sender r x = sender r y -> number r x = number r y -> x = y;
  submitted_in_order : forall x y, earlier x y -> submitted r x <= submitted r y;
  leave_then_arrive : forall m j, target r m j ->
    leaves r m j + dmin <= arrives r m j <= leaves r m j + dmax;
  (* FIFO: delivered when it is there, and everything from its sender to that target before it *)
  deliver_in_order : forall m j, target r m j ->
    earliest (fun t => forall b, up_to b m -> target r b j -> arrives r b j <= t) (delivered r m j);
  ack_back : forall m j, target r m j ->
    delivered r m j + dmin <= acked r m j <= delivered r m j + dmax;
  permit_there : forall x i, target r x i ->
    exists s, earliest (settled_by x i) s /\ s + dmin <= permit r x i <= s + dmax;
  past_delivered : forall x m, past r x m ->
    target r x (sender r m) /\ delivered r x (sender r m) <= submitted r m;
  delivered_past : forall x m, target r x (sender r m) ->
    delivered r x (sender r m) < submitted r m -> past r x m
}.

(* The rule of SPS: each copy by itself, as soon as no permit is missing but of its target. *)
Definition plain_rule : Prop := forall m j, target r m j ->
  earliest (fun t => submitted r m <= t /\
    forall x, past r x m -> sender r x <> j -> permit r x (sender r m) <= t) (leaves r m j).

(* The ordered rule: whole messages, after all earlier ones, as soon as no permit is missing but of
   a single target. *)
Definition ordered_rule : Prop := forall m j, target r m j ->
  earliest (fun t => submitted r m <= t /\
    (forall b e, earlier b m -> target r b e -> leaves r b e <= t) /\
    forall x, past r x m -> (sender r x <> j \/ exists e, target r m e /\ e <> j) ->
      permit r x (sender r m) <= t) (leaves r m j).

Section Theorem_.
Hypothesis world : punctual.
Hypothesis rule : ordered_rule.

Lemma whole : forall m j e, target r m j -> target r m e -> leaves r m e <= leaves r m j.
Proof.
  intros m j e J E. destruct (Nat.eq_dec e j) as [-> | N]; [lia |].
  destruct (rule m e E) as [_ Least]. apply Least.
  destruct (rule m j J) as [[A [B C]] _]. repeat split; auto.
  intros x P _. apply C; auto. right. exists e. auto.
Qed.

(* Everything up to x leaves with x or before it: what the plain rule lacks. *)
Lemma nothing_is_overtaken : forall b x j e,
  up_to b x -> target r b e -> target r x j -> leaves r b e <= leaves r x j.
Proof.
  intros b x j e [S N] B J. destruct (Nat.eq_dec (number r b) (number r x)) as [Q | Q].
  - assert (b = x) as -> by (apply (numbered world); auto). apply whole; auto.
  - destruct (rule x j J) as [[_ [A _]] _]. apply A; [split; [auto | lia] | auto].
Qed.

Lemma delivered_by : forall b e, target r b e ->
  leaves r b e + dmin <= delivered r b e <= leaves r b e + dmax.
Proof.
  intros b e J. destruct (deliver_in_order world b e J) as [A Least]. split.
  - pose proof (leave_then_arrive world b e J). specialize (A b (conj eq_refl (le_n _)) J). lia.
  - apply Least. intros c C Jc. pose proof (leave_then_arrive world c e Jc).
    pose proof (nothing_is_overtaken c b e e C Jc J). lia.
Qed.

Lemma permit_by : forall x i, target r x i -> permit r x i <= leaves r x i + 3 * dmax.
Proof.
  intros x i J. destruct (permit_there world x i J) as (s & [_ Least] & _ & P).
  pose proof (delays world).
  assert (s <= leaves r x i + 2 * dmax); [| lia]. apply Least. split; [lia |].
  intros b e U E _. pose proof (ack_back world b e E). pose proof (delivered_by b e E).
  pose proof (nothing_is_overtaken b x i e U E J). lia.
Qed.

Theorem ordered_rule_leaves_in_time : forall m j, target r m j ->
  leaves r m j <= submitted r m + 3 * dmax - dmin.
Proof.
  intros m. remember (number r m) as n eqn:E. revert m E.
  induction n as [n IH] using lt_wf_ind. intros m -> j J.
  pose proof (delays world). destruct (rule m j J) as [_ Least]. apply Least. repeat split.
  - lia.
  - intros b e B Je. specialize (IH _ (proj2 B) b eq_refl e Je).
    pose proof (submitted_in_order world _ _ B). lia.
  - intros x P _. destruct (past_delivered world _ _ P) as [Jx D].
    pose proof (permit_by _ _ Jx). pose proof (delivered_by _ _ Jx). lia.
Qed.

Theorem ordered_rule_delivers_in_time : forall m j, target r m j ->
  delivered r m j <= submitted r m + 4 * dmax - dmin.
Proof.
  intros m j J. pose proof (delivered_by _ _ J). pose proof (ordered_rule_leaves_in_time _ _ J). lia.
Qed.

End Theorem_.
End Timed.

(* The bound is tight. 0 sends message 0 to 2 and message 1 to 1, which takes dmin; all else takes
   dmax. 1 submits message 2 to 3 when it delivers message 1. *)
Section Tight.
Variables dmin dmax : Z.
Local Open Scope nat_scope.

Definition slowest : timed := {|
  sender := fun m => match m with 0 => 0 | 1 => 0 | 2 => 1 | _ => m + 10 end;
  number := fun m => match m with 1 => 1 | _ => 0 end;
  target := fun m j => (m = 0 /\ j = 2) \/ (m = 1 /\ j = 1) \/ (m = 2 /\ j = 3);
  submitted := fun m => match m with 2 => dmin | _ => 0%Z end;
  leaves := fun m _ => match m with 2 => (3 * dmax)%Z | _ => 0%Z end;
  arrives := fun m _ => match m with 0 => dmax | 1 => dmin | _ => (4 * dmax)%Z end;
  delivered := fun m _ => match m with 0 => dmax | 1 => dmin | _ => (4 * dmax)%Z end;
  acked := fun m _ => match m with 0 => (2 * dmax)%Z | 1 => (dmin + dmax)%Z | _ => (5 * dmax)%Z end;
  permit := fun m _ => match m with 0 => dmax | 1 => (3 * dmax)%Z | _ => (4 * dmax)%Z end;
  past := fun x m => x = 1 /\ m = 2
|}.

Ltac cases := intros; simpl in *;
  repeat match goal with
  | H : _ \/ _ |- _ => destruct H
  | H : _ /\ _ |- _ => destruct H
  | H : exists _, _ |- _ => destruct H
  end; subst; simpl in *.

Lemma slowest_is_punctual : (0 <= dmin <= dmax)%Z -> punctual slowest dmin dmax.
Proof.
  intros possible. constructor.
  - exact possible.
  - intros x y; simpl. destruct x as [|[|[|x]]]; destruct y as [|[|[|y]]]; simpl; lia.
  - intros x y [S N]; revert S N; simpl.
    destruct x as [|[|[|x]]]; destruct y as [|[|[|y]]]; simpl; lia.
  - intros m j J. simpl in J. cases; lia.
  - intros m j J. split.
    + intros b [S N] Jb. cases; lia.
    + intros u U. specialize (U m (conj eq_refl (le_n _)) J). cases; lia.
  - intros m j J. simpl in J. cases; lia.
  - intros x i J. simpl in J. destruct J as [[-> ->] | [[-> ->] | [-> ->]]].
    + exists 0%Z. split; [| simpl; lia]. split.
      * split; [simpl; lia |]. intros b e [S N] Jb Ne. cases; lia.
      * intros u [U V]. exact U.
    + exists (2 * dmax)%Z. split; [| simpl; lia]. split.
      * split; [simpl; lia |]. intros b e [S N] Jb Ne. cases; lia.
      * intros u [U V]. apply (V 0 2); simpl; auto. split; simpl; auto.
    + exists (3 * dmax)%Z. split; [| simpl; lia]. split.
      * split; [simpl; lia |]. intros b e [S N] Jb Ne. cases; lia.
      * intros u [U V]. exact U.
  - intros x m [-> ->]. simpl. split; [auto | lia].
  - intros x m J D. simpl in J, D. destruct m as [|[|[|m]]]; cases; lia.
Qed.

Lemma slowest_is_ordered : (0 <= dmin <= dmax)%Z -> ordered_rule slowest.
Proof.
  intros possible m j J. simpl in J. destruct J as [[-> ->] | [[-> ->] | [-> ->]]]; split.
  - repeat split; [simpl; lia | |].
    + intros b e [S N] Jb. cases; lia.
    + intros x [A B]. discriminate.
  - intros u [U _]. exact U.
  - repeat split; [simpl; lia | |].
    + intros b e [S N] Jb. cases; lia.
    + intros x [A B]. discriminate.
  - intros u [U _]. exact U.
  - repeat split; [simpl; lia | |].
    + intros b e [S N] Jb. cases; lia.
    + intros x [-> _] _. simpl. lia.
  - intros u (_ & _ & U). apply (U 1); simpl; auto.
Qed.

Theorem bound_is_tight : (0 <= dmin <= dmax)%Z ->
  punctual slowest dmin dmax /\ ordered_rule slowest /\ target slowest 2 3 /\
  leaves slowest 2 3 = (submitted slowest 2%nat + 3 * dmax - dmin)%Z /\
  delivered slowest 2 3 = (submitted slowest 2%nat + 4 * dmax - dmin)%Z.
Proof.
  intros H. split; [exact (slowest_is_punctual H) |]. split; [exact (slowest_is_ordered H) |].
  split; [simpl; auto |]. simpl. lia.
Qed.
End Tight.

(* The plain rule has no bound. Two processes, 0 and 1, answer each other; each sends a report to 2
   before its word. All packets take 1. Message 2n is the report of turn n, message 2n + 1 its word.
   The word is exempt and leaves at once; the report waits for the permit of the word before it, and
   that one is due only when the report of the turn before is acknowledged. *)
Section Conversation.
Local Open Scope nat_scope.

Definition turn (m : msg) : nat := m / 2.
Definition is_word (m : msg) : nat := m mod 2.
Definition leaving (m : msg) : nat := if is_word m =? 0 then 3 * turn m else turn m.

Definition conversation : timed := {|
  sender := fun m => turn m mod 2;
  number := fun m => m;
  target := fun m j => j = if is_word m =? 0 then 2 else 1 - turn m mod 2;
  submitted := fun m => Z.of_nat (turn m);
  leaves := fun m _ => Z.of_nat (leaving m);
  arrives := fun m _ => Z.of_nat (leaving m + 1);
  delivered := fun m _ => Z.of_nat (leaving m + 1);
  acked := fun m _ => Z.of_nat (leaving m + 2);
  permit := fun m _ => Z.of_nat (if is_word m =? 0 then 3 * turn m + 1 else 3 * turn m + 3);
  past := fun x m => is_word x = 1 /\ turn x < turn m /\ turn x mod 2 <> turn m mod 2
|}.

Ltac arithmetic := unfold leaving, is_word, turn in *;
  repeat match goal with |- context [?a =? ?b] => destruct (Nat.eqb_spec a b)
    | H : context [?a =? ?b] |- _ => destruct (Nat.eqb_spec a b) end; lia.

Lemma conversation_is_punctual : punctual conversation 1 1.
Proof.
  constructor.
  - lia.
  - simpl. auto.
  - intros x y [S N]. simpl in *. arithmetic.
  - intros m j J. simpl in *. arithmetic.
  - intros m j J. split.
    + intros b [S N] Jb. simpl in *. arithmetic.
    + intros u U. exact (U m (conj eq_refl (le_n _)) J).
  - intros m j J. simpl in *. arithmetic.
  - intros x i J. simpl in J. exists (Z.of_nat (if is_word x =? 0 then 3 * turn x else 3 * turn x + 2)).
    split; [| simpl; arithmetic]. split.
    + split; [simpl; arithmetic |]. intros b e [S N] Jb Ne. simpl in *. arithmetic.
    + intros u [U V]. destruct (Nat.eqb_spec (is_word x) 0) as [W | W].
      * simpl in U. arithmetic.
      * specialize (V (x - 1) 2).
        assert (P : up_to conversation (x - 1) x) by (split; simpl; arithmetic).
        assert (T : target conversation (x - 1) 2) by (simpl; arithmetic).
        specialize (V P T ltac:(arithmetic)). simpl in V. arithmetic.
  - intros x m (W & L & N). simpl. split; arithmetic.
  - intros x m J D. simpl in *. repeat split; arithmetic.
Qed.

Lemma conversation_is_plain : plain_rule conversation.
Proof.
  intros m j J. simpl in J. split.
  - split; [simpl; arithmetic |]. intros x (W & L & N) K. simpl in *. arithmetic.
  - intros u [U V]. simpl in U. destruct (Nat.eqb_spec (is_word m) 0) as [W | W].
    + destruct (Nat.eq_dec (turn m) 0) as [Z0 | NZ]; [simpl; arithmetic |].
      assert (P : past conversation (m - 1) m) by (simpl; repeat split; arithmetic).
      assert (K : sender conversation (m - 1) <> j) by (simpl; arithmetic).
      specialize (V (m - 1) P K). simpl in *. arithmetic.
    + simpl. arithmetic.
Qed.

Theorem plain_rule_has_no_bound : forall wait : nat, exists r m j,
  punctual r 1 1 /\ plain_rule r /\ target r m j /\
  (leaves r m j >= submitted r m + Z.of_nat wait)%Z.
Proof.
  intros n. exists conversation, (2 * n), 2.
  split; [exact conversation_is_punctual |]. split; [exact conversation_is_plain |].
  split; simpl; arithmetic.
Qed.
End Conversation.
