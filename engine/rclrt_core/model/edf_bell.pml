/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How processes agree on whose threads run (src/platform/linux/fifo_bands.cpp, Impl::settle, and
 * src/platform/linux/edf_neighbours.cpp), in every interleaving. Each process has one thread with a job,
 * or without, and an attendant. There is one CPU: in the end the earliest job of all has it.
 *
 * A process tells its job, looks at what the others tell, settles its own thread, tells what its
 * thread has now, and rings the bells of those whose thread has what it should not have. The attendant does the
 * same, but for the telling of a job, whenever its bell was rung.
 *
 * Promise: when nothing more happens, exactly the thread of the earliest job runs. No step waits for
 * another process.
 *
 * Each macro plants one mistake, and the checker must find it:
 *   LOOK_FIRST       a process looks at the others before it tells its job
 *   SLEEP_BLINDLY    the attendant notes the bell after it has looked
 *   NO_SECOND_LOOK   a process that has changed its thread does not ask whether others have told more
 *   RING_ONCE        a process is not rung again until it has told something new
 *
 * There are two processes. EVENTS and OTHER_EVENTS may be set: how many each has.
 */

#ifndef EVENTS
#define EVENTS 3
#endif
#ifndef OTHER_EVENTS
#define OTHER_EVENTS EVENTS
#endif

#define NONE 0
#define NEVER 255

/* The table of a process: its own memory, under its own lock. */
byte job[2];   /* its deadline; NONE */
bool runs[2];  /* its thread has the run priority */
bool locked[2];

/* What it tells; written by it alone. One step tells all: model/edf_region.pml. */
byte sequence[2];
byte told_job[2];
bool told_runs[2];

/* Raised by anybody. A counter in the code; here: whether it is another number than its owner has seen. */
bool bell[2];

/* For which pair of sequences a process has rung the other. */
byte rung_theirs[2] = NEVER;
byte rung_ours[2] = NEVER;

inline tell(me)
{
  d_step {
    told_job[me] = job[me];
    told_runs[me] = runs[me];
    sequence[me]++
  }
}

inline look(me)
{
  d_step {
    seen_sequence = sequence[1 - me];
    seen_job = told_job[1 - me];
    seen_runs = told_runs[1 - me]
  }
}

inline settle(me, has_event)
{
#ifdef LOOK_FIRST
  look(me);
  if
  :: has_event -> tell(me)
  :: else
  fi;
#else
  if
  :: has_event -> tell(me)
  :: else
  fi;
  look(me);
#endif
  /* The deadlines of the two differ. */
  d_step {
    is_first = job[me] != NONE && (seen_job == NONE || job[me] < seen_job);
    changed = job[me] != NONE && runs[me] != is_first;
    if
    :: changed -> runs[me] = is_first
    :: else
    fi
  }
  if
  :: changed -> tell(me)
  :: else
  fi;
  if
  :: seen_job != NONE && seen_runs == is_first &&
#ifdef RING_ONCE
     rung_theirs[me] != seen_sequence ->
#else
     !(rung_theirs[me] == seen_sequence && rung_ours[me] == sequence[me]) ->
#endif
    d_step {
      rung_theirs[me] = seen_sequence;
      rung_ours[me] = sequence[me];
      bell[1 - me] = true
    }
  :: else
  fi;
#ifndef NO_SECOND_LOOK
  if
  :: changed && sequence[1 - me] != seen_sequence -> bell[me] = true
  :: else
  fi;
#endif
  d_step {
    is_first = false;
    changed = false;
    seen_job = NONE;
    seen_runs = false;
    seen_sequence = 0
  }
}

#define LOCALS        \
  bool is_first;      \
  bool changed;       \
  byte seen_sequence; \
  byte seen_job;      \
  bool seen_runs

inline lock(me)
{
  atomic { !locked[me] -> locked[me] = true }
}

proctype program(byte me; byte events)
{
  LOCALS;
  byte event;
  for (event : 1 .. events) {
    lock(me);
    if
    :: job[me] = 1 + me
    :: job[me] = 4 - me
    :: job[me] = NONE
    fi;
    settle(me, true);
    locked[me] = false
  }
}

proctype attendant(byte me)
{
  LOCALS;
  do
  :: true ->
#ifndef SLEEP_BLINDLY
    bell[me] = false;
#endif
    lock(me);
    settle(me, false);
    locked[me] = false;
#ifdef SLEEP_BLINDLY
    bell[me] = false;
#endif
end_asleep:
    bell[me]
  od
}

init {
  atomic {
    run program(0, EVENTS);
    run program(1, OTHER_EVENTS);
    run attendant(0);
    run attendant(1)
  }
  timeout; /* both programs are done, and both attendants asleep */
  assert(job[0] == NONE || runs[0] == (job[1] == NONE || job[0] < job[1]));
  assert(job[1] == NONE || runs[1] == (job[0] == NONE || job[1] < job[0]))
}
