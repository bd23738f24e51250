/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"

static void encode(const void * message, struct rclrt_writer * writer)
{
  rclrt_write_i32(writer, *(const int32_t *)message);
}
static void decode(void * message, struct rclrt_reader * reader)
{
  *(int32_t *)message = rclrt_read_i32(reader);
}
static const struct rclrt_type int32 = {"std_msgs::msg::dds_::Int32_", encode, decode};

RCLRT_SYSTEM(client, 256, 8, 16, 2048, 4); /* 8 messages of 256 bytes to send, 4 timers */
static struct rclrt_publisher publisher;
static struct rclrt_subscription subscription;
static struct rclrt_timer timer;
static int32_t sent, received;
static bool stop;

static void on_timer(void * context, struct rclrt_timer * of)
{
  (void)context, (void)of;
  sent += rclrt_publish(&publisher, &sent) == RCLRT_OK ? 1 : 0;
}
static void on_tick(void * context, const void * message)
{
  (void)context;
  printf("tick %d\n", (int)*(const int32_t *)message);
  stop = *(const int32_t *)message == 9;
}

int main(int argc, char ** argv)
{
  struct rclrt_posix line;
  const struct rclrt_qos qos = rclrt_qos_reliable();
  const bool ok =
    rclrt_posix_serial(&line, argc > 1 ? argv[1] : "/dev/ttyUSB0", 115200) == RCLRT_OK &&
    rclrt_system_start(
      client, RCLRT_FRAMING_SERIAL, &line.port, &line.transport, 1, "first", 10000000000) ==
      RCLRT_OK &&
    rclrt_publisher_init(&publisher, &client->node, &int32, "tick", qos, 1) == RCLRT_OK &&
    rclrt_subscription_init(&subscription, &client->node, &int32, "tick", qos) == RCLRT_OK &&
    rclrt_executor_add_subscription(
      &client->executor, &subscription, &received, on_tick, NULL, 2, RCLRT_ON_NEW_DATA) ==
      RCLRT_OK &&
    rclrt_executor_add_timer(&client->executor, &timer, 10000000, 1, on_timer, NULL) == RCLRT_OK;
  return ok && rclrt_executor_spin(&client->executor, &stop) == RCLRT_OK ? 0 : 1;
}
