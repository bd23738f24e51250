// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Who is asked before parameters change, and who hears of it, without a node.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "error_text.hpp"
#include "parameters_fixture.hpp"

namespace rclrt_rcl
{
namespace
{

using Reason = ParameterError::Reason;

class ParameterCallbacks : public ParametersRules
{
};

TEST_F(ParameterCallbacks, an_on_set_callback_may_refuse_and_sees_the_values_from_before)
{
  const auto parameters = make();
  parameters->declare("n", 1);
  int before = 0;
  auto handle = parameters->add_on_set_callback([&](const std::vector<Parameter> & wanted) {
    before = parameters->get("n").as<int>();
    return wanted.at(0).as<int>() < 10 ? result_of(true) : result_of(false, "too much");
  });
  EXPECT_EQ(refusal(*parameters, "n", 11), "too much");
  EXPECT_EQ(before, 1);
  EXPECT_EQ(parameters->get("n").as<int>(), 1);
  EXPECT_EQ(refusal(*parameters, "n", 9), "accepted");
  EXPECT_EQ(reason_of([&] { parameters->declare("m", 12); }), Reason::kRejected);
  EXPECT_FALSE(parameters->has("m"));
  handle.reset();
  EXPECT_EQ(refusal(*parameters, "n", 11), "accepted");
}

TEST_F(ParameterCallbacks, callbacks_added_last_are_asked_first)
{
  const auto parameters = make();
  parameters->declare("n", 1);
  std::string asked;
  const auto first = parameters->add_on_set_callback([&](const std::vector<Parameter> &) {
    asked += "first ";
    return result_of(true);
  });
  const auto second = parameters->add_on_set_callback([&](const std::vector<Parameter> &) {
    asked += "second ";
    return result_of(true);
  });
  refusal(*parameters, "n", 2);
  EXPECT_EQ(asked, "second first ");
}

TEST_F(ParameterCallbacks, a_post_set_callback_hears_what_has_changed)
{
  const auto parameters = make();
  parameters->declare("n", 1);
  std::string heard;
  auto handle = parameters->add_post_set_callback([&](const std::vector<Parameter> & changed) {
    heard += changed.at(0).name() + "=" + parameters->get("n").value().to_string() + " ";
  });
  refusal(*parameters, "n", 2);
  refusal(*parameters, "n", "wrong");
  EXPECT_EQ(heard, "n=2 ");
  handle.reset();
  refusal(*parameters, "n", 3);
  EXPECT_EQ(heard, "n=2 ");
}

TEST_F(ParameterCallbacks, callbacks_may_not_change_parameters)
{
  const auto parameters = make();
  parameters->declare("n", 1);
  std::vector<std::optional<Reason>> reasons;
  const auto attempt = [&] {
    reasons.push_back(reason_of([&] { parameters->set_atomically({Parameter("n", 5)}); }));
    reasons.push_back(reason_of([&] { parameters->declare("m", 5); }));
    reasons.push_back(reason_of([&] { parameters->undeclare("n"); }));
  };
  const auto on_set = parameters->add_on_set_callback([&](const std::vector<Parameter> &) {
    attempt();
    return result_of(true);
  });
  const auto post_set =
    parameters->add_post_set_callback([&](const std::vector<Parameter> &) { attempt(); });
  EXPECT_EQ(refusal(*parameters, "n", 2), "accepted");
  EXPECT_EQ(reasons, std::vector<std::optional<Reason>>(6, Reason::kNotNow));
  EXPECT_EQ(parameters->get("n").as<int>(), 2);
}

TEST_F(ParameterCallbacks, a_callback_may_remove_itself)
{
  const auto parameters = make();
  parameters->declare("n", 1);
  int calls = 0;
  Parameters::CallbackHandle handle;
  handle = parameters->add_post_set_callback([&](const std::vector<Parameter> &) {
    ++calls;
    handle.reset();
  });
  refusal(*parameters, "n", 2);
  refusal(*parameters, "n", 3);
  EXPECT_EQ(calls, 1);
}

TEST_F(ParameterCallbacks, who_removes_a_callback_waits_until_it_has_returned)
{
  const auto parameters = make();
  parameters->declare("n", 1);
  std::promise<void> entered;
  std::promise<void> may_return;
  std::atomic<bool> returned{false};
  auto handle = parameters->add_post_set_callback([&](const std::vector<Parameter> &) {
    entered.set_value();
    may_return.get_future().wait();
    returned = true;
  });
  std::thread setter([&] { parameters->set_atomically({Parameter("n", 2)}); });
  entered.get_future().wait();
  EXPECT_EQ(parameters->get("n").as<int>(), 2) << "readers do not wait for callbacks";
  std::thread releaser([&] { may_return.set_value(); });
  handle.reset();
  EXPECT_TRUE(returned);
  setter.join();
  releaser.join();
}

TEST_F(ParameterCallbacks, a_handle_may_outlive_the_parameters)
{
  auto parameters = make();
  const auto handle = parameters->add_post_set_callback([](const std::vector<Parameter> &) {});
  parameters.reset();
}

TEST_F(ParameterCallbacks, events_tell_what_is_new_changed_and_deleted)
{
  const auto parameters = make();
  parameters->declare("a", 1);
  parameters->declare("b", {}, ParameterDescriptor(), ParameterType::kString);
  parameters->set_atomically({Parameter("a", 2), Parameter("b", "text")});
  parameters->set_atomically({Parameter("a", "wrong")});
  parameters->undeclare("a");
  EXPECT_EQ(
    events,
    "new a=1 changed deleted \n"
    "new b=\"text\" changed a=2 deleted \n"
    "new changed deleted a=not set \n");
}

TEST_F(ParameterCallbacks, threads_may_read_and_set_at_once)
{
  const auto parameters = make();
  parameters->declare("a", 0);
  parameters->declare("b", 0);
  std::atomic<bool> torn{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        parameters->set_atomically({Parameter("a", i), Parameter("b", i)});
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto both = parameters->get_by_prefix("");
        torn = torn || both.at("a") != both.at("b");
      }
    });
  }
  for (auto & thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(torn);
}

}  // namespace
}  // namespace rclrt_rcl
