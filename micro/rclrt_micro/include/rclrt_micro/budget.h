/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A budget against starvation: an amount for each period; when it is used up, others come first. It
 * counts runs of callbacks, or bytes on the line, repeats included. Several callbacks or streams
 * may share one, for example those of a chain.
 *
 * It is full again a period after the first use since it was full. Work whose budget is used up
 * comes after all other work, however urgent it is. If there is no other work, it goes on; with
 * preemption levels it waits. The last use may exceed it. In any period that begins with a full
 * budget, at most `amount` and one use more are spent ahead of others. Across two periods twice
 * that may come in a row, as with a deferrable server.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rclrt_micro/ret.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rclrt_budget
{
  uint64_t period_ns;
  uint32_t amount; /* runs, or bytes without framing */
  uint32_t left;
  uint64_t full_ns;   /* when it is full again */
  uint32_t exhausted; /* how often it has been used up; wraps */
  /* Through pointers, so that a program without budgets does not link them. */
  bool (*has_left)(struct rclrt_budget * budget, uint64_t now_ns);
  void (*use)(struct rclrt_budget * budget, uint32_t used, uint64_t now_ns);
};

/* Errors: ARGUMENT (an amount of 0: work with it could never run); it cannot be used then. */
enum rclrt_ret rclrt_budget_init(struct rclrt_budget * budget, uint32_t amount, uint64_t period_ns);

/* The next two in a critical section; null is without limit. Constant time. */
static inline bool rclrt_budget_left(struct rclrt_budget * budget, uint64_t now_ns)
{
  return budget == 0 || budget->has_left(budget, now_ns);
}

static inline void rclrt_budget_use(struct rclrt_budget * budget, uint32_t used, uint64_t now_ns)
{
  if (budget != 0) {
    budget->use(budget, used, now_ns);
  }
}

#ifdef __cplusplus
}
#endif
