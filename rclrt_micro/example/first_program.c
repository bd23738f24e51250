/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"
#include "rclrt_micro/types.h"

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
  (void)context;
  printf("tick %d\n", (int)*(const int32_t *)message);
  stop = *(const int32_t *)message == 9;
}

static bool build(struct rclrt_node_handle * node, struct rclrt_executor * executor)
{
  const struct rclrt_qos qos = rclrt_qos_reliable();
  return rclrt_publisher_init(&publisher, node, &rclrt_type_int32, "tick", qos, 1) == RCLRT_OK &&
         rclrt_subscription_init(&subscription, node, &rclrt_type_int32, "tick", qos) == RCLRT_OK &&
         rclrt_executor_add_subscription(
           executor, &subscription, &received, on_tick, NULL, 2, RCLRT_ON_NEW_DATA) == RCLRT_OK &&
         rclrt_executor_add_timer(executor, &timer, 10000000, 1, on_timer, NULL) == RCLRT_OK;
}

int main(int argc, char ** argv)
{
  struct rclrt_posix line;
  return rclrt_posix_serial(&line, argc > 1 ? argv[1] : "/dev/ttyUSB0", 115200) == RCLRT_OK &&
             rclrt_system_start(
               client, RCLRT_FRAMING_SERIAL, &line.port, &line.transport, 1, "first",
               10000000000) == RCLRT_OK &&
             build(&client->node, &client->executor) &&
             rclrt_executor_spin(&client->executor, &stop) == RCLRT_OK
           ? 0
           : 1;
}
