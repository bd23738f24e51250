// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What executors say of chains and callbacks on /diagnostics, through the middleware.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "executor_types.hpp"

namespace rclrt_rcl
{
namespace
{

using builtin_interfaces::msg::Time;
using diagnostic_msgs::msg::DiagnosticArray;
using DiagnosticStatus = diagnostic_msgs::msg::DiagnosticStatus;

std::map<std::string, std::string> values_of(const DiagnosticStatus & status)
{
  std::map<std::string, std::string> values;
  for (const auto & value : status.values) {
    values[value.key] = value.value;
  }
  return values;
}

/// A node whose timer publishes to its subscription, in executors of a type; another node hears what they say.
template <typename T>
class Diagnostics : public WithContext
{
protected:
  ~Diagnostics() override { std::remove(file_.c_str()); }

  /// `fields` of the chain; `more` lines of the file.
  void start(const std::string & fields, const std::string & more = "")
  {
    std::ofstream(file_) << "/**:\n  ros__parameters:\n    rclrt:\n"
                         << more << "      chains:\n        grab: {callbacks: [/" << name_
                         << "/timer/look, /" << name_ << "/subscription/" << name_ << "], "
                         << fields << "}\n";
    auto executor_options = options<typename T::Options>();
    executor_options.configuration_file = file_;
    executor_ = std::make_unique<typename T::Executor>(executor_options);
    publisher_ = node_->template create_publisher<Time>(name_, QoS(10));
    subscription_ = node_->template create_subscription<Time>(name_, QoS(10), [](const Time &) {});
    TimerOptions timer;
    timer.scheduling.name = "look";
    timer_ = node_->create_wall_timer(
      std::chrono::milliseconds(20), [this] { publisher_->publish(Time()); }, timer);
    listening_ = listener_->template create_subscription<DiagnosticArray>(
      "/diagnostics", QoS(10), [this](const DiagnosticArray & heard) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto & status : heard.status) {
          if (status.name == "rclrt: chain grab" || status.name.find(name_) != std::string::npos) {
            heard_[status.name] = status;
          }
        }
        ++messages_;
      });
    executor_->add_node(node_);
    listens_.add_node(listener_);
  }
  DiagnosticStatus heard(const std::string & name)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_[name];
  }
  DiagnosticStatus chain() { return heard("rclrt: chain grab"); }

  const std::string name_ = "looker" + std::to_string(getpid());
  const std::string file_ = ::testing::TempDir() + "/" + name_ + ".yaml";
  std::shared_ptr<Node> node_ = make_node(name_);
  std::shared_ptr<Node> listener_ = make_node("listener");
  std::shared_ptr<Publisher<Time>> publisher_;
  std::shared_ptr<Subscription<Time>> subscription_;
  std::shared_ptr<Subscription<DiagnosticArray>> listening_;
  std::shared_ptr<Timer> timer_;
  std::mutex mutex_;
  std::map<std::string, DiagnosticStatus> heard_;
  int messages_ = 0;
  PreemptiveExecutor listens_{options<PreemptiveExecutorOptions>()};
  std::unique_ptr<typename T::Executor> executor_;
};
TYPED_TEST_SUITE(Diagnostics, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Diagnostics, have_a_status_for_each_chain_and_each_callback)
{
  this->start("semantics: latency, deadline: 10000ms, bound: 9000ms");
  const Spinning listening(this->listens_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(wait_for([&] { return values_of(this->chain())["count"].size() > 1; }));
  const DiagnosticStatus chain = this->chain();
  EXPECT_EQ(chain.level, DiagnosticStatus::OK);
  EXPECT_EQ(chain.message, "in time");
  EXPECT_EQ(chain.hardware_id, "test_diagnostics");
  auto values = values_of(chain);
  EXPECT_EQ(values["deadline_ms"], "10000");
  EXPECT_EQ(values["bound_ms"], "9000");
  EXPECT_EQ(values["misses"], "0");
  EXPECT_EQ(values["proved"], "true");
  EXPECT_NE(values["worst_ms"], "-");
  const auto seen = this->executor_->chains();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].name, "grab");
  EXPECT_EQ(seen[0].state, rclrt_front_end::ChainState::kOk);
  EXPECT_GE(seen[0].instances, 10u);

  const DiagnosticStatus timer = this->heard("rclrt: callback /" + this->name_ + "/timer/look");
  EXPECT_EQ(timer.level, DiagnosticStatus::OK);
  EXPECT_NE(values_of(timer)["executed"], "0");
  EXPECT_EQ(values_of(timer)["dropped"], "0");
}

TYPED_TEST(Diagnostics, an_error_is_what_on_miss_says)
{
  this->start("semantics: latency, deadline: 0.0001ms, on_miss: {warn_after: 1, error_after: 3}");
  const Spinning listening(this->listens_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(wait_for([&] { return this->chain().level == DiagnosticStatus::ERROR; }));
  EXPECT_THAT(
    this->chain().message, ::testing::MatchesRegex("missed its deadline .* times in a row"));
  EXPECT_EQ(values_of(this->chain())["proved"], "false");
}

TYPED_TEST(Diagnostics, one_late_sample_that_on_miss_allows_changes_nothing)
{
  this->start("semantics: latency, deadline: 0.0001ms, on_miss: {error_after: 1000000}");
  const Spinning listening(this->listens_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(wait_for([&] { return values_of(this->chain())["misses"].size() > 1; }));
  EXPECT_EQ(this->chain().level, DiagnosticStatus::OK);
}

TYPED_TEST(Diagnostics, are_not_published_if_the_file_says_so)
{
  this->start("semantics: latency", "      diagnostics: false\n");
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(wait_for([&] {
    const auto chains = this->executor_->chains();
    return !chains.empty() && chains[0].instances > 100;
  }));
  EXPECT_EQ(this->listening_->publisher_count(), 0u);
}

}  // namespace
}  // namespace rclrt_rcl
