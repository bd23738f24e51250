/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Firmware with an emergency stop. Long reports of the motors wait for the line most of the time; a press of the button
 * overtakes them. It runs on a computer as it is. For a board, replace start() (docs/how-to/port-to-a-board.md).
 */
#include <stdio.h>

#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"

enum
{
  MOTORS = 4,
  TEXT_BYTES = 180,
  URGENT = 31,
  AS_IT_FITS = 0
};

RCLRT_SYSTEM(client, message_bytes = 256, messages = 16, frames = 8, ring_bytes = 1024, timers = 1);

static struct rclrt_publisher stop, motors;
static struct rclrt_timer every_100_ms;
static struct rclrt_guard button;
static int32_t reports;

/* The message says how many reports were given to the line before it. */
static void on_button(void * context)
{
  (void)context;
  (void)rclrt_publish(&stop, &reports);
}

/* Each time four reports: 60 ms of a line of 115200 baud. Every fifth time somebody presses the button then. */
static void report(void * context, struct rclrt_timer * timer)
{
  static char bytes[TEXT_BYTES];
  static unsigned times;
  struct rclrt_string text = {bytes, sizeof(bytes)};
  (void)context, (void)timer;
  for (int motor = 0; motor < MOTORS; ++motor) {
    (void)snprintf(bytes, sizeof(bytes), "%*d", TEXT_BYTES - 1, (int)reports);
    reports += rclrt_publish(&motors, &text) == RCLRT_OK ? 1 : 0;
  }
  if (++times % 5 == 0) {
    rclrt_guard_trigger(&button); /* On a board its interrupt does this. */
  }
}

static enum rclrt_ret start(const char * device)
{
  static struct rclrt_posix line;
  return rclrt_posix_start_serial(&line, client, device, 115200, 1, "motors", RCLRT_S(30));
}

int main(int argc, char ** argv)
{
  static const bool never = false;
  enum rclrt_ret ret = start(argc > 1 ? argv[1] : "/dev/ttyUSB0");
  if (ret == RCLRT_OK) {
    ret = rclrt_publisher_init(
      &stop, client->node, &rclrt_type_int32, "stop", rclrt_qos_reliable(), URGENT);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_publisher_init(
      &motors, client->node, &rclrt_type_string, "motors", rclrt_qos_reliable(), AS_IT_FITS);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_executor_add_guard(client->executor, &button, URGENT, on_button, NULL);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_executor_add_timer(
      client->executor, &every_100_ms, RCLRT_MS(100), AS_IT_FITS, report, NULL);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_executor_spin(client->executor, &never);
  }
  (void)fprintf(stderr, "emergency_stop: %s\n", rclrt_ret_text(ret));
  return 1;
}
