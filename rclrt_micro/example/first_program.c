/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"
#include "rclrt_micro/types.h"
#define TRY(call)         \
  if ((call) != RCLRT_OK) \
  return puts("failed: " #call), 1
RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 16, ring_bytes = 2048, timers = 4);
static struct rclrt_publisher publisher;
static struct rclrt_subscription subscription;
static struct rclrt_timer timer;
static int32_t next, received;
static bool stop;
static void on_timer(void * context, struct rclrt_timer * of)
{
  (void)context, (void)of;
  next += rclrt_publish(&publisher, &next) == RCLRT_OK ? 1 : 0;
}
static void on_tick(void * context, const void * message)
{
  (void)context, (void)message;
  printf("tick %d\n", (int)received);
  stop = received == 9;
}
int main(int argc, char ** argv)
{
  static struct rclrt_posix line;
  const struct rclrt_qos qos = rclrt_qos_reliable();
  TRY(rclrt_posix_start_serial(
    &line, client, argc > 1 ? argv[1] : "/dev/ttyUSB0", 115200, 1, "first", RCLRT_S(10)));
  TRY(rclrt_publisher_init(&publisher, client->node, &rclrt_type_int32, "tick", qos, 1));
  TRY(rclrt_subscription_init(&subscription, client->node, &rclrt_type_int32, "tick", qos));
  TRY(rclrt_executor_add_subscription(
    client->executor, &subscription, &received, on_tick, NULL, 2, RCLRT_ON_NEW_DATA));
  TRY(rclrt_executor_add_timer(client->executor, &timer, RCLRT_MS(10), 1, on_timer, NULL));
  return rclrt_executor_spin(client->executor, &stop) == RCLRT_OK ? 0 : 1;
}
