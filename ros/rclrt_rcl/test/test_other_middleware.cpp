// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What another RMW than rmw_fastrtps_cpp does otherwise, by a stub that behaves like it.

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "conformance/real_time.hpp"
#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/middleware.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "stub_rmw.hpp"

namespace rclrt_rcl
{
namespace
{

using conformance::fifo;
using rcl_interfaces::msg::Log;
using rclrt_core::Attributes;
using stub_rmw::Behaviour;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class OtherMiddleware : public ::testing::TestWithParam<Behaviour>
{
protected:
  OtherMiddleware() { stub_rmw::behave_as(GetParam()); }
  ~OtherMiddleware() override { stub_rmw::behave_as({}); }

  /// A context, a node that takes messages by pointer, and an executor.
  struct Process
  {
    explicit Process(const std::string & name, const rclrt_core::Policy * policy = nullptr)
    {
      NodeOptions node_options;
      node_options.context = context;
      node_options.use_intra_process = true;
      node = std::make_shared<Node>(name, node_options);
      PreemptiveExecutorOptions executor_options;
      executor_options.context = context;
      if (policy != nullptr) {
        executor_options.policy = policy;
      }
      executor = std::make_unique<PreemptiveExecutor>(executor_options);
      executor->add_node(node);
    }

    std::string findings() const
    {
      std::string text;
      for (const auto & finding : executor->findings()) {
        text += to_string(finding) + "\n";
      }
      return text;
    }

    std::shared_ptr<Context> context = Context::make();
    std::shared_ptr<Node> node;
    std::unique_ptr<PreemptiveExecutor> executor;
  };

  /// How many threads of the middleware, as the stub names them, have this priority; -1: no thread.
  static int raised_to(int priority)
  {
    rclrt_core::LinuxPlatform platform;
    int all = 0;
    int raised = 0;
    for (const auto & [id, name] : platform.threads()) {
      const auto & names = GetParam().threads;
      const bool is_one = names.empty()
                            ? rclrt_front_end::middleware_in_use().owns_thread(name)
                            : std::find(names.begin(), names.end(), name) != names.end();
      Attributes now;
      if (is_one && platform.read_back(id, &now) == 0) {
        ++all;
        raised += now.priority == priority ? 1 : 0;
      }
    }
    return all == 0 ? -1 : raised;
  }
};

TEST_P(OtherMiddleware, threads_that_are_known_are_raised_and_a_finding_says_so_of_others)
{
  SKIP_WITHOUT_REAL_TIME();
  Process process("node");
  TimerOptions urgent;
  urgent.scheduling.attributes = fifo(10);
  auto timer = process.node->create_wall_timer(1ms, [] {}, urgent);
  const Spinning spinning(*process.executor);
  if (GetParam().name == "rmw_stranger_cpp") {
    EXPECT_TRUE(wait_for([&] { return !process.findings().empty(); }));
    EXPECT_EQ(raised_to(11), 0);
    EXPECT_THAT(
      process.findings(), HasSubstr("the names of rmw_stranger_cpp's threads are not known"));
    EXPECT_THAT(process.findings(), HasSubstr("'/node/timer/1ms' (fifo 10)"));
  } else {
    EXPECT_TRUE(wait_for([&] { return raised_to(11) > 0 && raised_to(0) == 0; }));
    EXPECT_THAT(process.findings(), Not(HasSubstr("none was found")));
  }
}

// That it numbers no messages is no reason.
TEST_P(OtherMiddleware, is_said_to_keep_deadlines_to_itself_only_if_ids_of_publishers_are_handles)
{
  Process process("node", &rclrt_core::edf_policy());
  std::atomic<bool> ran{false};  // not before the executor has said what it found
  auto timer = process.node->create_wall_timer(1ms, [&ran] { ran = true; });
  {
    const Spinning spinning(*process.executor);
    EXPECT_TRUE(wait_for([&ran] { return ran.load(); }));
  }
  const auto said = HasSubstr("gives a publisher another id in each process");
  if (GetParam().name == "rmw_cyclonedds_cpp") {
    EXPECT_THAT(process.findings(), said);
  } else {
    EXPECT_THAT(process.findings(), Not(HasSubstr("do not reach other processes")));
  }
}

TEST_P(OtherMiddleware, that_keeps_all_messages_has_a_job_for_each)
{
  Process process("node");
  auto subscription =
    process.node->create_subscription<Log>("t", QoS(1).keep_all(), [](const Log &) {});
  EXPECT_GE(subscription->depth(), 1000000U) << "Fast DDS's limit is 5000, Cyclone DDS has none";
}

TEST_P(OtherMiddleware, that_stamps_messages_when_they_are_taken_is_known_to)
{
  Process process("node");
  std::chrono::nanoseconds received(0);
  SubscriptionOptions by_middleware;
  by_middleware.use_intra_process = false;
  auto subscription = process.node->create_subscription<Log>(
    "t", 10, [&](const Log &, const MessageInfo & info) { received = info.received_timestamp; },
    by_middleware);
  auto publisher = process.node->create_publisher<Log>("t", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->publish(Log());
  std::this_thread::sleep_for(50ms);
  const std::chrono::nanoseconds before_take = std::chrono::system_clock::now().time_since_epoch();
  ASSERT_TRUE(spin_until(*process.executor, [&] { return received != 0ns; }));
  const auto stamp = rclrt_front_end::middleware_in_use().reception_stamp;
  if (stamp == rclrt_front_end::ReceptionStamp::kArrival) {
    EXPECT_LT(received, before_take);
  } else if (stamp == rclrt_front_end::ReceptionStamp::kTake) {
    EXPECT_GE(received, before_take);
  }
}

std::string name_of(const testing::TestParamInfo<Behaviour> & info)
{
  return info.param.name.empty() ? "as_it_is" : info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
  Each, OtherMiddleware, testing::Values(Behaviour{}, stub_rmw::cyclone(), stub_rmw::stranger()),
  name_of);

}  // namespace
}  // namespace rclrt_rcl
