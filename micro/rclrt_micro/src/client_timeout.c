/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients that wait no longer than so long. Linked by programs that use it.
 */
#include <string.h>

#include "client_internal.h"

/* The next expiry at `due_ns`; UINT64_MAX: none. */
static void arm(struct rclrt_client_timeout * timeout, uint64_t due_ns, uint16_t number)
{
  struct rclrt_executor * executor = timeout->timer.callback.executor;
  if (executor == NULL) {
    return; /* cancelled by the program */
  }
  const uint32_t token = executor_enter(executor);
  timeout->waits = due_ns != UINT64_MAX;
  timeout->number = number;
  timer_set(executor, &timeout->timer, due_ns);
  executor_leave(executor, token);
}

static void follow(struct rclrt_client * client, enum rclrt_client_news news, uint16_t number)
{
  struct rclrt_client_timeout * timeout = client->timeout;
  if (news == RCLRT_CLIENT_ASKS) {
    const uint64_t now = session_now(client->end.session);
    arm(timeout, time_after(now, timeout->after_ns), number);
  } else if (news == RCLRT_CLIENT_FINISHED) {
    rclrt_timer_cancel(&timeout->timer);
  } else if (number == timeout->number) {
    arm(timeout, UINT64_MAX, number);
  }
}

static void expire(void * context, struct rclrt_timer * timer)
{
  (void)timer;
  struct rclrt_client_timeout * timeout = context;
  if (timeout->waits) { /* else the response came when this was ready already */
    timeout->waits = false;
    timeout->run(timeout->context, timeout->number);
  }
}

enum rclrt_ret rclrt_client_set_timeout(
  struct rclrt_client * client, struct rclrt_client_timeout * timeout, uint64_t after_ns,
  void (*run)(void * context, uint16_t number), void * context)
{
  if (
    client == NULL || timeout == NULL || run == NULL || after_ns == 0 || client->timeout != NULL ||
    client->end.callback.executor == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(timeout, 0, sizeof(*timeout)); /* whatever the storage held */
  timeout->after_ns = after_ns;
  timeout->run = run;
  timeout->context = context;
  const enum rclrt_ret ret = rclrt_executor_add_timer_at(
    client->end.callback.executor, &timeout->timer, UINT64_MAX, UINT64_MAX,
    client->end.callback.priority, expire, timeout);
  if (ret == RCLRT_OK) {
    client->timeout = timeout;
    client->follow = follow;
  }
  return ret;
}
