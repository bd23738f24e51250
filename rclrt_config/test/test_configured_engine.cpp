// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the engine does not know of its configuration. The rest is tested through the front ends.

#include "rclrt_config/configured_engine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rclrt_core/sim_platform.hpp"

namespace rclrt_config
{
namespace
{

TEST(ConfiguredEngine, knows_the_names_of_callbacks_that_are_gone_but_not_for_ever)
{
  rclrt_core::SimPlatform sim;
  std::unique_ptr<ConfiguredEngine> engine;
  ASSERT_TRUE(ConfiguredEngine::make(sim, {}, &engine).ok());
  std::shared_ptr<rclrt_core::Group> group;
  rclrt_core::GroupOptions group_options;
  group_options.name = "group";
  ASSERT_TRUE(engine->add_group(group_options, "", &group).ok());
  uint32_t first = 0;
  uint32_t last = 0;
  for (int i = 0; i < 1100; ++i) {
    rclrt_core::CallbackOptions options;
    options.name = "callback " + std::to_string(i);
    options.run = [](const rclrt_core::Job &) { return true; };
    std::shared_ptr<rclrt_core::Callback> callback;
    ASSERT_TRUE(engine->add_callback(options, group, &callback).ok());
    (i == 0 ? first : last) = callback->id();
    engine->remove(callback);
  }
  const auto names = engine->callback_names();
  EXPECT_EQ(names.size(), 1024U);
  EXPECT_EQ(names.count(first), 0U);
  EXPECT_EQ(names.at(last), "callback 1099");
}

}  // namespace
}  // namespace rclrt_config
