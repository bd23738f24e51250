/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a notifier hands work to a sleeping worker (in src/threads, sleep.cpp: take_from_sleep, wake_too, lie_down,
 * wake_up; dispatch.cpp: released, taken; settle.cpp: Section::wake_all; worker.cpp: sleep, gives_way; life.cpp: retire;
 * spin.cpp: stop), checked in every interleaving.
 *
 * Promises:
 * - no wake-up is lost: when nothing moves any more, no job waits; after stop every worker ends;
 * - no worker sleeps while a job waits, also when the jobs that run take for ever;
 * - a job does not wait for a notifier that was held up before it came (it lost its CPU with a worker
 *   on its list, or before it woke the worker up);
 * - no worker is on two lists, none ends while it is on one, and the count of workers on their way never
 *   goes wrong.
 *
 * The model is sequentially consistent: it checks the order of the steps. That the release stores of
 * the word and the acquire loads of it keep this order on the machine is argued beside them.
 *
 * Each macro below plants one mistake, and the checker must find it:
 *   WAKE_BEFORE_STORE    the waker wakes first and stores the word afterwards
 *   RESET_AFTER_UNLOCK   the worker resets its word when it can already be found asleep
 *   WAIT_UNCONDITIONAL   the wait sleeps without comparing the word
 *   TAKE_ITSELF_BLINDLY  a worker whose time is up does not look whether somebody has taken it
 *   WAKE_ONCE            who picks a job of a reentrant group does not wake the next worker
 *   LEAVE_IT_TO_THEM     whose job a worker on its way would take does not wake that worker, too
 *   SLEEP_WHILE_HELD     a worker on somebody's list goes to sleep as an idle one
 *   END_WHILE_HELD       a worker on somebody's list ends
 *   COMES_FOR_EVER       with GIVES_WAY: a worker that has given way goes on counting as one that comes
 *   NOBODY_LOOKS         with LEFT: nobody looks after jobs that were left to a worker
 *   BACK_FOR_EVER        with LEFT: jobs are left to a worker whose short job has ended
 * GIVES_WAY is no mistake: workers give way to more urgent ones before they take a job; no wait returns early then.
 * LEFT is no mistake: a worker may run a short job. Jobs may be left to it then, and the timer thread looks after them
 * later (dispatch.cpp: is_taken_soon, Lane::look).
 * REENTRANT is no mistake: all jobs are of one reentrant group, or short ones that ask for nothing; else of one exclusive
 * group each.
 */

#define WORKERS 2
#ifndef JOBS
#define JOBS 3 /* of both notifiers; two are enough to find a mistake */
#endif
#ifdef GIVES_WAY
#define EARLY_RETURNS 0
#define WAYS 2 /* of all workers together */
#else
#define EARLY_RETURNS 1 /* of all waits together: spurious, or because the time is up */
#define WAYS 0
#endif
#define NOBODY 255
#define WHOEVER 254

#define ASLEEP 0
#define AWAKE 1
#define AWAKE_AND_HELD 2

bit mutex;
/* Under the mutex: */
byte pending;          /* jobs that wait */
byte waking;           /* workers taken from sleep and not yet asking for work, or held, or giving way */
bit sleeping[WORKERS]; /* in the idle list */
byte waker[WORKERS];   /* of one that is not in the idle list and not up yet */
bit stopping;
bit owed;              /* the last job came from the notifier that may be held up */
byte soon_back = NOBODY; /* runs a short job */
bit look;              /* the timer thread is to look */
/* Not under the mutex: */
byte word[WORKERS];
bit in_kernel[WORKERS]; /* asleep in wait() */
bit listed[WORKERS];    /* on the list of a thread that is to wake it */
bit gone[WORKERS];
byte executed;
bit jobs_may_end;
bit nobody_is_held_up;
byte early = EARLY_RETURNS;
byte ways = WAYS;

#ifdef REENTRANT
#define READY_GROUPS (pending > 0)
#else
#define READY_GROUPS pending
#endif

