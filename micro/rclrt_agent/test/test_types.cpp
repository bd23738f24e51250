// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Types by name.
#include <gtest/gtest.h>

#include "types.hpp"

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
