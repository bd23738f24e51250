/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first program in README.md: a timer publishes. The argument is the device of the line.
 */
#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"
RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 8, ring_bytes = 1024, timers = 1);
static struct rclrt_publisher tick;
static struct rclrt_timer timer;
static int32_t count;
static void on_timer(void * context, struct rclrt_timer * of)
{
  (void)context, (void)of;
  count += rclrt_publish(&tick, &count) == RCLRT_OK ? 1 : 0;
}
int main(int argc, char ** argv)
{
  static struct rclrt_posix line;
  static const bool never = false;
  const char * device = argc > 1 ? argv[1] : "/dev/ttyUSB0";
  if (rclrt_posix_start_serial(&line, client, device, 115200, 1, "board", RCLRT_S(10)) != RCLRT_OK)
    return 1;
  rclrt_publisher_init(&tick, client->node, &rclrt_type_int32, "tick", rclrt_qos_reliable(), 1);
  rclrt_executor_add_timer(client->executor, &timer, RCLRT_MS(100), 1, on_timer, NULL);
  return (int)rclrt_executor_spin(client->executor, &never);
}
