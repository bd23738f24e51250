/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an end of an action could not send.
 */

#include "action_internal.h"

static bool has_type(const struct rclrt_type * type)
{
  return type != NULL && type->encode != NULL && type->decode != NULL;
}

enum rclrt_ret action_check(
  const struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names)
{
  if (
    !executor_usable(executor) || type == NULL || names == NULL || !has_type(type->goal) ||
    !has_type(type->result) || !has_type(type->feedback)) {
    return RCLRT_ERR_ARGUMENT;
  }
  return executor->semantics == RCLRT_SEMANTICS_LET ? RCLRT_ERR_UNSUPPORTED : RCLRT_OK;
}

static void expire(void * context, struct rclrt_timer * timer)
{
  (void)timer;
  action_settle(context);
}

enum rclrt_ret action_init_owed(
  struct rclrt_action_owed * owed, struct rclrt_executor * executor, uint8_t priority,
  bool (*settle)(void * end), void * end)
{
  owed->settle = settle;
  owed->end = end;
  return rclrt_executor_add_timer_at(
    executor, &owed->timer, UINT64_MAX, UINT64_MAX, priority, expire, owed);
}

void action_settle(struct rclrt_action_owed * owed)
{
  struct rclrt_executor * executor = owed->timer.callback.executor;
  if (!owed->settle(owed->end) && executor != NULL) {
    const uint64_t now = executor->port->now_ns(executor->port->context);
    const uint32_t token = executor_enter(executor);
    timer_set(executor, &owed->timer, time_after(now, ACTION_RETRY_NS));
    executor_leave(executor, token);
    daemon_wake(executor->daemon); /* a thread that waits for a timer looks again */
  }
}
