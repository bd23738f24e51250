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
RCLRT_SYSTEM(client, 256, 8, 16, 2048, 4); /* 8 messages of 256 bytes to send, 4 timers */
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
  struct rclrt_posix line;
  const struct rclrt_qos qos = rclrt_qos_reliable();
  TRY(rclrt_posix_serial(&line, argc > 1 ? argv[1] : "/dev/ttyUSB0", 115200));
  TRY(rclrt_system_start(
    client, RCLRT_FRAMING_SERIAL, &line.port, &line.transport, 1, "first", 10000000000));
  TRY(rclrt_publisher_init(&publisher, &client->node, &rclrt_type_int32, "tick", qos, 1));
  TRY(rclrt_subscription_init(&subscription, &client->node, &rclrt_type_int32, "tick", qos));
  TRY(rclrt_executor_add_subscription(
    &client->executor, &subscription, &received, on_tick, NULL, 2, RCLRT_ON_NEW_DATA));
  TRY(rclrt_executor_add_timer(&client->executor, &timer, 10000000, 1, on_timer, NULL));
  return rclrt_executor_spin(&client->executor, &stop) == RCLRT_OK ? 0 : 1;
}
