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
  int64_t rank(const Job & job) const noexcept override { return nanoseconds_of(job.deadline); }
  const char * name() const noexcept override { return "edf"; }
};

}  // namespace

const Policy & edf_policy() noexcept
{
  static const Edf policy;
  return policy;
}

}  // namespace rclrt_core
