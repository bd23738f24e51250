/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/budget.h"

#include <stddef.h>

static bool has_left(struct rclrt_budget * budget, uint64_t now_ns)
{
  if (budget->left < budget->amount && now_ns >= budget->full_ns) {
    budget->left = budget->amount;
  }
  return budget->left > 0;
}

static void use(struct rclrt_budget * budget, uint32_t used, uint64_t now_ns)
{
  if (budget->left == 0) {
    return;
  }
  if (budget->left == budget->amount) {
    const uint64_t left_ns = UINT64_MAX - now_ns; /* a period may be as long as forever */
    budget->full_ns = budget->period_ns < left_ns ? now_ns + budget->period_ns : UINT64_MAX;
  }
  budget->left = used < budget->left ? budget->left - used : 0;
  budget->exhausted += budget->left == 0 ? 1U : 0U;
}

enum rclrt_ret rclrt_budget_init(struct rclrt_budget * budget, uint32_t amount, uint64_t period_ns)
{
  const struct rclrt_budget full = {period_ns, amount, amount, 0, 0, has_left, use};
  if (budget == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  *budget = full;
  return amount == 0 ? RCLRT_ERR_ARGUMENT : RCLRT_OK;
}
