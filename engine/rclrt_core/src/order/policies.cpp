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

class FixedPriority final : public Policy
{
public:
  int64_t rank(const Job & job) const noexcept override { return -job.priority; }
  const char * name() const noexcept override { return "fixed_priority"; }
};

class Edf final : public Policy
{
public:
  int64_t rank(const Job & job) const noexcept override { return nanoseconds_of(job.deadline); }
  const char * name() const noexcept override { return "edf"; }
};

}  // namespace

const Policy & first_come_policy() noexcept
{
  static const FirstCome policy;
  return policy;
}

const Policy & fixed_priority_policy() noexcept
{
  static const FixedPriority policy;
  return policy;
}

const Policy & edf_policy() noexcept
{
  static const Edf policy;
  return policy;
}

}  // namespace rclrt_core