inline lock() { atomic { mutex == 0; mutex = 1 } }
inline unlock() { mutex = 0 }

inline take_from_sleep(w)
{
  sleeping[w] = 0;
  waker[w] = _pid;
  waking++;
  assert(!listed[w]);
  listed[w] = 1
}

/* Wake those that are on their way for somebody else, too. */
inline hurry_up(w)
{
  if
  :: waker[w] != NOBODY && waker[w] != _pid && (!spares_calls || word[w] == ASLEEP) ->
    waker[w] = _pid;
    hurried = hurried | (1 << w);
    if
    :: word[w] == ASLEEP -> word[w] = AWAKE_AND_HELD
    :: else
    fi
  :: else
  fi
}

/* The engine prefers the last in, or one with the right attributes: any one, for the model. */
inline wake_for(chosen)
{
  chosen = NOBODY;
  if
  :: soon_back != NOBODY && pending > 0 ->
#ifndef NOBODY_LOOKS
    look = 1
#else
    skip
#endif
  :: waking < READY_GROUPS && sleeping[0] -> chosen = 0
  :: waking < READY_GROUPS && sleeping[1] -> chosen = 1
  :: else
  fi;
  if
  :: chosen != NOBODY -> take_from_sleep(chosen)
  :: else
  fi;
#ifndef LEAVE_IT_TO_THEM
  if
  :: pending > 0 && (chosen == NOBODY || !spares_calls) ->
    hurry_up(0);
    hurry_up(1)
  :: else
  fi
#endif
}

/* A process may lose its CPU for long wherever this stands. */
inline be_held_up()
{
  if
  :: true
  :: may_be_held_up -> nobody_is_held_up /* waits until it is true */
  fi
}

/* Of the list's owner, and of who is in a hurry. */
inline wake(w)
{
  assert(!gone[w]);
#ifdef WAKE_BEFORE_STORE
  in_kernel[w] = 0;
  atomic {
    listed[w] = 0;
    word[w] = AWAKE
  }
#else
  atomic {
    listed[w] = 0;
    word[w] = AWAKE
  };
  atomic {
    be_held_up();
    in_kernel[w] = 0
  }
#endif
}

inline wake_up(chosen)
{
  atomic {
    be_held_up();
    if
    :: (hurried & 1) != 0 -> in_kernel[0] = 0
    :: else
    fi;
    if
    :: (hurried & 2) != 0 -> in_kernel[1] = 0
    :: else
    fi;
    hurried = 0
  };
  if
  :: chosen != NOBODY ->
    wake(chosen);
    chosen = NOBODY
  :: else
  fi
}

