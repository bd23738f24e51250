/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The TIDE executor [PoDS §5.1]: callbacks by priority, one collected and run at a time.
 *
 * TimerList is a heap by next call time, ReadyList a queue by priority. A round moves expired
 * timers to ReadyList, asks the trigger, and runs the most urgent callback; data puts its reader
 * into ReadyList when it arrives. Only ready callbacks are looked at, so a round costs the same
 * however many callbacks there are: O(log timers) for each that expired, constant for the rest.
 *
 * Larger priorities are more urgent. The rule for chains [PoDS §3.1]: chains in order of
 * importance, and within a chain later callbacks above earlier ones; see rclrt_chain_priorities().
 *
 * Triggers. ANY, the default, has no batches. With another trigger, with LET, or with a callback
 * that runs ALWAYS, a round is a batch: when the trigger holds, everything that is ready is granted
 * together (with LET, its data is taken then), and runs by priority before the trigger is asked
 * again. A ready callback stays ready while the trigger does not hold; nothing is lost. ALL, and granting
 * one callback, take one step per callback in a critical section.
 *
 * Preemption levels. Priorities can be cut into levels, each with a context of its own in the port
 * (interrupt priority, task, thread, or virtual context): see rclrt_executor_use_levels().
 *
 * Storage of executors, timers and guard conditions may hold anything when it is initialised or
 * added. If another function is called before that, the storage must be zero, as static storage is:
 * then the call is refused, or nothing happens.
 */
#pragma once

#include "rclrt_micro/budget.h"
#include "rclrt_micro/session.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RCLRT_LEVELS_MAX 4U

enum rclrt_trigger
{
  RCLRT_TRIGGER_ANY,
  RCLRT_TRIGGER_ALL,
  RCLRT_TRIGGER_ONE, /* a certain callback is ready */
  RCLRT_TRIGGER_ALWAYS,
};

enum rclrt_semantics
{
  RCLRT_SEMANTICS_RCLCPP, /* a message is taken just before its callback runs */
  RCLRT_SEMANTICS_LET,    /* all messages of a batch are taken before its first callback */
};

enum rclrt_invocation
{
  RCLRT_ON_NEW_DATA,
  RCLRT_ALWAYS, /* in every batch, with a null message when there is none */
};

struct rclrt_executor;
struct rclrt_trace; /* trace.h */

/* The executor's view of a callback; the first member of timers, subscriptions, ... */
struct rclrt_callback
{
  struct rclrt_link ready_link; /* in ReadyList, or granted */
  struct rclrt_link all_link;   /* in order of registration */
  struct rclrt_executor * executor;
  struct rclrt_sink * sink;     /* null unless it gets messages */
  struct rclrt_budget * budget; /* of runs, or null */
  uint8_t priority;
  uint8_t invocation; /* enum rclrt_invocation */
  bool ready;         /* in ReadyList */
  bool granted;       /* in the current batch */
  bool fresh;         /* LET: a message was taken */
  uint16_t traced;    /* its entry in the trace, from 1; 0: none */
  /* Takes the next message. False: there is none. Null: there is nothing to take. */
  bool (*take)(struct rclrt_callback * callback, uint8_t * buffer, size_t capacity);
  void (*run)(struct rclrt_callback * callback, bool fresh);
};

struct rclrt_timer
{
  struct rclrt_callback callback;
  struct rclrt_heap_node due; /* key: next call time, ns */
  uint64_t period_ns;
  uint32_t overruns; /* expirations skipped because the one before had not run; phase is kept */
  uint64_t called_for_ns; /* nominal time of the call that is running or ready */
  void (*run)(void * context, struct rclrt_timer * timer);
  void * context;
};

struct rclrt_guard
{
  struct rclrt_callback callback;
  void (*run)(void * context);
  void * context;
};

struct rclrt_executor
{
  struct rclrt_session * session;
  struct rclrt_daemon * daemon;
  const struct rclrt_port * port;
  struct rclrt_queue ready;
  struct rclrt_list granted; /* most urgent first */
  struct rclrt_heap timers;
  struct rclrt_list all;
  uint8_t * buffers; /* one message a level */
  uint16_t buffer_size;
  uint8_t trigger;   /* enum rclrt_trigger */
  uint8_t semantics; /* enum rclrt_semantics */
  uint8_t levels;
  uint8_t floors[RCLRT_LEVELS_MAX];
  const struct rclrt_callback * trigger_callback;
  /* Set by the first callback, by what makes batches, and by the first timer: other programs do not link
   * them. `run_next`: false if nothing is ready. */
  bool (*run_next)(struct rclrt_executor * executor);
  struct rclrt_callback * (*next_of_batch)(struct rclrt_executor * executor);
  uint64_t (*collect)(struct rclrt_executor * executor); /* rclrt_executor_collect() */
  void (*take_out)(struct rclrt_executor * executor, struct rclrt_callback * callback);
  struct rclrt_trace * trace; /* or null */
  uint16_t always;            /* callbacks with RCLRT_ALWAYS */
  uint32_t executed;          /* callbacks run */
  uint32_t empty;             /* jobs whose message had been lost, or failed its check */
};

/* `timer_slots`: room for `timer_count` timers. `buffers`: `levels` times the daemon's
 * message_capacity (1 unless rclrt_executor_use_levels() is called). Errors: ARGUMENT. */
enum rclrt_ret rclrt_executor_init(
  struct rclrt_executor * executor, struct rclrt_session * session,
  struct rclrt_heap_node ** timer_slots, uint16_t timer_count, uint8_t * buffers);
/* Before anything is added. Level i runs the priorities from floors[i] up to floors[i+1]; floors[0]
 * is 0, floors rise. Needs port->pend. Timers are then collected by rclrt_executor_collect() from a
 * timer interrupt at the time it returned. Only trigger ANY with RCLCPP. Errors: ARGUMENT. */
