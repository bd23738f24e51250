// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A job that finds nothing to take counts as empty, not as executed, and the deadline of what it was released for
// goes to nobody. rclcpp does not say whether there was anything.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclrt_core/job.hpp"
#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

using Get = rcl_interfaces::srv::GetParameters;

template <typename ExecutorT>
class EmptyTakes : public SchedulingTest<ExecutorT>
{
protected:
  void SetUp() override
  {
    SchedulingTest<ExecutorT>::SetUp();
    node = this->make_node("node");
    outside = this->make_node("outside");
  }
  void make(const typename SchedulingTest<ExecutorT>::Options & options = {})
  {
    executor = this->make_executor(options);
    executor->add_node(node);
  }
  /// On this thread, until the condition holds.
  bool run_until(const std::function<bool()> & condition)
  {
    return wait_for([&] {
      executor->spin_once(milliseconds(5));
      return condition();
    });
  }
  uint64_t executed(const std::string & name) const { return count(name).executed; }
  uint64_t empty(const std::string & name) const { return count(name).empty; }

  /// In the executor, and in none.
  std::shared_ptr<rclcpp::Node> node, outside;
  std::unique_ptr<ExecutorT> executor;

private:
  rclrt_core::CallbackStatistics count(const std::string & name) const
  {
    const auto all = executor->statistics();
    return all.at(name);
  }
};

TYPED_TEST_SUITE(EmptyTakes, Configurable, ExecutorNames);

/// As somebody else would who serves the same.
bool take_away(rclcpp::Service<Get> & service, rmw_request_id_t * header)
{
  return wait_for([&] {
    Get::Request request;
    return service.take_request(request, *header);
  });
}

bool answer(rclcpp::Service<Get> & service)
{
  rmw_request_id_t header;
  Get::Response response;
  const bool is_taken = take_away(service, &header);
  if (is_taken) {
    service.send_response(header, response);
  }
  return is_taken;
}

TYPED_TEST(EmptyTakes, of_services_do_not_count_as_executed)
{
  int served = 0;
  const auto service = this->node->template create_service<Get>(
    "get", [&](std::shared_ptr<Get::Request>, std::shared_ptr<Get::Response>) { ++served; });
  const auto client = this->outside->template create_client<Get>("get");
  this->make();
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  client->async_send_request(std::make_shared<Get::Request>());
  rmw_request_id_t header;
  ASSERT_TRUE(take_away(*service, &header));
  EXPECT_TRUE(this->run_until([&] { return this->empty("/node/service/get") == 1; }));
  EXPECT_EQ(this->executed("/node/service/get"), 0U);
  client->async_send_request(std::make_shared<Get::Request>());
  EXPECT_TRUE(this->run_until([&] { return this->executed("/node/service/get") == 1; }));
  EXPECT_EQ(this->empty("/node/service/get"), 1U);
  EXPECT_EQ(served, 1);
}

// Every client of a name is told of the answer.
TYPED_TEST(EmptyTakes, of_clients_do_not_count_as_executed)
{
  const auto client = this->node->template create_client<Get>("get");
  const auto other = this->outside->template create_client<Get>("get");
  const auto service = this->outside->template create_service<Get>(
    "get", [](std::shared_ptr<Get::Request>, std::shared_ptr<Get::Response>) {});
  this->make();
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  ASSERT_TRUE(other->wait_for_service(seconds(30)));
  other->async_send_request(std::make_shared<Get::Request>());
  ASSERT_TRUE(answer(*service));
  EXPECT_TRUE(this->run_until([&] { return this->empty("/node/client/get") == 1; }));
  EXPECT_EQ(this->executed("/node/client/get"), 0U);
  bool answered = false;
  client->async_send_request(
    std::make_shared<Get::Request>(), [&](rclcpp::Client<Get>::SharedFuture) { answered = true; });
  ASSERT_TRUE(answer(*service));
  EXPECT_TRUE(this->run_until([&] { return this->executed("/node/client/get") == 1; }));
  EXPECT_TRUE(answered);
}

// `map` publishes what it has and what the service of its group has been asked: it has the earliest deadline of both.
TYPED_TEST(EmptyTakes, hand_on_no_deadline)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      executor: {policy: edf}\n      callbacks:\n"
    "        /node/timer/5ms: {relative_deadline: 100s}\n        /node/timer/7ms: "
    "{relative_deadline: 900s}\n");
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  for (const bool finds_it : {true, false}) {
    std::vector<std::shared_ptr<rclcpp::CallbackGroup>> groups;
    const auto make_group = [&] {
      groups.push_back(
        this->node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
      return groups.back();
    };
    const auto group = make_group();
    const auto service = this->node->template create_service<Get>(
      "get",
      // A reply would hand the deadline on.
      [](
        std::shared_ptr<rclcpp::Service<Get>>, std::shared_ptr<rmw_request_id_t>,
        std::shared_ptr<Get::Request>) {},
      qos_of_service(rclcpp::ServicesQoS()), group);
    const auto client = this->outside->template create_client<Get>("get");
    const auto publisher = this->node->template create_publisher<Time>("out", 10);
    const auto source = this->node->template create_publisher<Time>("map", 10);
    rclcpp::SubscriptionOptions in_group;
    in_group.callback_group = group;
    const auto map = this->node->template create_subscription<Time>(
      "map", 10, [&](const Time & message) { publisher->publish(message); }, in_group);
    rclcpp::SubscriptionOptions apart;
    apart.callback_group = make_group();
    rclrt_core::TimePoint asked, told, seen;
    const auto out = this->node->template create_subscription<Time>(
      "out", 10, [&](const Time &) { seen = rclrt_core::current_job()->deadline; }, apart);
    this->make(options);
    ASSERT_TRUE(client->wait_for_service(seconds(30)));
    ASSERT_TRUE(wait_for([&] {
      return publisher->get_subscription_count() == 1 && source->get_subscription_count() == 1;
    }));
    std::shared_ptr<rclcpp::TimerBase> ask, tell;
    ask = this->node->create_wall_timer(
      milliseconds(5),
      [&] {
        ask->cancel();
        asked = rclrt_core::current_job()->deadline;
        client->async_send_request(std::make_shared<Get::Request>());
        rmw_request_id_t header;
        EXPECT_TRUE(finds_it || take_away(*service, &header));
      },
      make_group());
    EXPECT_TRUE(this->run_until(
      [&] { return this->executed("/node/service/get") + this->empty("/node/service/get") == 1; }));
    EXPECT_EQ(this->executed("/node/service/get"), finds_it ? 1U : 0U);
    tell = this->node->create_wall_timer(
      milliseconds(7),
      [&] {
        tell->cancel();
        told = rclrt_core::current_job()->deadline;
        source->publish(Time());
      },
      make_group());
    EXPECT_TRUE(this->run_until([&] { return seen != rclrt_core::TimePoint(); }));
    EXPECT_LT(asked, told);
    EXPECT_EQ(seen, finds_it ? asked : told) << finds_it;
    this->executor.reset();
  }
}

}  // namespace
}  // namespace rclrt_rclcpp
