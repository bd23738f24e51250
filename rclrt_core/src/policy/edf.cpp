// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/policy.hpp"

namespace rclrt_core
{
namespace
{

class Edf final : public Policy
{
public:
  bool more_urgent(const Job & a, const Job & b) const noexcept override
  {
    return a.deadline != b.deadline ? a.deadline < b.deadline : released_before(a, b);
  }
  const char * name() const noexcept override { return "edf"; }
};

}  // namespace

const Policy & edf_policy() noexcept
{
  static const Edf policy;
  return policy;
}

}  // namespace rclrt_core
