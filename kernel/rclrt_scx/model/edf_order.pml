/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queues, words and kicks of bpf/rclrt_edf.bpf.c: three threads with deadlines on two CPUs, in every
 * interleaving of their wake-ups with EVENTS others: a thread sleeps or changes its deadline or affinity, CPU 1 goes or
 * comes. Two assumptions about the kernel carry it: it looks again at an idle CPU when a thread is put on its run queue,
 * and the thread that takes a CPU down wakes on another one.
 *
 * Promises:
 *   order  after a tick of a CPU, it runs nothing later than a thread that may run there and waited all that time;
 *   work   a CPU without work has a kick on its way after a tick of the other, if such a thread waits;
 *   rest   if nothing can happen any more, no thread waits.
 *
 * A kick comes late; to a CPU that runs a thread, perhaps never. To an idle CPU it comes at last: if all are idle no tick
 * finds what it lost. Not in the model: the marks (they find sooner what a tick finds), the way past the queues, background,
 * the reserve, mode partial, and what is not sequentially consistent.
 *
 * Each macro plants one mistake, and the checker must find it:
 *   KICKS_FIRST   the kick may come before the thread is queued
 *   TRUSTS_KICKS  the tick kicks, and does not take the CPU from its thread
 *   TICKS_ALONE   the tick does not look at the other CPU
 *   RUNS_BLINDLY  dispatch() does not ask where a thread may run
 */

#ifndef EVENTS
#define EVENTS 2 /* a thread sleeps or changes, a CPU goes or comes */
#endif
#define NOTHING 9 /* deadlines are 2, 4, 6: a thread that has begun waits with its deadline less one */
#define ASLEEP 0
#define COMING 1 /* in enqueue(): not in the queue yet */
#define QUEUED 2
#define RUNS 3
#define NOBODY 0
#define allowed(t, c) ((where[t] >> (c)) & 1)
#define deadline(t) ((t) == 3 -> third : 2 * (t))
#define any_waits (state[1] == QUEUED || state[2] == QUEUED || state[3] == QUEUED)
#define bound(t) (where[t] != 3)
#define usable(t, c) (allowed(t, c) && !gone[c])
#define waits(t, c) (state[t] == QUEUED && allowed(t, c))

byte word[2] = NOTHING;
byte runs[2];     /* the thread, or NOBODY */
bit idle[2] = 1;  /* the kernel's mask */
bit kicked[2];
bit gone[2];
bit locked[2];    /* its run queue */

byte state[4];
byte events;
byte third = 6;   /* the deadline of thread 3 */
byte key[4];      /* in the queue */
byte where[4] = 3;
bit own[4];       /* the CPU whose run queue it belongs to; thread 2 wakes on CPU 1 first */
byte stayed[2];   /* the threads that have waited since this CPU's tick, a bit each */

#define lock(c) atomic { !locked[c] -> locked[c] = 1 }
#define leaves_queue(t) stayed[0] = stayed[0] & ~(1 << t); stayed[1] = stayed[1] & ~(1 << t)

/* Of the CPUs that run later than `k` the latest: `v`, which runs `most`. */
inline look_at_words(t, not_own)
{
  d_step {
    v = 2;
    most = key[t];
    for (i : 0 .. 1) {
      if
      :: allowed(t, i) && !gone[i] && word[i] > most && !(not_own && i == own[t]) ->
        most = word[i];
        v = i
      :: else
      fi
    }
    i = 0
  }
}

