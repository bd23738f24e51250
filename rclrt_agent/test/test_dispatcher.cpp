// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// With which priority a client's messages are jobs of the executor.
#include <gtest/gtest.h>

#include "agent_rig.hpp"
#include "dispatcher.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/preemptive_executor.hpp"

namespace
{
using namespace rclrt_agent_test;

TEST(Dispatcher, what_an_urgent_message_leaves_behind_lets_others_pass)
{
  const auto context = rclrt_rcl::Context::make();
  rclrt_rcl::NodeOptions node_options;
  node_options.context = context;
  const auto node = std::make_shared<rclrt_rcl::Node>("dispatcher", node_options);
  rclrt_rcl::PreemptiveExecutorOptions options;
  options.context = context;
  options.max_threads = 1;
  rclrt_rcl::PreemptiveExecutor executor(options);

  AgentOptions agent_options;
  agent_options.session.streams_say_urgency = true;
  AgentRig rig(agent_options);
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
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
  scheduling.priority = 10;  // between the two
  other = node->create_waitable(scheduling, [&] { order.emplace_back("other"); });
  rclrt_submessage sub{};
  sub.id = RCLRT_HEARTBEAT;
  const Bytes any = rclrt_agent::write(sub);
  const auto post = [&](uint8_t stream, uint16_t number) {
    const Bytes message = write_message({RCLRT_SESSION_DEFAULT, stream, number, {}}, view_of(any));
    dispatcher(session, session->post(view_of(message), rig.now));
  };
  for (uint16_t i = 0; i < 3; ++i) {
    post(0x01, i);
  }
  post(0x7F, 0);
  executor.add_node(node);
  executor.spin();
  EXPECT_EQ(order, (std::vector<std::string>{"message", "other", "message", "message", "message"}));
}
TEST(Dispatcher, a_message_has_the_deadline_of_its_topic_from_when_it_came)
{
  const auto context = rclrt_rcl::Context::make();
  rclrt_rcl::NodeOptions node_options;
  node_options.context = context;
  const auto node = std::make_shared<rclrt_rcl::Node>("dispatcher", node_options);
  rclrt_rcl::PreemptiveExecutorOptions options;
  options.context = context;
  options.max_threads = 1;
  rclrt_rcl::PreemptiveExecutor executor(options);

  AgentOptions agent_options;
  agent_options.session.deadline_of = [](const std::string & topic) {
    return topic == "/imu" ? std::chrono::milliseconds(20) : std::chrono::milliseconds(0);
  };
  AgentRig rig(agent_options);
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  const auto session = rig.sessions[1];
  rig.say(1, participants(1));
  rig.say(1, entity(0x003, RCLRT_PUBLISHER, 0x001, ""));
  rig.say(1, entity(0x005, RCLRT_DATAWRITER, 0x003, "rt/imu"));
  rig.say(1, entity(0x015, RCLRT_DATAWRITER, 0x003, "rt/other"));
  while (session->work()) {
  }
  std::vector<TimePoint> deadlines;
  rig.backend.on_write = [&] {
    deadlines.push_back(rclrt_core::deadline_to_publish());
    if (deadlines.size() == 2) {
      context->shutdown("done");
    }
  };
  rclrt_agent::Dispatcher dispatcher(
    *node, [](const std::shared_ptr<Session> & of) { return of->work(); });
  rig.now += std::chrono::milliseconds(3);
  for (const auto object : {uint16_t{0x015}, uint16_t{0x005}}) {
    const Bytes message =
      write_message({RCLRT_SESSION_DEFAULT, 0, 0, {}}, view_of(data_for(object)));
    dispatcher(session, session->post(view_of(message), rig.now));
  }
  executor.add_node(node);
  executor.spin();
  EXPECT_EQ(
    deadlines,
    (std::vector<TimePoint>{rclrt_core::kNever, rig.now + std::chrono::milliseconds(20)}));
}
}  // namespace
