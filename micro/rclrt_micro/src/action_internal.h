/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What both ends of an action share.
 */
#pragma once

#include <string.h>

#include "client_internal.h"
#include "rclrt_micro/action.h"

#define ACTION_RETRY_NS UINT64_C(10000000)

static inline bool action_same_id(const uint8_t * one, const uint8_t * other)
{
  return rclrt_same_bytes(one, other, RCLRT_GOAL_ID);
}

/* Can there be an end of an action? */
enum rclrt_ret action_check(
  const struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names);
enum rclrt_ret action_init_owed(
  struct rclrt_action_owed * owed, struct rclrt_executor * executor, uint8_t priority,
  bool (*settle)(void * end), void * end);
/* Sends what is owed, now or later. */
void action_settle(struct rclrt_action_owed * owed);

void action_write_info(struct rclrt_writer * writer, const uint8_t * id, int64_t stamp_ns);
int64_t action_read_stamp(struct rclrt_reader * reader);
