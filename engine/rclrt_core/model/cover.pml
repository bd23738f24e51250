/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a timer is covered (timers/timer_alarm.hpp; in src: timer_clocks.cpp: cover, uncover; settle.cpp: Section::unlock;
 * worker.cpp: sleep, execute, work; timers.cpp: release_covered; sleep.cpp: take_from_sleep, wake_too), checked in every
 * interleaving. The steps of sleeping and waking are those of hand_over.pml.
 *
 * Promises, for a timer and messages:
 * - the timer is released when it is due, also if a notifier is held up for ever at any step outside the lock, and also if
 *   the jobs that run take for ever; and a period later at most, if the thread that covers it gets no CPU;
 * - no job waits while a worker sleeps, but one of the notifier that is held up;
 * - in the end all jobs have been run.
 *
 * Each macro below plants one mistake, and the checker must find it:
 *   WAITS_FOR_WAKER    a worker that was taken from its sleep does not come by itself when the timer is due
 *   LEAVES_ALARM_LATE  a worker whose timer was taken from it leaves the alarm as it was
 *   SETS_OLD           a thread that sets the alarm reads the decision before it has the alarm's lock
 *   SKIPS_COVERED      a worker that has not kept its sleep to the end is still taken for one that covers
 *   TRUSTS_COVERER     the timer thread does not look after a timer that somebody covers
 *   LEAVES_NEXT        a worker that releases a timer decides no alarm for the release after it
 *   SETS_AFTER_JOB     a worker runs its job before it sets the alarm
 * PERIODIC is no mistake: the timer is due twice, the second time after a shorter period; there is one message less, and a
 * worker may get no CPU. Nor is TWO: a second timer, which is due a little later, comes with the first one, and the first one
 * may be cancelled; there is one message less.
 */

#define WORKERS 2
#define NOBODY 255
#define WHOEVER 254
#define NEVER 4
#define LATEST 3 /* what is covered, and not released by then, is released by the timer thread */
#ifdef PERIODIC
#define RELEASES 2 /* at 1 and at 2 */
#define MESSAGES 1
#else
#define RELEASES 1 /* at 1 */
#ifdef TWO
#define MESSAGES 1
#else
#define MESSAGES 2
#endif
#endif

#define ASLEEP 0
#define AWAKE 1
#define AWAKE_AND_HELD 2

bit mutex;
/* Under the mutex: */
byte pending;
byte waking;
bit sleeping[WORKERS];
byte waker[WORKERS];
byte due = 1; /* the next release; NEVER: there is none */
#ifdef TWO
byte second = 2; /* of the second timer, which nobody covers */
#else
byte second = NEVER;
#endif
byte released;
byte covered_by = NOBODY;
byte decided = NEVER; /* when the alarm is to go off; written under the mutex */
bit is_set = 1; /* the alarm, to what was decided last */
bit stopping;
bit owed; /* the notifier that may be held up has brought a job and not woken anybody yet */
/* Not under the mutex: */
byte alarm = NEVER;
byte now;
byte word[WORKERS];
byte until[WORKERS];
bit in_kernel[WORKERS];
byte executed;
bit has_no_cpu; /* worker 0, once it has covered a timer to the end */
bit jobs_may_end;
bit nobody_is_held_up;

inline lock() { atomic { mutex == 0; mutex = 1 } }
inline unlock() { mutex = 0 }

inline decide(t)
{
  decided = t;
  is_set = 0
}

inline no_later_than(t)
{
  if
  :: t < decided -> decide(t)
  :: else
  fi
}

/* It looks after the alarm when it comes. */
inline uncover(w)
{
#ifndef SKIPS_COVERED
  if
  :: covered_by == w -> covered_by = NOBODY
  :: else
  fi
#else
  skip
#endif
}

inline take_from_sleep(w)
{
  uncover(w);
  sleeping[w] = 0;
  waker[w] = _pid;
  waking++
}

