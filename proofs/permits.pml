/* The protocol's steps, for three processes and every program of three messages: every choice of senders, targets and moments, on a network that loses, duplicates,
   reorders and delays. What is on the wire stays there, and may arrive at any moment or never: that
   covers all four.

   -DRULE=ORDERED (hybrid), SPS (hybrid-sps) or CSPS (hybrid-csps)
   -DBROKEN=1..8: one rule left out; Spin must find what goes wrong.

   Asserted at every delivery: all that happened before and is addressed here has been delivered
   here. Asserted where nothing more can happen: everything has been delivered everywhere. */

#define ORDERED 1
#define SPS 2
#define CSPS 3
#ifndef RULE
#define RULE ORDERED
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define MESSAGES 3

#define NO_PERMISSION 1    /* copies leave at once */
#define NO_FIFO 2          /* copies are delivered as they arrive */
#define OWN_ONLY 3         /* settled: this message, not those before it */
#define EARLIER_ONLY 4     /* settled: those before it, not this multicast itself */
#define ACK_ON_THE_WIRE 5  /* acknowledged before it is delivered */
#define ANY_TARGET 6       /* the exemption also for a multicast with another target */
#define ANY_MISSING 7      /* exempt if the target owes a permit, whoever else owes one */
#define NO_PERMITS 8       /* flags, and never a permit */

#define BIT(set, k) (((set) >> (k)) & 1)
#define WITH(set, k) set = (set) | (1 << (k))

byte next;               /* messages submitted so far; a message is its place in that order */
byte snd[MESSAGES];      /* its sender */
byte tgt[MESSAGES];      /* its targets, as bits, without the sender */
byte seen[MESSAGES];     /* what the sender had delivered when it submitted it */
byte left[MESSAGES];     /* targets for which its copy has left */
byte flagged[MESSAGES];  /* targets whose copy left flagged */
byte dlv[MESSAGES];      /* targets that have delivered it */
byte acked[MESSAGES];    /* targets that have acknowledged it, as its sender knows */
byte ok[MESSAGES];       /* targets that have permission concerning it */
byte got[3];             /* what each process has delivered from others */
byte knows[3];           /* for the assertion only: what each process knows of */
byte past[MESSAGES];     /* for the assertion only: what happens before it */

#define ALL(what, m, j) (what(m, j, 0) && what(m, j, 1) && what(m, j, 2))

/* The sender of m knows that it has settled up to m, as far as j is concerned. */
#if BROKEN == OWN_ONLY
#define COUNTS(b, m) ((b) == (m))
#elif BROKEN == EARLIER_ONLY
#define COUNTS(b, m) ((b) < (m))
#else
#define COUNTS(b, m) ((b) <= (m))
#endif
#define SETTLED_ONE(m, j, b) \
  (!COUNTS(b, m) || snd[b] != snd[m] || (tgt[b] & ~acked[b] & ~(1 << (j))) == 0)
#define SETTLED(m, j) ALL(SETTLED_ONE, m, j)

/* No permit is missing for the copy of m to j. */
#define HAS(m, z) (!BIT(seen[m], z) || snd[z] == snd[m] || BIT(ok[z], snd[m]))
#define SINGLE(m, j) (tgt[m] == (1 << (j)))
#if RULE == CSPS
#define GIVEN(m, j, z) HAS(m, z)
#elif RULE == SPS
#define GIVEN(m, j, z) (HAS(m, z) || snd[z] == (j))
#elif BROKEN == ANY_TARGET
#define GIVEN(m, j, z) (HAS(m, z) || BIT(tgt[m], snd[z]))
#else
#define GIVEN(m, j, z) (HAS(m, z) || (snd[z] == (j) && SINGLE(m, j)))
#endif
#define OWES(m, j, z) (!BIT(seen[m], z) || snd[z] != (j) || BIT(ok[z], snd[m]))
#if BROKEN == NO_PERMISSION
#define FREE(m, j) true
#elif BROKEN == ANY_MISSING
#define FREE(m, j) (ALL(GIVEN, m, j) || !ALL(OWES, m, j))
#else
#define FREE(m, j) ALL(GIVEN, m, j)
#endif

/* Ordered: after all earlier messages of this sender, whole. */
#define GONE(m, j, b) ((b) >= (m) || (b) >= next || snd[b] != snd[m] || left[b] == tgt[b])
#define WHOLE(m) ((!BIT(tgt[m], 0) || FREE(m, 0)) && (!BIT(tgt[m], 1) || FREE(m, 1)) && \
  (!BIT(tgt[m], 2) || FREE(m, 2)))