/* The run queue of own[t] is locked. */
inline enqueue(t, preempted)
{
  tries = 0;
  v = 2;
  if
  :: bound(t) ->
    d_step {
      if
      :: !preempted && !gone[own[t]] && word[own[t]] > key[t] ->
        word[own[t]] = key[t];
        v = own[t]
      :: else
      fi
    }
  :: else ->
    do
    :: tries < 2 ->
      look_at_words(t, preempted);
      atomic {
        if
        :: v == 2 -> break
        :: v < 2 && word[v] == most ->
          word[v] = key[t];
          idle[v] = 0;
          break
        :: else ->
          v = 2;
          tries++
        fi
      }
    :: else -> break
    od;
  fi;
#ifdef KICKS_FIRST
  if :: v < 2 && !gone[v] -> kicked[v] = 1; v = 2 :: else fi;
#endif
  atomic {
    state[t] = QUEUED;
    if :: v < 2 && !gone[v] -> kicked[v] = 1 :: else fi;
    if :: runs[own[t]] == NOBODY && !gone[own[t]] -> kicked[own[t]] = 1 :: else fi; /* by the kernel */
    v = 0; most = 0; tries = 0
  }
}

/* The CPU that runs the latest of those that run later than one that waits and may run there shall look. */
inline share_work()
{
  d_step {
    v = 2;
    most = 0;
    for (i : 1 .. 3) {
      for (j : 0 .. 1) {
        if
        :: waits(i, j) && !gone[j] && key[i] + 1 < word[j] && (word[j] > most || (v == j && key[i] < wanted)) ->
          most = word[j];
          wanted = key[i];
          v = j
        :: else
        fi
      }
    }
    i = 0; j = 0
  }
  d_step {
    if
    :: v < 2 && word[v] == most && !gone[v] ->
      word[v] = wanted;
      kicked[v] = 1
    :: else
    fi;
    v = 0; most = 0; wanted = 0
  }
}

/* Another thread, the same, or none: dispatch(), then running(). The run queue is locked. */
inline schedule(c)
{
  d_step {
    idle[c] = 0;
    kicked[c] = 0;
    prev = runs[c];
    word[c] = (prev -> deadline(prev) : NOTHING)
  }
  d_step {
    next = NOBODY;
    most = (prev -> deadline(prev) - 1 : NOTHING);
    for (i : 1 .. 3) {
      if
#ifdef RUNS_BLINDLY
      :: state[i] == QUEUED && key[i] < most ->
#else
      :: waits(i, c) && key[i] < most ->
#endif
        most = key[i];
        next = i
      :: else
      fi
    }
    i = 0;
    if
    :: next ->
      assert(allowed(next, c));
      state[next] = RUNS;
      own[next] = c;
      leaves_queue(next);
      word[c] = key[next];
      key[next] = 0
    :: else
    fi;
    most = 0
  }
  if
  :: any_waits -> share_work()
  :: else
  fi;
  if
  :: next && prev ->
    d_step {
      state[prev] = COMING;
      key[prev] = deadline(prev) - 1
    }
    enqueue(prev, 1)
  :: else
  fi;
  d_step {
    if
    :: next ->
      runs[c] = next;
      word[c] = deadline(next)
    :: else -> idle[c] = !prev
    fi;
    prev = NOBODY;
    next = NOBODY
  }
}

inline check(c)
{
  d_step {
    for (i : 1 .. 3) {
      if
      :: !((stayed[c] >> i) & 1) || state[i] != QUEUED
      :: else ->
        assert(!allowed(i, c) || !runs[c] || key[i] + 1 >= deadline(runs[c]));
        assert(!allowed(i, 1 - c) || !idle[1 - c] || locked[1 - c] || kicked[1 - c])
      fi
    }
    i = 0;
    stayed[c] = 0;
    locked[c] = 0
  }
}

