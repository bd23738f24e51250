/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The second program in README.md: a subscription prints. The argument is the device of the line.
 */
#include <stdio.h>

#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"
RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 16, ring_bytes = 2048, timers = 1);
static struct rclrt_subscription tick;
static int32_t number;
static void on_tick(void * context, const void * message)
{
  (void)context, (void)message;
  printf("tick %d\n", (int)number);
  fflush(stdout);
}
int main(int argc, char ** argv)
{
  static struct rclrt_posix line;
  static const bool never = false;
  const char * device = argc > 1 ? argv[1] : "/dev/ttyUSB0";
  if (rclrt_posix_start_serial(&line, client, device, 115200, 1, "board", RCLRT_S(10)) != RCLRT_OK)
    return 1;
  rclrt_subscription_init(&tick, client->node, &rclrt_type_int32, "tick", rclrt_qos_reliable());
  rclrt_executor_add_subscription(
    client->executor, &tick, &number, on_tick, NULL, 2, RCLRT_ON_NEW_DATA);
  return (int)rclrt_executor_spin(client->executor, &never);
}
