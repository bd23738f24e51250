// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/policy.hpp"

namespace rclrt_core
{
namespace
{

class FirstCome final : public Policy
{
public:
  int64_t rank(const Job &) const noexcept override { return 0; }
  const char * name() const noexcept override { return "first_come"; }
};

}  // namespace

const Policy & first_come_policy() noexcept
{
  static const FirstCome policy;
  return policy;
}

}  // namespace rclrt_core
