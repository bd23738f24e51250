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
  int64_t rank(const Job &) const noexcept override { return 0; }
  const char * name() const noexcept override { return "fifo"; }
};

}  // namespace

const Policy & fifo_policy() noexcept
{
  static const Fifo policy;
  return policy;
}

}  // namespace rclrt_core