inline wake_too(w)
{
  if
  :: waker[w] != NOBODY && waker[w] != _pid ->
    waker[w] = _pid;
    hurried = hurried | (1 << w);
    if
    :: word[w] == ASLEEP -> word[w] = AWAKE_AND_HELD
    :: else
    fi
  :: else
  fi
}

inline wake_for(chosen)
{
  chosen = NOBODY;
  if
  :: waking < pending && sleeping[0] -> chosen = 0
  :: waking < pending && sleeping[1] -> chosen = 1
  :: else
  fi;
  if
  :: chosen != NOBODY -> take_from_sleep(chosen)
  :: else
  fi;
  if
  :: pending > 0 ->
    wake_too(0);
    wake_too(1)
  :: else
  fi
}

inline be_held_up()
{
  if
  :: true
  :: may_be_held_up -> nobody_is_held_up
  fi
}

/* What is asked for under the mutex when the timer is due. */
inline release()
{
  if
  :: due <= now ->
    due = (due < RELEASES -> due + 1 : NEVER);
    covered_by = NOBODY;
    pending++;
    released++
  :: else
  fi;
  if
  :: second <= now ->
    second = NEVER;
    pending++;
    released++
  :: else
  fi
}

/* TimerClocks::next_release() */
inline next_release()
{
  if
#ifdef TRUSTS_COVERER
  :: covered_by != NOBODY -> time = NEVER
#else
  :: covered_by != NOBODY -> time = LATEST
#endif
  :: covered_by == NOBODY && second < due -> time = second
  :: else -> time = due
  fi
}

/* TimerAlarm::set(), which has a lock of its own: one step. */
inline set_alarm()
{
#ifdef SETS_OLD
  time = decided;
#endif
  atomic {
    if
    :: sets && !is_set ->
      be_held_up();
#ifndef SETS_OLD
      time = decided;
#endif
      alarm = time;
      is_set = 1
    :: else
    fi;
    sets = 0;
    time = 0
  }
}

inline wake(chosen)
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
    word[chosen] = AWAKE;
    atomic {
      be_held_up();
      in_kernel[chosen] = 0;
      chosen = NOBODY
    }
  :: else
  fi
}

proctype worker(byte me)
{
  bit may_be_held_up = 0;
  byte next = NOBODY;
  byte hurried = 0;
  byte time;
  bit sets = 0;
  bit covers;

asking:
  lock();
asking_locked:
  atomic {
    if
    :: stopping -> goto ended
    :: !stopping && pending == 0 -> goto sleeping_down
    :: !stopping && pending > 0 -> pending--
    fi;
    wake_for(next);
    unlock()
  };
#ifdef SETS_AFTER_JOB
  wake(next);
  jobs_may_end;
  set_alarm();
#else
  set_alarm();
  wake(next);
  jobs_may_end; /* waits until it is true */
#endif
  executed++;
  goto asking;

sleeping_down:
  atomic {
    covers = 0;
    if
    :: word[me] == AWAKE_AND_HELD ->
      word[me] = ASLEEP;
      waker[me] = WHOEVER;
      waking++
    :: else ->
      word[me] = ASLEEP;
      sleeping[me] = 1
    fi;
    if
    :: due != NEVER && covered_by == NOBODY && sleeping[me] ->
      covered_by = me;
      covers = 1;
      if
      :: true
      :: decided <= due ->
        next_release();
        decide(time);
        sets = 1
      fi
    :: else
    fi;
    until[me] = (covers -> due : NEVER);
    unlock()
  };
  set_alarm();
  atomic {
    if
    :: word[me] == ASLEEP -> in_kernel[me] = 1
    :: else
    fi
  };
#ifdef WAITS_FOR_WAKER
  !in_kernel[me] || (until[me] <= now && sleeping[me]);
#else
  !in_kernel[me] || until[me] <= now;
#endif
#ifdef PERIODIC
  if
  :: true
  :: me == 0 && covers && until[me] <= now -> /* others take its CPU */
    has_no_cpu = 1;
    nobody_is_held_up
  fi;
#endif
  atomic {
    in_kernel[me] = 0;
    lock();
    if
    :: sleeping[me] ->
      sleeping[me] = 0;
      word[me] = AWAKE
    :: else ->
      assert(waking > 0);
      waking--;
      waker[me] = NOBODY;
      if
      :: word[me] == ASLEEP -> word[me] = AWAKE_AND_HELD
      :: else
      fi
    fi;
    if
#ifdef LEAVES_ALARM_LATE
    :: covers && covered_by == me ->
#else
    :: covers ->
#endif
      release();
      uncover(me);
#ifndef LEAVES_NEXT
      next_release();
      no_later_than(time);
      sets = 1
#endif
    :: else
    fi;
    goto asking_locked
  };

ended:
  unlock();
  word[me] != AWAKE_AND_HELD /* waits until it is true */
}

