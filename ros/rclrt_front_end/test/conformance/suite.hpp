// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A context, a node, and an executor of the kind that is the test's parameter.
#ifndef CONFORMANCE__SUITE_HPP_
#define CONFORMANCE__SUITE_HPP_

#include <memory>
#include <string>

#include "front_end.hpp"

namespace conformance
{

using namespace std::chrono_literals;

class Suite : public testing::TestWithParam<Kind>
{
protected:
  void TearDown() override
  {
    executor.reset();
    node.reset();
    context->shutdown("the test is over");
  }

  std::unique_ptr<Executor> make_executor(const Options & options = {}) const
  {
    return make_executor_in(context, GetParam(), options);
  }
  std::shared_ptr<Node> make_node(const std::string & name, bool intra_process = false) const
  {
    return make_node_in(context, name, intra_process);
  }
  /// Counters of a callback of our executor.
  rclrt_core::CallbackStatistics statistics_of(const std::string & callback) const
  {
    return ours(*executor).statistics().at(callback);
  }

  std::shared_ptr<Context> context = make_context();
  std::shared_ptr<Node> node = make_node("node");
  std::unique_ptr<Executor> executor = make_executor();
};

}  // namespace conformance

#endif  // CONFORMANCE__SUITE_HPP_
