// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The standard services by which others see and change parameters, over all executors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "executor_types.hpp"
#include "rcl_interfaces/srv/describe_parameters.hpp"
#include "rcl_interfaces/srv/get_logger_levels.hpp"
#include "rcl_interfaces/srv/get_parameter_types.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcl_interfaces/srv/set_logger_levels.hpp"
#include "rcl_interfaces/srv/set_parameters.hpp"
#include "rcl_interfaces/srv/set_parameters_atomically.hpp"

namespace rclrt_rcl
{
namespace
{

namespace srv = rcl_interfaces::srv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
class ParameterServices : public ExecutorSuite<T>
{
protected:
  void SetUp() override
  {
    NodeOptions options;
    options.enable_logger_service = true;
    server = this->make_node("server", options);
    ParameterDescriptor descriptor;
    descriptor.description = "how often";
    server->declare_parameter("rate", 10.0, descriptor);
    server->declare_parameter("arm.count", 1);
    this->executor->add_node(server);
    this->executor->add_node(this->node);
  }

  template <typename S>
  typename S::Response call(const std::string & name, const typename S::Request & request)
  {
    auto client = this->node->template create_client<S>("/server/" + name, QoS::parameters());
    EXPECT_TRUE(client->wait_for_service(kPatience));
    const auto answer = client->async_send_request(request);
    EXPECT_EQ(
      this->executor->spin_until_future_complete(answer.future, kPatience),
      FutureReturnCode::kSuccess);
    return answer.get();
  }

  std::shared_ptr<Node> server;
};
TYPED_TEST_SUITE(ParameterServices, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(ParameterServices, values_types_and_descriptors_can_be_asked_for)
{
  srv::GetParameters::Request get;
  get.names = {"rate", "undeclared"};
  const auto values = this->template call<srv::GetParameters>("get_parameters", get).values;
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(ParameterValue::from_message(values[0]), 10.0);
  EXPECT_EQ(ParameterValue::from_message(values[1]).type(), ParameterType::kNotSet);

  srv::GetParameterTypes::Request types;
  types.names = {"arm.count", "undeclared"};
  EXPECT_THAT(
    (this->template call<srv::GetParameterTypes>("get_parameter_types", types).types),
    ElementsAre(2, 0));

  srv::DescribeParameters::Request describe;
  describe.names = {"rate"};
  const auto described =
    this->template call<srv::DescribeParameters>("describe_parameters", describe).descriptors;
  ASSERT_EQ(described.size(), 1U);
  EXPECT_EQ(described[0].description, "how often");

  srv::ListParameters::Request list;
  list.prefixes = {"arm"};
  const auto listed = this->template call<srv::ListParameters>("list_parameters", list).result;
  EXPECT_THAT(listed.names, ElementsAre("arm.count"));
  EXPECT_THAT(listed.prefixes, ElementsAre("arm"));
}

TYPED_TEST(ParameterServices, values_can_be_set_and_refusals_say_why)
{
  srv::SetParameters::Request set;
  set.parameters = {
    Parameter("rate", 20.0).to_message(), Parameter("rate", 5).to_message(),
    Parameter("undeclared", 1).to_message()};
  const auto results = this->template call<srv::SetParameters>("set_parameters", set).results;
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].successful);
  EXPECT_FALSE(results[1].successful);
  EXPECT_THAT(results[1].reason, HasSubstr("wrong type"));
  EXPECT_FALSE(results[2].successful);
  EXPECT_THAT(results[2].reason, HasSubstr("not declared"));
  EXPECT_EQ(this->server->template get_parameter<double>("rate"), 20.0);
}

TYPED_TEST(ParameterServices, several_can_be_set_at_once_or_not_at_all)
{
  srv::SetParametersAtomically::Request set;
  set.parameters = {Parameter("rate", 30.0).to_message(), Parameter("arm.count", 2.5).to_message()};
  EXPECT_FALSE((this->template call<srv::SetParametersAtomically>("set_parameters_atomically", set)
                  .result.successful));
  EXPECT_EQ(this->server->template get_parameter<double>("rate"), 10.0);
  set.parameters[1] = Parameter("arm.count", 2).to_message();
  EXPECT_TRUE((this->template call<srv::SetParametersAtomically>("set_parameters_atomically", set)
                 .result.successful));
  EXPECT_EQ(this->server->template get_parameter<double>("rate"), 30.0);
}

TYPED_TEST(ParameterServices, what_a_callback_throws_is_told_to_who_asked)
{
  const auto handle = this->server->add_on_set_parameters_callback(
    [](const std::vector<Parameter> &) -> SetParametersResult {
      throw std::runtime_error("no such motor");
    });
  srv::SetParameters::Request set;
  set.parameters = {Parameter("rate", 20.0).to_message()};
  const auto results = this->template call<srv::SetParameters>("set_parameters", set).results;
  EXPECT_FALSE(results.at(0).successful);
  EXPECT_EQ(results.at(0).reason, "no such motor");
}

TYPED_TEST(ParameterServices, changes_are_announced_in_the_name_of_the_node)
{
  using Event = rcl_interfaces::msg::ParameterEvent;
  std::vector<Event> events;
  auto subscription = this->node->template create_subscription<Event>(
    "/parameter_events", QoS::parameter_events(), [&](const Event & event) {
      if (!event.changed_parameters.empty()) {
        events.push_back(event);
      }
    });
  ASSERT_TRUE(wait_for([&] { return subscription->publisher_count() == 2; }));
  this->server->set_parameter(Parameter("rate", 40.0));
  ASSERT_TRUE(spin_until(*this->executor, [&] { return !events.empty(); }));
  EXPECT_EQ(events[0].node, "/server");
  EXPECT_GT(events[0].stamp.sec, 0);
  EXPECT_EQ(Parameter::from_message(events[0].changed_parameters.at(0)), Parameter("rate", 40.0));
}

TYPED_TEST(ParameterServices, logger_levels_can_be_read_and_set)
{
  srv::SetLoggerLevels::Request set;
  set.levels.resize(1);
  set.levels[0].name = "server";
  set.levels[0].level = rcl_interfaces::msg::LoggerLevel::LOG_LEVEL_ERROR;
  const auto results = this->template call<srv::SetLoggerLevels>("set_logger_levels", set).results;
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].successful);
  srv::GetLoggerLevels::Request get;
  get.names = {"server"};
  const auto levels = this->template call<srv::GetLoggerLevels>("get_logger_levels", get).levels;
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_EQ(levels[0].level, set.levels[0].level);
}

}  // namespace
}  // namespace rclrt_rcl
