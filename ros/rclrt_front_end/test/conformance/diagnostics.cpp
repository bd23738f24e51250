// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What executors say of chains and callbacks on /diagnostics, through the middleware. A program of its own, because not
// everybody has the messages.

#include <map>
#include <mutex>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"

namespace conformance
{
namespace
{

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

/// A node whose timer publishes to its subscription; another node hears what its executor says.
class Diagnostics : public Suite
{
protected:
  void TearDown() override
  {
    spinning_.reset();
    listening_.reset();
    listens_.reset();
    Suite::TearDown();
  }

  void spin(const std::string & fields, const std::string & more = "")
  {
    const File file(for_all(
      more + "      chains:\n        grab: {callbacks: [/" + name_ + "/timer/20ms, /" + name_ +
      "/subscription/" + name_ + "], " + fields + "}\n"));
    Options options;
    options.configuration_file = file.path();
    executor = make_executor(options);
    heard_by_ = listener_->create_subscription<DiagnosticArray>(
      "/diagnostics", 10, [this](const DiagnosticArray & message) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto & status : message.status) {
          heard_[status.name] = status;
        }
      });
    executor->add_node(node_);
    listens_->add_node(listener_);
    listening_ = std::make_unique<Spinning<Executor>>(*listens_);
    spinning_ = std::make_unique<Spinning<Executor>>(*executor);
  }
  DiagnosticStatus heard(const std::string & name)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_[name];
  }
  DiagnosticStatus chain() { return heard("rclrt: chain grab"); }

  const std::string name_ = "looker" + std::to_string(getpid());

private:
  std::mutex mutex_;
  std::map<std::string, DiagnosticStatus> heard_;
  std::shared_ptr<Node> node_ = make_node(name_);
  std::shared_ptr<Publisher> publisher_ = node_->create_publisher<Message>(name_, 10);
  std::shared_ptr<Subscription> subscription_ =
    node_->create_subscription<Message>(name_, 10, [](const Message &) {});
  std::shared_ptr<Timer> timer_ =
    node_->create_wall_timer(20ms, [this] { publisher_->publish(Message()); });
  std::shared_ptr<Node> listener_ = make_node("listener");
  std::shared_ptr<void> heard_by_;
  std::unique_ptr<Executor> listens_ = make_executor();
  std::unique_ptr<Spinning<Executor>> listening_;
  std::unique_ptr<Spinning<Executor>> spinning_;
};
OVER_OUR_EXECUTORS(Diagnostics);

TEST_P(Diagnostics, have_a_status_for_each_chain_and_each_callback)
{
  spin("semantics: latency, deadline: 10000ms, bound: 9000ms");
  ASSERT_TRUE(wait_for([&] { return values_of(chain())["count"].size() > 1; }));
  EXPECT_EQ(chain().level, DiagnosticStatus::OK);
  EXPECT_EQ(chain().message, "in time");
  EXPECT_NE(chain().hardware_id.find("diagnostics"), std::string::npos) << "the program";
  auto values = values_of(chain());
  EXPECT_EQ(values["deadline_ms"], "10000");
  EXPECT_EQ(values["bound_ms"], "9000");
  EXPECT_EQ(values["misses"], "0");
  EXPECT_EQ(values["proved"], "true");
  EXPECT_NE(values["worst_ms"], "-");
  const auto seen = ours(*executor).chains();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].name, "grab");
  EXPECT_EQ(seen[0].state, rclrt_front_end::ChainState::kOk);
  EXPECT_GE(seen[0].instances, 10u);
  const DiagnosticStatus timer = heard("rclrt: callback /" + name_ + "/timer/20ms");
  EXPECT_EQ(timer.level, DiagnosticStatus::OK);
  EXPECT_NE(values_of(timer)["executed"], "0");
  EXPECT_EQ(values_of(timer)["dropped"], "0");
}

TEST_P(Diagnostics, have_an_error_as_on_miss_says)
{
  spin("semantics: latency, deadline: 0.0001ms, on_miss: {warn_after: 1, error_after: 3}");
  ASSERT_TRUE(wait_for([&] { return chain().level == DiagnosticStatus::ERROR; }));
  EXPECT_EQ(chain().message.find("missed its deadline "), 0u) << chain().message;
  EXPECT_NE(chain().message.find(" times in a row"), std::string::npos) << chain().message;
  EXPECT_EQ(values_of(chain())["proved"], "false");
}

TEST_P(Diagnostics, have_no_error_by_a_late_sample_that_on_miss_allows)
{
  spin("semantics: latency, deadline: 0.0001ms, on_miss: {error_after: 1000000}");
  ASSERT_TRUE(wait_for([&] { return values_of(chain())["misses"].size() > 1; }));
  EXPECT_EQ(chain().level, DiagnosticStatus::OK);
}

TEST_P(Diagnostics, are_not_published_if_the_file_says_so)
{
  spin("semantics: latency", "      diagnostics: false\n");
  ASSERT_TRUE(wait_for([&] {
    const auto chains = ours(*executor).chains();
    return !chains.empty() && chains[0].instances > 50;
  }));
  EXPECT_EQ(chain().name, "");
}

TEST_P(Diagnostics, end_with_the_context_and_leave_nothing_behind)
{
  spin("semantics: latency");
  ASSERT_TRUE(wait_for([&] { return chain().name != ""; }));
  context->shutdown("the executor is still there");
}

}  // namespace
}  // namespace conformance