/* The platform's promise: compares and falls asleep in one step, may return early. */
inline wait(w)
{
  atomic {
#ifdef WAIT_UNCONDITIONAL
    in_kernel[w] = 1
#else
    if
    :: word[w] == ASLEEP -> in_kernel[w] = 1
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
  bit may_be_held_up = 0;
  bit spares_calls = 1;
  byte next = NOBODY;
  byte hurried = 0;
  bool timed;

asking:
  lock();
asking_locked:
#ifndef BACK_FOR_EVER
  atomic {
    if
    :: soon_back == me -> soon_back = NOBODY
    :: else
    fi
  };
#endif
  /* Only the holder of the mutex sees the words it protects: its steps on them count as one. */
  atomic {
    if
    :: stopping -> goto ended
    :: !stopping && pending == 0 -> goto sleeping_down
    :: !stopping && pending > 0 -> pending-- /* pick */
#ifdef LEFT
    :: !stopping && pending > 0 -> pending--; soon_back = me
#endif
    :: !stopping && pending > 0 && ways > 0 -> goto giving_way /* its last job was more urgent than this one */
    fi
  };
  atomic {
#ifndef WAKE_ONCE
    wake_for(next);
#endif
    unlock()
  };
  wake_up(next);
  jobs_may_end; /* waits until it is true */
  executed++;
  goto asking;

giving_way:
  atomic {
    ways--;
    waking++;
    unlock()
  };
  /* Here it lowers itself. */
  atomic {
    lock();
#ifndef COMES_FOR_EVER
    waking--;
#endif
    goto asking_locked
  };

sleeping_down:
  atomic {
    assert(soon_back != me); /* nothing is left to one that sleeps */
    if
#ifndef SLEEP_WHILE_HELD
    :: word[me] == AWAKE_AND_HELD ->
      word[me] = ASLEEP;
      waker[me] = WHOEVER;
      waking++
#endif
    :: else ->
#ifndef RESET_AFTER_UNLOCK
      word[me] = ASLEEP;
#endif
      sleeping[me] = 1
    fi;
    unlock();
    timed = (me == 0) /* one of them drives the timers */
  };
#ifdef RESET_AFTER_UNLOCK
  word[me] = ASLEEP;
#endif
  do
  :: word[me] != ASLEEP -> break
  :: word[me] == ASLEEP ->
    wait(me);
    if
    :: true
    :: timed && word[me] == ASLEEP -> break /* the time is up */
    fi
  od;
  atomic {
    lock();
    timed = false;
    if
#ifdef TAKE_ITSELF_BLINDLY
    :: true ->
#else
    :: sleeping[me] ->
#endif
      sleeping[me] = 0;
      word[me] = AWAKE
#ifndef TAKE_ITSELF_BLINDLY
    :: else ->
      assert(waking > 0);
      waking--;
      waker[me] = NOBODY;
      if
      :: word[me] == ASLEEP -> word[me] = AWAKE_AND_HELD
      :: else
      fi
#endif
    fi;
    goto asking_locked
  };

ended:
  unlock();
#ifndef END_WHILE_HELD
  word[me] != AWAKE_AND_HELD; /* waits until it is true */
#endif
  gone[me] = 1
}

/* Of two, the first may be held up between any two steps without the mutex. */
proctype notifier(byte jobs; bit may_be_held_up)
{
  bit spares_calls = 0;
  byte chosen = NOBODY;
  byte hurried = 0;
  do
  :: jobs > 0 ->
    atomic {
      lock();
      jobs--;
      pending++;
      owed = may_be_held_up;
      wake_for(chosen);
      unlock()
    };
    wake_up(chosen)
  :: else -> break
  od
}

/* The timer thread, 10 ms after a job was left to a worker. */
proctype looker()
{
  bit may_be_held_up = 0;
  bit spares_calls = 0;
  byte chosen = NOBODY;
  byte hurried = 0;
end:
  do
  :: atomic {
      look;
      lock();
      look = 0;
      soon_back = NOBODY;
      wake_for(chosen);
      unlock()
    };
    wake_up(chosen)
  od
}

/* Stops the engine: at any moment, or when nothing else can move. */
proctype stopper()
{
  bit may_be_held_up = 0;
  bit list[WORKERS];
  if
  :: true ->
    timeout;
    assert(pending == 0 || owed || !in_kernel[0] && !in_kernel[1]);
    jobs_may_end = 1;
    timeout;
    assert(pending == 0 || owed); /* who is held up is so still */
    nobody_is_held_up = 1;
    goto at_rest
  :: true ->
    jobs_may_end = 1;
    nobody_is_held_up = 1;
    goto at_rest
  :: true ->
    jobs_may_end = 1;
    nobody_is_held_up = 1
  fi;
stop:
  atomic {
    lock();
    stopping = 1;
    if
    :: sleeping[0] ->
      take_from_sleep(0);
      list[0] = 1
    :: else
    fi;
    if
    :: sleeping[1] ->
      take_from_sleep(1);
      list[1] = 1
    :: else
    fi;
    unlock()
  };
  if
  :: list[0] -> wake(0)
  :: else
  fi;
  if
  :: list[1] -> wake(1)
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
    waker[0] = NOBODY;
    waker[1] = NOBODY;
    run worker(0);
    run worker(1);
    run notifier(1, 1);
    run notifier(JOBS - 1, 0);
#ifdef LEFT
    run looker();
#endif
    run stopper()
  }
}