enum rclrt_ret rclrt_executor_use_levels(
  struct rclrt_executor * executor, const uint8_t * floors, uint8_t levels);
/* `callback`: for RCLRT_TRIGGER_ONE the one that has to be ready; else null. While nothing
 * spins. Errors of these two: ARGUMENT (also: levels are used, which want trigger ANY and RCLCPP). */
enum rclrt_ret rclrt_executor_set_trigger(
  struct rclrt_executor * executor, enum rclrt_trigger trigger,
  const struct rclrt_callback * callback);
enum rclrt_ret rclrt_executor_set_semantics(
  struct rclrt_executor * executor, enum rclrt_semantics semantics);

/* A periodic timer, first called one period from now. A period may be as long as forever. Errors:
 * ARGUMENT (also when it is in this executor already; it must be in no other), STORAGE
 * (timer_count). Takes one step per callback, as adding a guard condition. */
enum rclrt_ret rclrt_executor_add_timer(
  struct rclrt_executor * executor, struct rclrt_timer * timer, uint64_t period_ns,
  uint8_t priority, void (*run)(void * context, struct rclrt_timer * timer), void * context);
/* First called at `first_ns` of the port's clock: for timers that share a phase. */
enum rclrt_ret rclrt_executor_add_timer_at(
  struct rclrt_executor * executor, struct rclrt_timer * timer, uint64_t first_ns,
  uint64_t period_ns, uint8_t priority, void (*run)(void * context, struct rclrt_timer * timer),
  void * context);
/* A timer that was cancelled can be added again. */
void rclrt_timer_cancel(struct rclrt_timer * timer);
enum rclrt_ret rclrt_executor_add_guard(
  struct rclrt_executor * executor, struct rclrt_guard * guard, uint8_t priority,
  void (*run)(void * context), void * context);
/* Makes it ready. From any context, interrupts included. */
void rclrt_guard_trigger(struct rclrt_guard * guard);
/* What client.h adds subscriptions, services and clients by: use rclrt_executor_add_subscription() and
 * the like. */
enum rclrt_ret rclrt_executor_add_on_new_data(
  struct rclrt_executor * executor, struct rclrt_callback * callback, uint8_t priority);
enum rclrt_ret rclrt_executor_add_always(
  struct rclrt_executor * executor, struct rclrt_callback * callback, uint8_t priority);
typedef enum rclrt_ret rclrt_adder(
  struct rclrt_executor * executor, struct rclrt_callback * callback, uint8_t priority);
/* Inline: so a program that has no RCLRT_ALWAYS links no batches. */
static inline rclrt_adder * rclrt_adder_for(enum rclrt_invocation invocation)
{
  return invocation == RCLRT_ALWAYS ? rclrt_executor_add_always : rclrt_executor_add_on_new_data;
}
void rclrt_executor_remove(struct rclrt_executor * executor, struct rclrt_callback * callback);
/* A budget of runs, from now on; null for no limit. Call it after the callback is added. Batches do
 * not look at budgets. */
enum rclrt_ret rclrt_callback_set_budget(
  struct rclrt_callback * callback, struct rclrt_budget * budget);
/* Ready, unless it is already. From any context, interrupts included. Constant time. */
void rclrt_callback_make_ready(struct rclrt_callback * callback);

/* Priorities of `chains` chains of `length` callbacks each: the first chain is the most urgent, and
 * later callbacks of a chain are above earlier ones. False when they do not fit into 32. */
bool rclrt_chain_priorities(unsigned chains, unsigned length, uint8_t * priorities);

/* One round [PoDS Fig. 6]: at most one callback is run; waits at most `timeout_ns` for one to
 * become ready. Errors: TIMEOUT (none did), TRANSPORT. */
enum rclrt_ret rclrt_executor_spin_some(struct rclrt_executor * executor, uint64_t timeout_ns);
/* Runs rounds until `*stop`, which is looked at before each round. */
enum rclrt_ret rclrt_executor_spin(struct rclrt_executor * executor, const volatile bool * stop);
/* At the begin of every period, counted from now without drift, rounds until nothing is ready or
 * the period is over; with batches at most one batch, the rest of which comes first in the next
 * period. In between only the line is served. A period that was missed is left out. Errors:
 * ARGUMENT, TRANSPORT.
 */
enum rclrt_ret rclrt_executor_spin_period(
  struct rclrt_executor * executor, uint64_t period_ns, const volatile bool * stop);
/* Expired timers become ready. Returns when the next expires, UINT64_MAX for never. */
uint64_t rclrt_executor_collect(struct rclrt_executor * executor);
/* Call it when port->pend has asked for it. Runs everything ready at `level`, most urgent first;
 * nothing if there is no such level. Returns when to call it again if it is not pended before: then
 * a budget that is used up is full again. UINT64_MAX: no need. */
uint64_t rclrt_executor_run_level(struct rclrt_executor * executor, unsigned level);

/* Waits for the line for at most `timeout_ns`, handles what it brings, and looks after the session. What
 * a port's loop calls while the levels run callbacks; without levels spinning does it. Errors: TRANSPORT,
 * but if the session is kept alive, a line that breaks is opened anew instead. */
enum rclrt_ret rclrt_executor_serve(struct rclrt_executor * executor, uint64_t timeout_ns);

/* For comparison: one round of today's batch executor [PoDS §2.2]. All callbacks are looked at in
 * order of registration; those ready at the begin of the round run, in that order; of the frames
 * received only the oldest makes its callback ready. Linear in the callbacks, once more for each
 * that runs: any of them may remove others. */
enum rclrt_ret rclrt_batch_spin_some(struct rclrt_executor * executor, uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif
