(* Neither half can be left out, and the hypotheses can be met.

   The triangle: 0 sends message 0 to 2 and message 1 to 1; 1 then sends message 2 to 2. If 1 ignores
   permission to send, message 2 overtakes message 0: both of 0 and 2 have kept every rule. *)

Require Import Arith Lia.
Require Import Antecede.Run Antecede.Causal.

Fixpoint of_list (events : list event) (t : nat) : event :=
  match events, t with
  | nil, _ => Nothing
  | cons e _, 0 => e
  | cons _ more, S u => of_list more u
  end.

Definition triangle (events : list event) : run := {|
  sender := fun m => match m with 2 => 1 | _ => 0 end;
  target := fun m j => (m = 0 /\ j = 2) \/ (m = 1 /\ j = 1) \/ (m = 2 /\ j = 2);
  what := of_list events
|}.

Import List.ListNotations.
Local Open Scope list_scope.

Definition hasty : run := triangle
  [Submit 0; Leave 0 2; Submit 1; Leave 1 1; Deliver 1 1; Submit 2; Leave 2 2; Deliver 2 2; Deliver 0 2].

Definition patient : run := triangle
  [Submit 0; Leave 0 2; Submit 1; Leave 1 1; Deliver 1 1; Submit 2; Deliver 0 2; Leave 2 2; Deliver 2 2].

(* Two copies from 0 to 2, the second of which is delivered first. *)
Definition swapped : run := {|
  sender := fun _ => 0;
  target := fun m j => j = 2;
  what := of_list [Submit 0; Leave 0 2; Submit 1; Leave 1 2; Deliver 1 2; Deliver 0 2]
|}.

Ltac steps n t := match n with
  | O => try (simpl in *; destruct t; discriminate)
  | S ?k => destruct t as [|t]; [simpl in *; try discriminate | steps k t]
  end.
Ltac instant t := steps 9 t.
Ltac at_instant n := exists n; split; [lia | reflexivity].

Ltac well := constructor; simpl;
  [ intros m s t H K; instant s; instant t; congruence
  | intros m j s t H K; instant s; instant t; congruence
  | intros m j t H; instant t; injection H as <- <-; (split; [auto | split; [discriminate |]])
  | intros m j t H N; instant t; injection H as <- <-
  | intros m t H; instant t; injection H as <- H; discriminate
  | intros m s t H J L P; instant s; injection H as <-; simpl in J; lia ].

Ltac find := first [at_instant 0 | at_instant 1 | at_instant 2 | at_instant 3 | at_instant 4
  | at_instant 5 | at_instant 6 | at_instant 7].

Lemma hasty_is_well_formed : well_formed hasty.
Proof. well; find. Qed.

Lemma patient_is_well_formed : well_formed patient.
Proof. well; find. Qed.

Lemma swapped_is_well_formed : well_formed swapped.
Proof. well; find. Qed.

Lemma hasty_is_fifo : fifo hasty.
Proof.
  intros x y j s s' t E J S S' L T. simpl in *.
  instant s; instant s'; try lia; injection S as <-; injection S' as <-; simpl in E; try discriminate;
    instant t; injection T as <-; destruct J as [[? ?] | [[? ?] | [? ?]]]; subst; discriminate.
Qed.

Lemma patient_is_fifo : fifo patient.
Proof.
  intros x y j s s' t E J S S' L T. simpl in *.
  instant s; instant s'; try lia; injection S as <-; injection S' as <-; simpl in E; try discriminate;
    instant t; injection T as <-; destruct J as [[? ?] | [[? ?] | [? ?]]]; subst; discriminate.
Qed.

Lemma hasty_effect_follows : hb hasty 0 2.
Proof.
  apply hb_more with 1; [apply hb_step |].
  - exists 2. split; [reflexivity |]. right. split; [reflexivity | at_instant 0].
  - exists 5. split; [reflexivity |]. left. at_instant 4.
Qed.

Theorem fifo_alone_is_not_causal : well_formed hasty /\ fifo hasty /\ ~ causal_delivery hasty.
Proof.
  split; [exact hasty_is_well_formed |]. split; [exact hasty_is_fifo |].
  intros C. specialize (C 0 2 2 8 7 hasty_effect_follows eq_refl eq_refl). lia.
Qed.

Theorem sps_alone_is_not_causal : well_formed swapped /\ sps swapped /\ ~ causal_delivery swapped.
Proof.
  split; [exact swapped_is_well_formed |]. split.
  - intros y j t z s d T S D L. simpl in *. instant d.
  - intros C. assert (H : hb swapped 0 1).
    { apply hb_step. exists 2. split; [reflexivity |]. right. split; [reflexivity | at_instant 0]. }
    specialize (C 0 1 2 5 4 H eq_refl eq_refl). lia.
Qed.

(* A relay that waits: all hypotheses hold together, and not for want of anything that happens. *)
Theorem hypotheses_can_be_met :
  well_formed patient /\ fifo patient /\ sps patient /\ delivered_where_sent patient /\ hb patient 0 2.
Proof.
  split; [exact patient_is_well_formed |]. split; [exact patient_is_fifo |]. split.
  - intros y j t z s d T S D L Nj Ni b e u v E U V Le J Ne. simpl in *.
    instant t; injection T as <- <-; instant s; instant d; injection D as <-; try lia.
    destruct J as [[-> ->] | [[-> ->] | [-> ->]]]; [at_instant 6 | lia | discriminate].
  - split.
    + intros m j t T. simpl in *. instant t; injection T as <- <-; auto.
    + apply hb_more with 1; [apply hb_step |].
      * exists 2. split; [reflexivity |]. right. split; [reflexivity | at_instant 0].
      * exists 5. split; [reflexivity |]. left. at_instant 4.
Qed.
