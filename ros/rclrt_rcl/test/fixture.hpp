// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the tests share: a context of their own, and waiting for conditions.
#ifndef FIXTURE_HPP_
#define FIXTURE_HPP_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "conformance/basis.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_rcl
{

using conformance::kPatience;
using conformance::wait_for;

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

using Spinning = conformance::Spinning<Executor>;

class WithContext : public ::testing::Test
{
protected:
  std::shared_ptr<Context> context = Context::make();

  std::shared_ptr<Node> make_node(const std::string & name, NodeOptions node_options = {}) const
  {
    node_options.context = context;
    return std::make_shared<Node>(name, node_options);
  }

  template <typename Options>
  Options options() const
  {
    Options made;
    made.context = context;
    return made;
  }
};

}  // namespace rclrt_rcl

#endif  // FIXTURE_HPP_
