/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The firmware of the tests, without what differs between ports: test/test_firmware.py talks to it.
 * It has three levels. The least urgent reads /command, the middle one /down, the most urgent /urgent.
 */
#pragma once

#include "rclrt_micro/system.h"

extern const struct rclrt_system * const program_system;

#define PROGRAM_LEVELS 3U

/* Connects, tells the port by `use_levels` that the executor has levels, and creates everything. */
enum rclrt_ret program_start(
  const struct rclrt_port * port, const struct rclrt_transport * transport,
  enum rclrt_ret (*use_levels)(struct rclrt_executor * executor));

/* The port knows how many bytes of stack were used, ever: by this level, or by the line's task. */
uint32_t program_stack_used(unsigned level);
