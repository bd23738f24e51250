// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A node with an inline subscription to what another process publishes.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "conformance/elsewhere.hpp"
#include "conformance/suite.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace conformance
{

inline bool is_on_a_thread_of_the_middleware()
{
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return rclrt_front_end::middleware_in_use().owns_thread(name);
}

class Inline : public WithContext
{
protected:
  Inline()
  {
    rclrt_core::Scheduling scheduling;
    scheduling.inline_bound = 1s;
    options.attributes_mode = rclrt_core::AttributesMode::kOff;
    options.say(name, scheduling);
    make();
  }
  void SetUp() override
  {
    if (!rclrt_front_end::middleware_in_use().may_run_callbacks) {
      GTEST_SKIP() << "this middleware runs no callbacks on its threads";
    }
  }
  void TearDown() override
  {
    executor.reset();
    node.reset();
    WithContext::TearDown();
  }

  /// The executor, with the options of now.
  void make() { executor = make_executor_in(context, Kind::kPreemptive, options); }
  template <typename F>
  std::shared_ptr<Subscription> subscribe(F callback)
  {
    return node->create_subscription<Message>(topic, 10, std::move(callback));
  }
  rclrt_core::CallbackStatistics statistics() const
  {
    return ours(*executor).statistics().at(name);
  }

  const std::string topic = "/inline_" + std::to_string(getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string name = "/here/subscription" + topic;
  /// Publishes on the topic.
  const Elsewhere elsewhere{{"--publish", topic}};
  std::shared_ptr<Node> node = make_node("here");
  Options options;
  std::unique_ptr<Executor> executor;
};

}  // namespace conformance
