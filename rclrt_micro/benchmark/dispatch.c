/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one callback costs beside its own work: run it under callgrind, which counts instructions in
 * dispatch(). test/test_cost.py does.
 *
 *   rclrt_micro_dispatch tide|batch CALLBACKS ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rclrt_micro/system.h"

#define MOST 32

void dispatch(struct rclrt_executor * executor, bool batch, int rounds, struct rclrt_guard * guard);

static uint64_t now_ns(void * context)
{
  (void)context;
  return 1;
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

RCLRT_SYSTEM(client, 256, 8, 16, 2048, 4);

__attribute__((noinline)) void dispatch(
  struct rclrt_executor * executor, bool batch, int rounds, struct rclrt_guard * guard)
{
  for (int i = 0; i < rounds; ++i) {
    rclrt_guard_trigger(guard);
    (void)(batch ? rclrt_batch_spin_some : rclrt_executor_spin_some)(executor, 0);
  }
}

int main(int argc, char ** argv)
{
  static struct rclrt_guard guards[MOST];
  const struct rclrt_port port = {NULL, now_ns, enter, leave, NULL, NULL};
  const struct rclrt_transport transport = {NULL, NULL, NULL, write_nowhere, read_nothing};
  const uint8_t key[4] = {0, 0, 0, 1};
  const int callbacks = argc == 4 ? atoi(argv[2]) : 0;
  const int rounds = argc == 4 ? atoi(argv[3]) : 0;
  if (callbacks < 1 || callbacks > MOST || rounds < 1) {
    (void)fprintf(stderr, "usage: %s tide|batch CALLBACKS(1-%d) ROUNDS\n", argv[0], MOST);
    return 2;
  }
  if (
    rclrt_daemon_init(&client->daemon, &client->config, &port, &transport) != RCLRT_OK ||
    rclrt_session_init(
      &client->session, &client->daemon, RCLRT_SESSION_DEFAULT, key, client->session_buffer,
      client->config.message_capacity) != RCLRT_OK ||
    rclrt_executor_init(
      &client->executor, &client->session, client->timer_slots, client->timer_count,
      client->take_buffer) != RCLRT_OK) {
    return 1;
  }
  for (int i = 0; i < callbacks; ++i) {
    (void)rclrt_executor_add_guard(&client->executor, &guards[i], (uint8_t)i, nothing, NULL);
  }
  dispatch(&client->executor, strcmp(argv[1], "batch") == 0, rounds, &guards[callbacks / 2]);
  printf("%u callbacks run\n", (unsigned)client->executor.executed);
  return client->executor.executed == (uint32_t)rounds ? 0 : 1;
}
