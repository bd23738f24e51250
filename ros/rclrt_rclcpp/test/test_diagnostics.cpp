// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What executors of unmodified nodes say of chains and callbacks on /diagnostics.

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "builtin_interfaces/msg/time.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

using builtin_interfaces::msg::Time;
using diagnostic_msgs::msg::DiagnosticArray;
using diagnostic_msgs::msg::DiagnosticStatus;

class Diagnostics : public WithContext
{
protected:
  void SetUp() override
  {
    WithContext::SetUp();
    const std::string topic = "/" + name_ + "/subscription/" + name_;
    std::ofstream(file_) << "/**:\n  ros__parameters:\n    rclrt:\n      chains:\n        grab: "
                            "{callbacks: [/"
                         << name_ << "/timer/20ms, " << topic
                         << "], semantics: latency, deadline: 10000ms, bound: 9000ms}\n";
  }
  void TearDown() override
  {
    std::remove(file_.c_str());
    WithContext::TearDown();
  }
  static std::string value_of(const DiagnosticStatus & status, const std::string & key)
  {
    for (const auto & value : status.values) {
      if (value.key == key) {
        return value.value;
      }
    }
    return "";
  }

  const std::string name_ = "looker" + std::to_string(getpid());
  const std::string file_ = testing::TempDir() + name_ + ".yaml";
};

TEST_F(Diagnostics, have_a_status_for_each_chain_and_each_callback)
{
  const auto node = make_node(name_);
  const auto publisher = node->create_publisher<Time>(name_, 10);
  const auto subscription =
    node->create_subscription<Time>(name_, 10, [](const Time::ConstSharedPtr &) {});
  const auto timer =
    node->create_wall_timer(milliseconds(20), [&publisher] { publisher->publish(Time()); });
  std::mutex mutex;
  std::map<std::string, DiagnosticStatus> heard;
  const auto listener = make_node("listener");
  const auto listening = listener->create_subscription<DiagnosticArray>(
    "/diagnostics", 10, [&](const DiagnosticArray::ConstSharedPtr & message) {
      const std::lock_guard<std::mutex> lock(mutex);
      for (const auto & status : message->status) {
        heard[status.name] = status;
      }
    });
  const auto status_of = [&](const std::string & name) {
    const std::lock_guard<std::mutex> lock(mutex);
    return heard[name];
  };
  PreemptiveExecutorOptions options;
  options.configuration_file = file_;
  PreemptiveExecutor executor(executor_options(), options);
  PreemptiveExecutor listens(executor_options());
  executor.add_node(node);
  listens.add_node(listener);
  {
    const Spinning spinning(executor);
    const Spinning too(listens);
    ASSERT_TRUE(
      wait_for([&] { return value_of(status_of("rclrt: chain grab"), "count").size() > 1; }));
  }
  const DiagnosticStatus chain = status_of("rclrt: chain grab");
  EXPECT_EQ(chain.level, DiagnosticStatus::OK);
  EXPECT_EQ(chain.message, "in time");
  EXPECT_EQ(value_of(chain, "deadline_ms"), "10000");
  EXPECT_EQ(value_of(chain, "proved"), "true");
  ASSERT_EQ(executor.chains().size(), 1u);
  EXPECT_GE(executor.chains()[0].instances, 10u);
  const DiagnosticStatus callback = status_of("rclrt: callback /" + name_ + "/timer/20ms");
  EXPECT_NE(value_of(callback, "executed"), "0");
  EXPECT_EQ(value_of(callback, "dropped"), "0");
}

TEST_F(Diagnostics, end_with_the_context_and_leave_nothing_behind)
{
  const auto node = make_node(name_);
  PreemptiveExecutorOptions options;
  options.configuration_file = file_;
  PreemptiveExecutor executor(executor_options(), options);
  executor.add_node(node);
  ASSERT_TRUE(wait_for([&] { return node->count_publishers("/diagnostics") == 1; }));
  context_->shutdown("the executor is still there");
}

}  // namespace
}  // namespace rclrt_rclcpp
