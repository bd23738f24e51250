/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/system.h"

/* What RCLRT_SYSTEM makes, for test_system.cpp: the macros are for C. */
const struct rclrt_system * system_without_long_messages(void);
const struct rclrt_system * system_with_long_messages(void);

RCLRT_SYSTEM(plain, message_bytes = 128, messages = 8, frames = 16, ring_bytes = 1024, timers = 1);
RCLRT_SYSTEM_WITH(
  longer, message_bytes = 128, messages = 4, frames = 16, ring_bytes = 1024, timers = 1,
  long_bytes = 18008, levels = 1, polled = 0);

const struct rclrt_system * system_without_long_messages(void) { return plain; }
const struct rclrt_system * system_with_long_messages(void) { return longer; }
