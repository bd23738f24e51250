// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Publishers and subscriptions through the middleware, in one process.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using namespace std::chrono_literals;

class PubSub : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("node");
  PreemptiveExecutor executor{options<PreemptiveExecutorOptions>()};

  void SetUp() override { executor.add_node(node); }

  static Log message(const std::string & text)
  {
    Log log;
    log.msg = text;
    return log;
  }
};

TEST_F(PubSub, every_form_of_callback_gets_the_message)
{
  std::string seen;
  auto by_reference = node->create_subscription<Log>(
    "t", 10, [&](const Log & m) { seen += "reference " + m.msg + "\n"; });
  auto with_info =
    node->create_subscription<Log>("t", 10, [&](const Log & m, const MessageInfo & i) {
      seen += "info " + m.msg + (i.source_timestamp.count() > 0 ? " stamped\n" : "\n");
    });
  auto owned = node->create_subscription<Log>(
    "t", 10, [&](std::unique_ptr<Log> m) { seen += "owned " + m->msg + "\n"; });
  auto shared = node->create_subscription<Log>(
    "t", 10, [&](std::shared_ptr<const Log> m) { seen += "shared " + m->msg + "\n"; });
  auto publisher = node->create_publisher<Log>("t", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 4; }));
  publisher->publish(message("hello"));
  EXPECT_TRUE(spin_until(executor, [&] { return std::count(seen.begin(), seen.end(), '\n') == 4; }))
    << seen;
  for (const char * line :
       {"reference hello", "info hello stamped", "owned hello", "shared hello"}) {
    EXPECT_NE(seen.find(line), std::string::npos) << seen;
  }
}

}  // namespace
}  // namespace rclrt_rcl
