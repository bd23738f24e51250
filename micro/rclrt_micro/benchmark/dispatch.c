/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one callback costs beside its own work: run it under callgrind, which counts instructions in
 * dispatch(). test/test_cost.py does.
 *
 *   rclrt_micro_dispatch tide|batch CALLBACKS ROUNDS    one of so many guard conditions a round
 *   rclrt_micro_dispatch timers TIMERS ROUNDS           one of so many timers a round
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rclrt_micro/system.h"

#define MOST 32
#define MOST_TIMERS 4096

void dispatch(struct rclrt_executor * executor, bool batch, int rounds, struct rclrt_guard * guard);

static uint64_t clock_ns = 1;
static uint64_t now_ns(void * context)
{
  (void)context;
  return clock_ns;
}
static uint32_t enter(void * context)
{
  (void)context;
  return 0;
}
static void leave(void * context, uint32_t token) { (void)context, (void)token; }
static ptrdiff_t write_nowhere(void * context, const uint8_t * bytes, size_t size)
{
  (void)context, (void)bytes;
  return (ptrdiff_t)size;
}
static ptrdiff_t read_nothing(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  (void)context, (void)bytes, (void)capacity, (void)timeout_ns;
  return 0;
}
static void nothing(void * context) { (void)context; }
static void no_timer(void * context, struct rclrt_timer * timer) { (void)context, (void)timer; }

RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 16, ring_bytes = 2048, timers = 4);

__attribute__((noinline)) void dispatch(
  struct rclrt_executor * executor, bool batch, int rounds, struct rclrt_guard * guard)
{
  for (int i = 0; i < rounds; ++i) {
    clock_ns++;
    rclrt_guard_trigger(guard); /* null: a timer expires instead */
    (void)(batch ? rclrt_batch_spin_some : rclrt_executor_spin_some)(executor, 0);
  }
}

int main(int argc, char ** argv)
{
  static struct rclrt_guard guards[MOST];
  static struct rclrt_timer timers[MOST_TIMERS];
  static struct rclrt_heap_node * timer_slots[MOST_TIMERS];
  const struct rclrt_port port = {NULL, now_ns, enter, leave, NULL, NULL};
  const struct rclrt_transport transport = {NULL, NULL, NULL, write_nowhere, read_nothing};
  const uint8_t key[4] = {0, 0, 0, 1};
  const int callbacks = argc == 4 ? atoi(argv[2]) : 0;
  const int rounds = argc == 4 ? atoi(argv[3]) : 0;
  const bool by_timers = argc == 4 && strcmp(argv[1], "timers") == 0;
  const int most = by_timers ? MOST_TIMERS : MOST;
  if (callbacks < 1 || callbacks > most || rounds < 1) {
    (void)fprintf(
      stderr, "usage: %s tide|batch CALLBACKS(1-%d) ROUNDS\n       %s timers TIMERS(1-%d) ROUNDS\n",
      argv[0], MOST, argv[0], MOST_TIMERS);
    return 2;
  }
  if (
    rclrt_daemon_init(client->daemon, client->config, &port, &transport) != RCLRT_OK ||
    rclrt_session_init(
      client->session, client->daemon, RCLRT_SESSION_DEFAULT, key, client->session_buffer,
      client->session_buffer_size) != RCLRT_OK ||
    rclrt_executor_init(
      client->executor, client->session, timer_slots, MOST_TIMERS, client->take_buffers) !=
      RCLRT_OK) {
    return 1;
  }
  for (int i = 0; i < callbacks; ++i) {
    if (by_timers) { /* the one that expires becomes the last to expire */
      (void)rclrt_executor_add_timer_at(
        client->executor, &timers[i], (uint64_t)i + 2U, (uint64_t)callbacks, 1, no_timer, NULL);
    } else {
      (void)rclrt_executor_add_guard(client->executor, &guards[i], (uint8_t)i, nothing, NULL);
    }
  }
  struct rclrt_guard * const guard = by_timers ? NULL : &guards[callbacks / 2];
  dispatch(client->executor, strcmp(argv[1], "batch") == 0, rounds, guard);
  printf("%u callbacks run\n", (unsigned)client->executor->executed);
  return client->executor->executed == (uint32_t)rounds ? 0 : 1;
}