proctype timers()
{
  bit may_be_held_up = 0;
  byte chosen = NOBODY;
  byte hurried = 0;
  byte time;
  bit sets = 0;
  do
  :: atomic {
      lock();
      if
      :: stopping -> break
      :: else
      fi;
      next_release();
      if
      :: time <= now ->
        release();
        wake_for(chosen)
      :: else
      fi;
      next_release();
      decide(time);
      sets = 1;
      unlock()
    };
    set_alarm();
    wake(chosen);
    atomic {
      alarm <= now; /* waits until it is true */
      alarm = NEVER
    }
  od;
  unlock()
}

proctype notifier(bit may_be_held_up)
{
  byte chosen = NOBODY;
  byte hurried = 0;
  byte time;
  bit sets = 0;
  atomic {
    lock();
    pending++;
    if
    :: may_be_held_up -> owed = 1
    :: else
    fi;
    wake_for(chosen);
    unlock()
  };
  set_alarm();
  wake(chosen);
  owed = (may_be_held_up -> 0 : owed)
}

#ifdef TWO
proctype canceller()
{
  atomic {
    lock();
    if
    :: covered_by != NOBODY && due > now ->
      due = NEVER;
      covered_by = NOBODY
    :: else
    fi;
    unlock()
  }
}
#endif

proctype stopper()
{
  bit may_be_held_up = 0;
  byte time;
  bit sets = 0;
  bit list[WORKERS];
  timeout;
  assert(due == NEVER && second == NEVER || has_no_cpu);
  now = LATEST;
  timeout;
  assert(due == NEVER && second == NEVER);
  assert(pending == 0 || owed || has_no_cpu || !sleeping[0] && !sleeping[1]);
  jobs_may_end = 1;
  timeout;
  nobody_is_held_up = 1;
  timeout;
  assert(pending == 0 && executed == released + MESSAGES);
  atomic {
    lock();
    stopping = 1;
    decide(0);
    sets = 1;
    if
    :: sleeping[0] ->
      sleeping[0] = 0;
      waking++;
      list[0] = 1
    :: else
    fi;
    if
    :: sleeping[1] ->
      sleeping[1] = 0;
      waking++;
      list[1] = 1
    :: else
    fi;
    unlock()
  };
  set_alarm();
  atomic {
    if
    :: list[0] -> word[0] = AWAKE; in_kernel[0] = 0
    :: else
    fi;
    if
    :: list[1] -> word[1] = AWAKE; in_kernel[1] = 0
    :: else
    fi
  }
}

init
{
  atomic {
    waker[0] = NOBODY;
    waker[1] = NOBODY;
    run worker(0);
    run worker(1);
    run timers();
    run notifier(1);
#if MESSAGES == 2
    run notifier(0);
#endif
#ifdef TWO
    run canceller();
#endif
    run stopper()
  };
  now = 1;
#if MESSAGES == 1
  now = 2
#endif
}
