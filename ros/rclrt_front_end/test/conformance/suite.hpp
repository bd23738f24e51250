// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A context, a node, and an executor of the kind that is the test's parameter.
#pragma once

#include <memory>
#include <string>

#include "front_end.hpp"

namespace conformance
{

using namespace std::chrono_literals;

class WithContext : public testing::Test
{
protected:
  void TearDown() override { context->shutdown("the test is over"); }

  std::shared_ptr<Node> make_node(
    const std::string & name, const NodeOptions & options = NodeOptions()) const
  {
    return make_node_in(context, name, options);
  }

  std::shared_ptr<Context> context = make_context();
};

class Suite : public WithContext, public testing::WithParamInterface<Kind>
{
protected:
  void TearDown() override
  {
    executor.reset();
    node.reset();
    WithContext::TearDown();
  }

  std::unique_ptr<Executor> make_executor(const Options & options = {}) const
  {
    return make_executor_in(context, GetParam(), options);
  }
  /// The executor that the test has, under a parameters file.
  void configure(const std::string & path)
  {
    Options options;
    options.configuration_file = path;
    executor = make_executor(options);
  }
  /// Counters of a callback of our executor.
  rclrt_core::CallbackStatistics statistics_of(const std::string & callback) const
  {
    return ours(*executor).statistics().at(callback);
  }
  /// All findings of our executor, one in a line.
  std::string findings() const
  {
    std::string text;
    for (const auto & finding : ours(*executor).findings()) {
      text += to_string(finding) + "\n";
    }
    return text;
  }
  bool finds(const std::string & text) const { return findings().find(text) != std::string::npos; }

  std::shared_ptr<Node> node = make_node("node");
  std::unique_ptr<Executor> executor = make_executor();
};

}  // namespace conformance
