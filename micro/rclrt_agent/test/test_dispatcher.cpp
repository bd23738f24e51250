// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// With which priority a client's messages are jobs of the executor.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "bench.hpp"
#include "builtin_interfaces/msg/time.hpp"
#include "dispatcher.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/executor.hpp"
#include "ros_backend.hpp"
#include "types.hpp"

namespace
{
using namespace rclrt_agent_test;

class Dispatcher : public ::testing::Test
{
protected:
  std::shared_ptr<rclrt_rcl::Node> make_node(const char * name) const
  {
    rclrt_rcl::NodeOptions options;
    options.context = context;
    return std::make_shared<rclrt_rcl::Node>(name, options);
  }
  rclrt_rcl::PreemptiveExecutorOptions threads(std::size_t count) const
  {
    rclrt_rcl::PreemptiveExecutorOptions options;
    options.context = context;
    options.max_threads = count;
    return options;
  }

  const std::shared_ptr<rclrt_rcl::Context> context = rclrt_rcl::Context::make();
  const std::shared_ptr<rclrt_rcl::Node> node = make_node("dispatcher");
};

TEST_F(Dispatcher, what_an_urgent_message_leaves_behind_lets_others_pass)
{
  rclrt_rcl::PreemptiveExecutor executor(threads(1));
  AgentOptions agent_options;
  agent_options.session.streams_say_urgency = true;
  GreetedRig rig(agent_options);
  const auto session = rig.sessions[1];
  std::vector<std::string> order;
  std::shared_ptr<rclrt_rcl::Waitable> other;
  rclrt_agent::Dispatcher dispatcher(*node, [&](const std::shared_ptr<Session> & of) {
    order.emplace_back("message");
    if (order.size() == 1) {
      other->trigger();  // it comes while the urgent message is worked on
    }
    const bool more = of->work();
    if (!more) {
      context->shutdown("done");
    }
    return more;
  });
  rclrt_rcl::Scheduling scheduling;
  scheduling.name = "other";
  scheduling.queue_priority = 10;  // between the two
  other = node->create_waitable(scheduling, [&] { order.emplace_back("other"); });
  rclrt_submessage sub{};
  sub.id = RCLRT_HEARTBEAT;
  const Bytes any = rclrt_agent::write(sub);
  const auto post = [&](uint8_t stream, uint16_t number) {
    dispatcher(session, rig.post(any, stream, number));
  };
  for (uint16_t i = 0; i < 3; ++i) {
    post(0x01, i);
  }
  post(0x7F, 0);
  executor.add_node(node);
  executor.spin();
  EXPECT_EQ(order, (std::vector<std::string>{"message", "other", "message", "message", "message"}));
}

TEST_F(Dispatcher, a_message_has_the_deadline_of_its_topic_from_when_it_came)
{
  rclrt_rcl::PreemptiveExecutor executor(threads(1));
  AgentOptions agent_options;
  agent_options.session.deadline_of = [](const std::string & topic) {
    return topic == "/imu" ? std::chrono::milliseconds(20) : std::chrono::milliseconds(0);
  };
  GreetedRig rig(agent_options);
  const auto session = rig.sessions[1];
  rig.make_writers("rt/imu", "rt/other");
  std::vector<TimePoint> deadlines;
  rig.backend.on_write = [&] {
    deadlines.push_back(rclrt_core::deadline_to_publish());
    if (deadlines.size() == 3) {
      context->shutdown("done");
    }
  };
  rclrt_agent::Dispatcher dispatcher(
    *node, [](const std::shared_ptr<Session> & of) { return of->work(); });
  rig.now += std::chrono::milliseconds(3);
  for (const auto object : {uint16_t{0x015}, uint16_t{0x005}, uint16_t{0x015}}) {
    dispatcher(session, rig.post(data_for(object), 0, 0));
  }
  executor.add_node(node);
  executor.spin();
  EXPECT_EQ(
    deadlines, (std::vector<TimePoint>{
                 rclrt_core::kNever, rig.now + std::chrono::milliseconds(20), rclrt_core::kNever}));
}

// From a client of the agent to a node of ROS, which answers, and back to the client. Another executor has that node, so
// the deadline can only go with the messages.
TEST_F(Dispatcher, a_chain_of_a_client_goes_on_in_ros_and_back_with_its_deadline)
{
  using builtin_interfaces::msg::Time;
  const auto far_end = make_node("far_end");
  rclrt_rcl::PreemptiveExecutor executor(threads(2)), others(threads(2));
  executor.add_node(node);
  others.add_node(far_end);

  rclrt_agent::RosBackend backend(context, executor, {});
  const auto board = backend.make_node("board", 255, {});
  Description imu, command;
  imu.name = "rt/imu";
  command.name = "rt/command";
  imu.type = command.type = "builtin_interfaces::msg::dds_::Time_";
  imu.qos.reliable = command.qos.reliable = true;
  const auto writer = board->make_writer(imu);
  const auto catcher = std::make_shared<Catcher>();
  const auto reader = board->make_reader(command, 1, catcher);

  const auto publisher = far_end->create_publisher<Time>("command", 10);
  const auto subscription = far_end->create_subscription<Time>(
    "imu", 10, [&](const Time & message) { publisher->publish(message); });

  // Every message another deadline, in an hour; odd ones have none.
  const TimePoint begin = std::chrono::steady_clock::now() + std::chrono::hours(1);
  std::mutex mutex;
  std::map<uint8_t, TimePoint> came;
  std::atomic<uint8_t> next{0};
  rclrt_rcl::Scheduling scheduling;
  scheduling.name = "messages";
  const auto messages = node->create_waitable(scheduling, [&] {
    const uint8_t number = next++;
    rclrt_core::inherit_deadline(
      number % 2 == 0 ? begin + std::chrono::milliseconds(number) : rclrt_core::kNever);
    const Bytes bytes = {number, 0, 0, 0, 0, 0, 0, 0};
    EXPECT_TRUE(writer->write(view_of(bytes)));
  });
  catcher->on_data = [&](View cdr) {
    const std::lock_guard lock(mutex);
    came[cdr.data[0]] = rclrt_core::deadline_to_publish();
  };
  std::thread first([&] { executor.spin(); });
  std::thread second([&] { others.spin(); });
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return came.size();
  };
  // Messages that go before all know each other are lost.
  for (int i = 0; i < 200 && count() < 10; ++i) {
    messages->trigger();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  context->shutdown("done");
  first.join();
  second.join();
  ASSERT_GE(came.size(), 10U);
  for (const auto & [number, deadline] : came) {
    EXPECT_EQ(
      deadline, number % 2 == 0 ? begin + std::chrono::milliseconds(number) : rclrt_core::kNever)
      << int{number};
  }
}
}  // namespace

// Types by name.
namespace rclrt_agent
{
namespace
{

TEST(Types, invented_names_take_no_installed_type_from_others)
{
  int messages = 0;
  int services = 0;
  for (int i = 0; i < 1100; ++i) {
    const std::string name = "Invented" + std::to_string(i);
    messages += message_type({"nobody", "msg", name}) != nullptr ? 1 : 0;
    services += service_type({"nobody", "srv", name}) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(messages, 1024);
  EXPECT_EQ(services, 1024);
  const MessageType * const time = message_type({"builtin_interfaces", "msg", "Time"});
  ASSERT_NE(time, nullptr);
  EXPECT_TRUE(time->is_installed());
  const ServiceType * const get = service_type({"rcl_interfaces", "srv", "GetParameters"});
  ASSERT_NE(get, nullptr);
  EXPECT_TRUE(get->is_installed());
  const MessageType * const known = message_type({"nobody", "msg", "Invented0"});
  ASSERT_NE(known, nullptr) << "of those that exist already";
  EXPECT_FALSE(known->is_installed());
}

}  // namespace
}  // namespace rclrt_agent
