// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/policy.hpp"

namespace rclrt_core
{
namespace
{

class FixedPriority final : public Policy
{
public:
  int64_t rank(const Job & job) const noexcept override { return -job.priority; }
  const char * name() const noexcept override { return "fixed_priority"; }
};

}  // namespace

const Policy & fixed_priority_policy() noexcept
{
  static const FixedPriority policy;
  return policy;
}

}  // namespace rclrt_core
