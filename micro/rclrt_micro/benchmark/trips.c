/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a round trip costs the client: a number is published, acknowledged, comes back, is taken, and that is
 * acknowledged. Run it under callgrind, which counts instructions in trips() but not in peer_...(): test/test_cost.py
 * does. The line is serial, critical sections take nothing, and the agent is that of the firmware of the tests.
 *
 *   rclrt_micro_trips ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>

#include "../firmware/inner_agent.h"
#include "../firmware/mps2.h"
#include "rclrt_micro/client.h"
#include "rclrt_micro/system.h"

#define NS_PER_CYCLE (1000000000U / MPS2_HZ)

static uint64_t clock_ns = 1;

/* What the agent wants of its board. */
uint32_t mps2_cycles(void) { return (uint32_t)(clock_ns / NS_PER_CYCLE); }
void mps2_print(const char * text) { (void)fputs(text, stderr); }
void mps2_exit(int status) { exit(status); }

void peer_take(const uint8_t * bytes, size_t size);
uint32_t peer_next(uint8_t * bytes, size_t capacity, size_t * size);
void trips(int rounds);

__attribute__((noinline)) void peer_take(const uint8_t * bytes, size_t size)
{
  inner_agent_take(bytes, size);
}

/* What has come; else in how many cycles something will. */
__attribute__((noinline)) uint32_t peer_next(uint8_t * bytes, size_t capacity, size_t * size)
{
  uint32_t wait = 0;
  *size = 0;
  while (*size < capacity && (wait = inner_agent_next(&bytes[*size])) == 0) {
    (*size)++;
  }
  return wait;
}

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
static ptrdiff_t write_line(void * context, const uint8_t * bytes, size_t size)
{
  (void)context;
  peer_take(bytes, size);
  return (ptrdiff_t)size;
}
static ptrdiff_t read_line(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  (void)context;
  size_t size = 0;
  const uint32_t wait = peer_next(bytes, capacity, &size);
  if (size == 0) {
    const uint64_t until = wait == UINT32_MAX ? timeout_ns : (uint64_t)wait * NS_PER_CYCLE;
    clock_ns += until < timeout_ns ? until : timeout_ns;
  }
  return (ptrdiff_t)size;
}

RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 16, ring_bytes = 2048, timers = 1);
static struct rclrt_publisher publisher;
static struct rclrt_subscription subscription;
static int32_t number, came;

static void on_number(void * context, const void * message)
{
  (void)context, (void)message;
  came++;
}

__attribute__((noinline)) void trips(int rounds)
{
  for (int32_t i = 0; i < rounds; ++i) {
    (void)rclrt_publish(&publisher, &i);
    while (came == i) { /* ends: the agent loses nothing */
      (void)rclrt_executor_spin_some(client->executor, RCLRT_MS(100));
    }
  }
}

int main(int argc, char ** argv)
{
  const struct rclrt_port port = {NULL, now_ns, enter, leave, NULL, NULL};
  const struct rclrt_transport transport = {NULL, NULL, NULL, write_line, read_line};
  const struct inner_agent agent = {MPS2_HZ / 10000U * 3U, MPS2_HZ / 1000U, true, 0};
  const int rounds = argc == 2 ? atoi(argv[1]) : 0;
  const struct rclrt_qos qos = rclrt_qos_reliable();
  if (rounds < 1) {
    (void)fprintf(stderr, "usage: %s ROUNDS\n", argv[0]);
    return 2;
  }
  inner_agent_start(&agent);
  if (
    rclrt_system_start_serial(client, &port, &transport, 1, "trips", RCLRT_S(10)) != RCLRT_OK ||
    rclrt_publisher_init(&publisher, client->node, &rclrt_type_int32, "up", qos, 1) != RCLRT_OK ||
    rclrt_subscription_init(&subscription, client->node, &rclrt_type_int32, "down", qos) !=
      RCLRT_OK ||
    rclrt_executor_add_subscription(
      client->executor, &subscription, &number, on_number, NULL, 2, RCLRT_ON_NEW_DATA) !=
      RCLRT_OK) {
    return 1;
  }
  (void)rclrt_executor_spin_some(client->executor, RCLRT_MS(50)); /* READ_DATA has arrived */
  trips(rounds);
  printf("%d came back\n", (int)came);
  return came == rounds ? 0 : 1;
}
