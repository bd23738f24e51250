/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a notifier hands work to a sleeping worker (src/worker.cpp: sleep, wake_all; src/dispatch.cpp:
 * wake_for, take_from_sleep; src/spin.cpp: stop), checked in every interleaving.
 *
 * Promises:
 * - no wake-up is lost: when nothing moves any more, no job waits; after stop every worker ends;
 * - no worker sleeps while a job waits, also when the jobs that run take for ever;
 * - no worker is given away twice: its attributes are touched by one thread at a time, and the count
 *   of workers on their way never goes wrong.
 *
 * The model is sequentially consistent: it checks the order of the steps. That the release store of
 * the word and the acquire load of it keep this order on the machine is argued beside them.
 *
 * Each macro below plants one mistake, and the checker must find it:
 *   WAKE_BEFORE_STORE    the waker wakes first and stores the word afterwards
 *   RESET_AFTER_UNLOCK   the worker resets its word when it can already be found asleep
 *   WAIT_UNCONDITIONAL   the wait sleeps without comparing the word
 *   TRUST_THE_WAIT       a return from the wait is taken for a wake-up
 *   TAKE_ITSELF_BLINDLY  a worker whose time is up does not look whether somebody has taken it
 *   WAKE_ONCE            who picks a job of a reentrant group does not wake the next worker
 * REENTRANT is no mistake: all jobs are of one reentrant group, instead of one exclusive group each.
 */

#define WORKERS 2
#define JOBS 3          /* of both notifiers */
#define EARLY_RETURNS 2 /* of all waits together: spurious, or because the time is up */
#define NOBODY 255

bit mutex;
/* Under the mutex: */
byte pending;          /* jobs that wait */
byte waking;           /* workers taken from sleep and not yet asking for work */
bit sleeping[WORKERS]; /* in the idle list */
bit stopping;
/* Not under the mutex: */
bit word[WORKERS];
bit in_kernel[WORKERS]; /* asleep in wait() */
bit touched[WORKERS];   /* somebody is changing the worker's attributes */
byte executed;
bit jobs_may_end;
byte early = EARLY_RETURNS;

#ifdef REENTRANT
#define READY_GROUPS (pending > 0)
#else
#define READY_GROUPS pending
#endif

inline lock() { atomic { mutex == 0; mutex = 1 } }
inline unlock() { mutex = 0 }

inline touch_attributes(w)
{
  atomic {
    assert(!touched[w]);
    touched[w] = 1
  };
  touched[w] = 0
}

inline take_from_sleep(w)
{
  sleeping[w] = 0;
  waking++
}

/* The engine prefers the last in, or one with the right attributes: any one, for the model. */
inline wake_for(chosen)
{
  chosen = NOBODY;
  if
  :: waking < READY_GROUPS && sleeping[0] -> chosen = 0
  :: waking < READY_GROUPS && sleeping[1] -> chosen = 1
  :: else
  fi;
  if
  :: chosen != NOBODY -> take_from_sleep(chosen)
  :: else
  fi
}

inline wake(w)
{
  touch_attributes(w);
#ifdef WAKE_BEFORE_STORE
  in_kernel[w] = 0;
  word[w] = 1
#else
  word[w] = 1;
  in_kernel[w] = 0
#endif
}

/* The platform's promise: compares and falls asleep in one step, may return early. */
inline wait(w)
{
  atomic {
#ifdef WAIT_UNCONDITIONAL
    in_kernel[w] = 1
#else
    if
    :: word[w] == 0 -> in_kernel[w] = 1
    :: else
    fi
#endif
  };
  atomic {
    if
    :: !in_kernel[w]
    :: in_kernel[w] && early > 0 -> early--; in_kernel[w] = 0
    fi
  }
}

proctype worker(byte me)
{
  byte next = NOBODY;
  bool timed;

asking:
  lock();
asking_locked:
  /* Only the holder of the mutex sees the words it protects: its steps on them count as one. */
  atomic {
    if
    :: stopping -> goto ended
    :: !stopping && pending == 0 -> goto sleeping_down
    :: else -> pending-- /* pick */
    fi
  };
  touch_attributes(me); /* under the mutex, while a waker does it without */
  atomic {
#ifndef WAKE_ONCE
    wake_for(next);
#endif
    unlock()
  };
  if
  :: next != NOBODY ->
    wake(next);
    next = NOBODY
  :: else
  fi;
  jobs_may_end; /* waits until it is true */
  executed++;
  goto asking;

sleeping_down:
  atomic {
#ifndef RESET_AFTER_UNLOCK
    word[me] = 0;
#endif
    sleeping[me] = 1;
    unlock();
    timed = (me == 0) /* one of them drives the timers */
  };
#ifdef RESET_AFTER_UNLOCK
  word[me] = 0;
#endif
  do
  :: word[me] == 1 -> break
  :: word[me] == 0 ->
    wait(me);
#ifdef TRUST_THE_WAIT
    break;
#endif
    if
    :: true
    :: timed && word[me] == 0 -> /* the time is up */
      atomic {
        lock();
        if
#ifdef TAKE_ITSELF_BLINDLY
        :: true ->
#else
        :: sleeping[me] ->
#endif
          sleeping[me] = 0;
          timed = false;
          goto asking_locked
        :: else
        fi;
        unlock();
        timed = false
      }
    fi
  od;
  atomic {
    lock();
    timed = false;
    assert(waking > 0);
    waking--;
    goto asking_locked
  };

ended:
  unlock()
}

proctype notifier(byte jobs)
{
  byte chosen = NOBODY;
  do
  :: jobs > 0 ->
    atomic {
      lock();
      jobs--;
      pending++;
      wake_for(chosen);
      unlock()
    };
    if
    :: chosen != NOBODY ->
      wake(chosen);
      chosen = NOBODY
    :: else
    fi
  :: else -> break
  od
}

/* Stops the engine: at any moment, or when nothing else can move. */
proctype stopper()
{
  bit taken[WORKERS];
  if
  :: true ->
    timeout;
    assert(pending == 0 || !sleeping[0] && !sleeping[1]);
    jobs_may_end = 1;
    goto at_rest
  :: true ->
    jobs_may_end = 1;
    goto at_rest
  :: true -> jobs_may_end = 1
  fi;
stop:
  atomic {
    lock();
    stopping = 1;
    if
    :: sleeping[0] ->
      take_from_sleep(0);
      taken[0] = 1
    :: else
    fi;
    if
    :: sleeping[1] ->
      take_from_sleep(1);
      taken[1] = 1
    :: else
    fi;
    unlock()
  };
  if
  :: taken[0] -> wake(0)
  :: else
  fi;
  if
  :: taken[1] -> wake(1)
  :: else
  fi;
  goto over;
at_rest:
  timeout;
  assert(pending == 0 && executed == JOBS);
  goto stop;
over:
  skip
}

init
{
  atomic {
    run worker(0);
    run worker(1);
    run notifier(1);
    run notifier(JOBS - 1);
    run stopper()
  }
}
