// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the tests of this front end share beside the conformance suite.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "conformance/suite.hpp"

namespace rclrt_rcl
{

using conformance::Kind;
using conformance::kPatience;
using conformance::Suite;
using conformance::wait_for;

using Spinning = conformance::Spinning<Executor>;

inline bool spin_until(Executor & executor, const std::function<bool()> & condition)
{
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    executor.spin_once(std::chrono::milliseconds(5));
  }
  return true;
}

/// The text of the Error that `action` throws.
template <typename F>
std::string error_of(F action)
{
  try {
    action();
  } catch (const Error & error) {
    return error.what();
  }
  return "no error";
}

inline Scheduling named(const std::string & name, uint32_t depth = 0)
{
  Scheduling scheduling;
  scheduling.name = name;
  scheduling.depth = depth;
  return scheduling;
}

class WithContext : public conformance::WithContext
{
protected:
  template <typename Options>
  Options options() const
  {
    Options made;
    made.context = context;
    return made;
  }
};

}  // namespace rclrt_rcl
