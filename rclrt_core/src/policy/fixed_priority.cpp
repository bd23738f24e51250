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
  bool more_urgent(const Job & a, const Job & b) const noexcept override
  {
    return a.priority != b.priority ? a.priority > b.priority : released_before(a, b);
  }
  const char * name() const noexcept override { return "fixed_priority"; }
};

}  // namespace

const Policy & fixed_priority_policy() noexcept
{
  static const FixedPriority policy;
  return policy;
}

}  // namespace rclrt_core