active [2] proctype cpu()
{
  byte v, most, tries, i, j, wanted, prev, next;
  bit looks;
  do
  :: atomic { kicked[_pid] && !locked[_pid] -> locked[_pid] = 1 }
    schedule(_pid);
    locked[_pid] = 0
  :: atomic { kicked[_pid] && runs[_pid] && !locked[_pid] -> kicked[_pid] = 0 } /* lost */
  :: d_step { events < EVENTS && runs[_pid] && !locked[_pid] -> /* It sleeps. */
      events++;
      locked[_pid] = 1;
      state[runs[_pid]] = ASLEEP;
      runs[_pid] = NOBODY;
      word[_pid] = NOTHING
    }
    schedule(_pid);
    locked[_pid] = 0
  :: d_step { events < EVENTS && runs[_pid] == 3 && !locked[_pid] -> events++; third = 8 - third }
  :: d_step { runs[_pid] && !locked[_pid] && (word[_pid] != deadline(runs[_pid]) || any_waits) -> /* a tick */
      locked[_pid] = 1;
      for (i : 1 .. 3) {
        if :: state[i] == QUEUED -> stayed[_pid] = stayed[_pid] | (1 << i) :: else fi
      }
      i = 0;
      word[_pid] = deadline(runs[_pid]);
    }
    d_step {
      most = deadline(runs[_pid]) - 1;
      for (i : 1 .. 3) {
        if :: waits(i, _pid) && key[i] < most -> most = key[i]; looks = 1 :: else fi
      }
      i = 0;
      if :: looks && word[_pid] == deadline(runs[_pid]) -> word[_pid] = most :: else fi;
      most = 0
    }
#ifdef TRUSTS_KICKS
    kicked[_pid] = kicked[_pid] | looks;
    looks = 0;
#endif
#ifndef TICKS_ALONE
    share_work();
#endif
    if
    :: looks -> looks = 0; schedule(_pid)
    :: else
    fi;
    check(_pid)
  od
}

active [3] proctype thread() /* 2 to 4 */
{
  byte v, most, tries, i;
  bit to;
  own[_pid - 1] = _pid == 3;
  do
  :: atomic {
      if
      :: state[_pid - 1] == ASLEEP && usable(_pid - 1, own[_pid - 1]) && !locked[own[_pid - 1]] ->
        to = own[_pid - 1]
      :: state[_pid - 1] == ASLEEP && !usable(_pid - 1, own[_pid - 1]) && !locked[1 - own[_pid - 1]] ->
        to = 1 - own[_pid - 1]
      fi;
      locked[to] = 1;
      state[_pid - 1] = COMING;
      own[_pid - 1] = to;
      key[_pid - 1] = deadline(_pid - 1)
    }
    enqueue(_pid - 1, 0);
    atomic { locked[to] = 0; to = 0 }
  od
}

/* What the kernel does to thread 2 and to CPU 1; and nothing waits where all rest. */
active proctype kernel()
{
  byte v, most, tries, i;
  bit to;
  do
  :: atomic { events < EVENTS && state[2] == QUEUED && !locked[own[2]] && !gone[1] ->
      events++;
      locked[own[2]] = 1;
      state[2] = COMING;
      leaves_queue(2);
      if :: where[2] == 3 -> where[2] = 1 :: where[2] == 3 -> where[2] = 2 :: else -> where[2] = 3 fi;
      locked[own[2]] = 0;
    }
    atomic {
      if :: !locked[0] && allowed(2, 0) -> to = 0 :: !locked[1] && allowed(2, 1) && !gone[1] -> to = 1 fi;
      locked[to] = 1;
      own[2] = to;
      key[2] = deadline(2)
    }
    enqueue(2, 0);
    atomic { locked[to] = 0; to = 0 }
  :: atomic { events < EVENTS && !gone[1] && !locked[1] && where[2] != 2 ->
      events++;
      gone[1] = 1;
      idle[1] = 0;
      kicked[1] = 0;
      v = runs[1];
      runs[1] = NOBODY;
      if
      :: !v -> skip
      :: else -> /* It is moved. This CPU claims none any more. */
        !locked[0];
        state[v] = QUEUED;
        own[v] = 0;
        key[v] = deadline(v) - 1
      fi;
      kicked[0] = 1; /* Whoever took it down wakes on the other one. */
      v = 0
    }
  :: atomic { events < EVENTS && gone[1] ->
      events++;
      gone[1] = 0;
      word[1] = NOTHING;
      kicked[1] = 1 /* by the thread that brings it up */
    }
  :: d_step {
      !locked[0] && !locked[1] && !kicked[0] && !kicked[1] && !runs[0] && !runs[1] &&
      state[1] != COMING && state[2] != COMING && state[3] != COMING &&
      any_waits -> assert(false)
    }
  od
}