#if BROKEN == NO_FIFO
#define TURN(m, j, b) true
#else
#define TURN(m, j, b) ((b) >= (m) || snd[b] != snd[m] || !BIT(tgt[b], j) || BIT(dlv[b], j))
#endif

/* Processes are alike, so the first message may as well be one of 0, and to 1 if only to one. */
#define SUBMIT(p, targets) \
  :: next < MESSAGES && (next > 0 || (p == 0 && targets != 4)) -> d_step { \
    snd[next] = p; tgt[next] = targets; seen[next] = got[p]; past[next] = knows[p]; \
    WITH(knows[p], next); next++ }

#define PUT(m, j) \
  if \
  :: BIT(tgt[m], j) && !BIT(left[m], j) -> \
    WITH(left[m], j); if :: SETTLED(m, j) -> skip :: else -> WITH(flagged[m], j) fi \
  :: else -> skip \
  fi

#if RULE == ORDERED
#define LEAVE(m) \
  :: m < next && left[m] != tgt[m] && ALL(GONE, m, 0) && WHOLE(m) -> \
    d_step { PUT(m, 0); PUT(m, 1); PUT(m, 2) }
#else
#define LEAVE_TO(m, j) \
  :: m < next && BIT(tgt[m], j) && !BIT(left[m], j) && FREE(m, j) && ALL(EARLIER_COPY, m, j) -> \
    d_step { PUT(m, j) }
#define EARLIER_COPY(m, j, b) ((b) >= (m) || snd[b] != snd[m] || !BIT(tgt[b], j) || BIT(left[b], j))
#define LEAVE(m) LEAVE_TO(m, 0) LEAVE_TO(m, 1) LEAVE_TO(m, 2)
#endif

/* Permission arrives with an unflagged copy, or by a permit for a flagged one, and is cumulative. */
#define PERMIT_UP_TO(m, j, b) \
  if :: (b) <= (m) && snd[b] == snd[m] -> WITH(ok[b], j) :: else -> skip fi
#define PERMITS(m, j) PERMIT_UP_TO(m, j, 0); PERMIT_UP_TO(m, j, 1); PERMIT_UP_TO(m, j, 2)

#define ADDRESSED(m, j, b) (!BIT(past[m], b) || !BIT(tgt[b], j) || BIT(dlv[b], j))

#define DELIVER(m, j) \
  :: BIT(left[m], j) && !BIT(dlv[m], j) && ALL(TURN, m, j) -> d_step { \
    assert(ALL(ADDRESSED, m, j)); \
    WITH(dlv[m], j); WITH(got[j], m); WITH(knows[j], m); knows[j] = knows[j] | past[m]; \
    if :: !BIT(flagged[m], j) -> PERMITS(m, j) :: else -> skip fi }

#if BROKEN == ACK_ON_THE_WIRE
#define ACKNOWLEDGE(m, j) :: BIT(left[m], j) && !BIT(acked[m], j) -> WITH(acked[m], j)
#else
#define ACKNOWLEDGE(m, j) :: BIT(dlv[m], j) && !BIT(acked[m], j) -> WITH(acked[m], j)
#endif

#if BROKEN == NO_PERMITS
#define PERMIT(m, j)
#else
#define PERMIT(m, j) \
  :: BIT(flagged[m], j) && !BIT(ok[m], j) && SETTLED(m, j) -> d_step { PERMITS(m, j) }
#endif

#define COPY(m, j) DELIVER(m, j) ACKNOWLEDGE(m, j) PERMIT(m, j)
#define MESSAGE(m) LEAVE(m) COPY(m, 0) COPY(m, 1) COPY(m, 2)
#define DONE(m, j, b) ((b) >= next || (dlv[b] == tgt[b] && acked[b] == tgt[b]))

active proctype world() {
  do
  SUBMIT(0, 2) SUBMIT(0, 4) SUBMIT(0, 6)
  SUBMIT(1, 1) SUBMIT(1, 4) SUBMIT(1, 5)
  SUBMIT(2, 1) SUBMIT(2, 2) SUBMIT(2, 3)
  MESSAGE(0)
  MESSAGE(1)
  MESSAGE(2)
  :: timeout -> assert(next == MESSAGES && ALL(DONE, 0, 0)); break
  od
}
