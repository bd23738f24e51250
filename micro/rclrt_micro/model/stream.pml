/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One reliable stream, in every interleaving. The names are those of the code. Sender: the client (daemon_transmit.c,
 * daemon_send.c, daemon.c), and the agent (outgoing.cpp). Receiver: the client (daemon_receive.c, daemon_take.c), and the
 * agent (incoming.cpp), which takes a message when it comes.
 *
 * The line loses LOSSES packets, doubles COPIES, and brings the SLOTS that are under way in any order. The receiver drops
 * BAD frames after it has noticed them (a wrong checksum, or a more urgent reader's frame). The sender gives up GIVEN_UP
 * messages, and asks EARLY times before it must. Two packets of the stream are the fragments of one message.
 *
 * Promises:
 * - messages are delivered in order, once, and whole;
 * - a message that the sender frees has been delivered, and is freed once, but for one that it gives up and counts;
 * - once nothing is lost any more, MOST_SILENCES silences of the sender are enough to bring all.
 *
 * Each macro below plants one mistake, and the checker must find it:
 *   ACKNOWLEDGES_WAITING  a frame is acknowledged while it waits for its reader
 *   GOES_BACK             an acknowledgement that comes late counts
 *   NO_HEARTBEAT          the sender does not ask
 *   ASKS_ONCE             what was asked for is not asked for again after a heartbeat, nor sent along with one
 *   SKIPS_ALL             a heartbeat skips what was sent instead of what was given up
 *   GIVES_UP_HALF         a fragment is given up alone
 */
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef COPIES
#define COPIES 0
#endif
#ifndef BAD
#define BAD 0
#endif
#ifndef GIVEN_UP
#define GIVEN_UP 0
#endif
#ifndef EARLY
#define EARLY 0
#endif
#define MOST_SILENCES 3
#define IN_VAIN 2
#define PACKETS 4
#define WINDOW 2
#define SLOTS 2
#define NONE 0
#define DATA 1
#define HEARTBEAT 2

/* Under way: to the receiver a kind with a number, or with first_unacked and the number after last_unacked; to the sender
 * first_unacked and missing. */
byte kind[SLOTS];
byte number[SLOTS];
byte until[SLOTS];
bit acknack[SLOTS];
byte first[SLOTS];
byte missing[SLOTS];
byte losses = LOSSES;
byte copies = COPIES;

/* The sender's. */
#define QUEUED 0
#define PENDING 1
#define FREE 2
#define ABANDONED 3
byte state[PACKETS];
bit again[PACKETS]; /* sent once more, and an answer to that cannot be there yet */
byte first_unacked;
byte sent;
byte heartbeats;
bit heartbeat_due;
byte given_up = GIVEN_UP;
byte early = EARLY;
byte silences; /* since something was lost */
bit is_done;

/* The receiver's. */
byte expected;
byte waiting; /* bits from expected on */
byte asked;
byte highest;
bit ack_due;
byte bad = BAD;
bit whole; /* the fragment before is there */
byte delivered; /* messages; in order, so a number */
bit taken[PACKETS];

#define room_up (kind[0] == NONE || kind[1] == NONE)
#define room_down (!acknack[0] || !acknack[1])
#define is_queued(i) (i < PACKETS && state[i] == QUEUED)
#define next_queued \
  (is_queued(first_unacked) -> first_unacked : (is_queued(first_unacked + 1) -> first_unacked + 1 : PACKETS))

inline send_up(what, a, b)
{
  slot = (kind[0] == NONE -> 0 : 1);
  kind[slot] = what;
  number[slot] = a;
  until[slot] = b
}

/* daemon_settle_until(), after the assertion that is the promise. */
inline settle_until(to)
{
  do
  :: first_unacked != to ->
    assert(state[first_unacked] == PENDING || state[first_unacked] == QUEUED);
    assert(taken[first_unacked]);
    state[first_unacked] = FREE;
    first_unacked++
  :: else -> break
  od
}

/* daemon_on_acknack() */
inline on_acknack(from, missed)
{
  assert(from <= sent);
  if
#ifdef GOES_BACK
  :: from != first_unacked ->
    first_unacked = (from < first_unacked -> from : first_unacked);
#else
  :: from > first_unacked ->
#endif
    settle_until(from);
    heartbeats = 0
  :: from < first_unacked && missed != 0 ->
    heartbeat_due = 1
  :: else
  fi;
  i = 0;
  do
  :: i < WINDOW ->
    if
    :: (((missed >> i) & 1) != 0 && from + i >= first_unacked && from + i < sent && state[from + i] == PENDING &&
        !again[from + i]) ->
      state[from + i] = QUEUED;
      again[from + i] = 1
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0
}

/* daemon_abandon(): the oldest message, with all of its fragments that were sent. */
inline abandon()
{
  given_up--;
  do
  :: state[first_unacked] = ABANDONED;
    first_unacked++;
#ifdef GIVES_UP_HALF
    break
#else
    if
    :: (first_unacked & 1) == 0 -> break
    :: else
    fi
#endif
  od;
  /* Fragments that were not sent yet are numbered all the same. */
  sent = (sent < first_unacked -> first_unacked : sent);
  heartbeat_due = 1
}

proctype sender()
{
  byte i;
  byte slot;
  do
  :: atomic {
      next_queued < PACKETS && room_up ->
      i = next_queued;
      state[i] = PENDING;
      sent = (sent > i -> sent : i + 1);
      send_up(DATA, i, 0);
      i = 0;
      slot = 0
    }
  :: atomic {
      heartbeat_due && room_up ->
      heartbeat_due = 0;
      if
      :: first_unacked != sent || state[sent - 1] == ABANDONED -> send_up(HEARTBEAT, first_unacked, sent)
      :: else
      fi;
      slot = 0
    }
  :: atomic {
      acknack[0] ->
      slot = 0;
      goto answered
    }
  :: atomic {
      acknack[1] ->
      slot = 1;
    answered:
      on_acknack(first[slot], missing[slot]);
      if
      :: acknack[slot] = 0;
        first[slot] = 0;
        missing[slot] = 0
      :: copies > 0 -> copies--
      fi;
      slot = 0
    }
  :: atomic {
      /* Time enough for an answer (answer_ns). */
      again[0] || again[1] || again[2] || again[3] ->
      again[0] = 0;
      again[1] = 0;
      again[2] = 0;
      again[3] = 0
    }
  :: atomic {
      early > 0 && first_unacked != sent ->
      early--;
      heartbeat_due = 1
    }
  :: atomic {
      given_up > 0 && first_unacked != sent && state[first_unacked] == PENDING ->
      abandon()
    }
#ifndef NO_HEARTBEAT
  :: atomic {
      timeout && first_unacked != sent ->
      silences++;
      assert(silences <= MOST_SILENCES);
      heartbeat_due = 1;
      heartbeats = (heartbeats < IN_VAIN -> heartbeats + 1 : IN_VAIN);
#ifndef ASKS_ONCE
      if
      :: heartbeats == IN_VAIN && state[first_unacked] == PENDING -> state[first_unacked] = QUEUED
      :: else
      fi
#endif
    }
#endif
  :: first_unacked == PACKETS && !heartbeat_due -> break
  od;
  is_done = 1;
end:
  do
  :: atomic {
      acknack[0] || acknack[1] ->
      acknack[0] = 0;
      acknack[1] = 0;
      first[0] = 0;
      first[1] = 0;
      missing[0] = 0;
      missing[1] = 0
    }
  od
}

/* Into the callback. */
inline deliver(packet)
{
  taken[packet] = 1;
  if
  :: (packet & 1) == 0 -> whole = 1
  :: else ->
    assert(whole); /* the rest of a message without its begin is never left */
    assert(delivered <= packet / 2);
    delivered = packet / 2 + 1;
    whole = 0
  fi
}

/* daemon_advance() */
inline advance()
{
  expected++;
  waiting = waiting >> 1;
  asked = asked >> 1;
  highest = (highest < expected -> expected : highest)
}

/* on_heartbeat(); Incoming::on_heartbeat() */
inline on_heartbeat(from, to)
{
#ifdef SKIPS_ALL
  skipped = to;
#else
  skipped = from;
#endif
  do
  :: expected < skipped ->
    whole = 0;
    advance()
  :: else -> break
  od;
  skipped = 0;
  highest = (highest < to -> to : highest);
#ifndef ASKS_ONCE
  asked = 0;
#endif
  ack_due = 1
}

/* daemon_on_frame(), wanted(); Incoming::put() */
inline on_data(packet)
{
  if
  :: packet < expected -> ack_due = 1
  :: packet >= expected + WINDOW
  :: else ->
    waiting = waiting | (1 << (packet - expected));
    highest = (highest <= packet -> packet + 1 : highest);
    ack_due = 1
  fi
}

proctype receiver()
{
  byte skipped = 0;
  byte slot;
end:
  do
  :: atomic {
      kind[0] != NONE ->
      slot = 0;
      goto came
    }
  :: atomic {
      kind[1] != NONE ->
      slot = 1;
    came:
      if
      :: kind[slot] == DATA -> on_data(number[slot])
      :: else -> on_heartbeat(number[slot], until[slot])
      fi;
      if
      :: copies > 0 -> copies--
      :: true ->
        kind[slot] = NONE;
        number[slot] = 0;
        until[slot] = 0
      fi;
      slot = 0
    }
  :: atomic {
      (waiting & 1) != 0 ->
      if
      :: deliver(expected);
        advance();
        ack_due = 1
      :: bad > 0 ->
        bad--;
        waiting = waiting & ~1
      fi
    }
  :: atomic {
      ack_due && room_down ->
      ack_due = 0;
      slot = (acknack[0] -> 1 : 0);
      acknack[slot] = 1;
      first[slot] = expected;
      missing[slot] = ((1 << (highest - expected)) - 1) & ~waiting & ~asked & 3;
      asked = asked | missing[slot];
#ifdef ACKNOWLEDGES_WAITING
      first[slot] = expected + (waiting & 1);
      missing[slot] = missing[slot] >> (waiting & 1);
#endif
      slot = 0
    }
  od
}

proctype line()
{
end:
  do
  :: atomic { losses > 0 && kind[0] != NONE -> losses--; silences = 0; kind[0] = NONE; number[0] = 0; until[0] = 0 }
  :: atomic { losses > 0 && kind[1] != NONE -> losses--; silences = 0; kind[1] = NONE; number[1] = 0; until[1] = 0 }
  :: atomic { losses > 0 && acknack[0] -> losses--; silences = 0; acknack[0] = 0; first[0] = 0; missing[0] = 0 }
  :: atomic { losses > 0 && acknack[1] -> losses--; silences = 0; acknack[1] = 0; first[1] = 0; missing[1] = 0 }
  od
}

init
{
  atomic {
    run sender();
    run receiver();
    run line()
  };
  is_done;
  timeout;
  assert(first_unacked == PACKETS);
  do
  :: expected < PACKETS ->
    assert(state[expected] == ABANDONED); /* the receiver hears of it when it asks for that, with the next message */
    expected++
  :: else -> break
  od;
  assert(delivered == PACKETS / 2 || given_up < GIVEN_UP)
}
