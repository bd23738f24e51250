// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/policy.hpp"

namespace rclrt_core
{
namespace
{

class Fifo final : public Policy
{
public:
  bool more_urgent(const Job & a, const Job & b) const noexcept override
  {
    return released_before(a, b);
  }
  const char * name() const noexcept override { return "fifo"; }
};

}  // namespace

const Policy & fifo_policy() noexcept
{
  static const Fifo policy;
  return policy;
}

}  // namespace rclrt_core
