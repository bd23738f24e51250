// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A job that finds nothing to take counts as empty, not as executed, and the deadline of what it was released for
// goes to nobody. rclcpp does not say whether there was anything.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclrt_core/job.hpp"

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

using Get = rcl_interfaces::srv::GetParameters;

class EmptyTakes : public Suite
{
protected:
  void make(const Options & options = {})
  {
    executor = make_executor(options);
    executor->add_node(node);
  }
  bool run_until(const std::function<bool()> & condition)
  {
    return wait_for([&] {
      executor->spin_once(5ms);
      return condition();
    });
  }
  uint64_t executed(const std::string & name) const { return statistics_of(name).executed; }
  uint64_t empty(const std::string & name) const { return statistics_of(name).empty; }

  /// In no executor.
  std::shared_ptr<Node> outside = make_node("outside");
};

OVER_OUR_EXECUTORS(EmptyTakes);

/// Takes the request, as another server of this service would.
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

TEST_P(EmptyTakes, of_services_do_not_count_as_executed)
{
  int served = 0;
  const auto service = node->create_service<Get>(
    "get", [&](std::shared_ptr<Get::Request>, std::shared_ptr<Get::Response>) { ++served; });
  const auto client = outside->create_client<Get>("get");
  make();
  ASSERT_TRUE(client->wait_for_service(kPatience));
  client->async_send_request(std::make_shared<Get::Request>());
  rmw_request_id_t header;
  ASSERT_TRUE(take_away(*service, &header));
  EXPECT_TRUE(run_until([&] { return empty("/node/service/get") == 1; }));
  EXPECT_EQ(executed("/node/service/get"), 0U);
  client->async_send_request(std::make_shared<Get::Request>());
  EXPECT_TRUE(run_until([&] { return executed("/node/service/get") == 1; }));
  EXPECT_EQ(empty("/node/service/get"), 1U);
  EXPECT_EQ(served, 1);
}

TEST_P(EmptyTakes, do_not_come_of_timers_that_cancel_themselves)
{
  const auto count = [this](milliseconds period, int * calls, int most) {
    return node->create_wall_timer(period, [=](rclcpp::TimerBase & itself) {
      if (++*calls == most) {
        itself.cancel();
      }
    });
  };
  int once = 0;
  int often = 0;
  const auto timer = count(1ms, &once, 1);
  const auto other = count(3ms, &often, 1000);
  make();
  EXPECT_TRUE(run_until([&] { return once == 1 && often > 3; }));
  EXPECT_EQ(empty("/node/timer/1ms") > 0, RCLRT_RCLCPP_POLLS_RESETS != 0);
  timer->reset();
  EXPECT_TRUE(run_until([&] { return once > 1; }));
}

// Every client of a name is told of the answer.
TEST_P(EmptyTakes, of_clients_do_not_count_as_executed)
{
  const auto client = node->create_client<Get>("get");
  const auto other = outside->create_client<Get>("get");
  const auto service = outside->create_service<Get>(
    "get", [](std::shared_ptr<Get::Request>, std::shared_ptr<Get::Response>) {});
  make();
  ASSERT_TRUE(client->wait_for_service(kPatience));
  ASSERT_TRUE(other->wait_for_service(kPatience));
  other->async_send_request(std::make_shared<Get::Request>());
  ASSERT_TRUE(answer(*service));
  EXPECT_TRUE(run_until([&] { return empty("/node/client/get") == 1; }));
  EXPECT_EQ(executed("/node/client/get"), 0U);
  bool answered = false;
  client->async_send_request(
    std::make_shared<Get::Request>(), [&](rclcpp::Client<Get>::SharedFuture) { answered = true; });
  ASSERT_TRUE(answer(*service));
  EXPECT_TRUE(run_until([&] { return executed("/node/client/get") == 1; }));
  EXPECT_TRUE(answered);
}

// `map` publishes what it has and what the service of its group has been asked: it has the earliest deadline of both.
TEST_P(EmptyTakes, hand_on_no_deadline)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      executor: {policy: edf}\n      callbacks:\n"
    "        /node/timer/5ms: {relative_deadline: 100s}\n        /node/timer/7ms: "
    "{relative_deadline: 900s}\n");
  Options options;
  options.configuration_file = file.path();
  for (const bool finds_it : {true, false}) {
    std::vector<Group> groups;
    const auto new_group = [&] { return groups.emplace_back(make_group(*node)); };
    const auto group = new_group();
    const auto service = node->create_service<Get>(
      "get",
      // A reply would hand the deadline on.
      [](
        std::shared_ptr<rclcpp::Service<Get>>, std::shared_ptr<rmw_request_id_t>,
        std::shared_ptr<Get::Request>) {},
      qos_of_service(rclcpp::ServicesQoS()), group);
    const auto client = outside->create_client<Get>("get");
    const auto publisher = node->create_publisher<Time>("out", 10);
    const auto source = node->create_publisher<Time>("map", 10);
    rclcpp::SubscriptionOptions in_group;
    in_group.callback_group = group;
    const auto map = node->create_subscription<Time>(
      "map", 10, [&](const Time & message) { publisher->publish(message); }, in_group);
    rclcpp::SubscriptionOptions apart;
    apart.callback_group = new_group();
    rclrt_core::TimePoint asked, told, seen;
    const auto out = node->create_subscription<Time>(
      "out", 10, [&](const Time &) { seen = rclrt_core::current_job()->deadline; }, apart);
    make(options);
    ASSERT_TRUE(client->wait_for_service(kPatience));
    ASSERT_TRUE(wait_for([&] {
      return publisher->get_subscription_count() == 1 && source->get_subscription_count() == 1;
    }));
    std::shared_ptr<rclcpp::TimerBase> ask, tell;
    ask = node->create_wall_timer(
      5ms,
      [&] {
        ask->cancel();
        asked = rclrt_core::current_job()->deadline;
        client->async_send_request(std::make_shared<Get::Request>());
        rmw_request_id_t header;
        EXPECT_TRUE(finds_it || take_away(*service, &header));
      },
      new_group());
    EXPECT_TRUE(
      run_until([&] { return executed("/node/service/get") + empty("/node/service/get") == 1; }));
    EXPECT_EQ(executed("/node/service/get"), finds_it ? 1U : 0U);
    tell = node->create_wall_timer(
      7ms,
      [&] {
        tell->cancel();
        told = rclrt_core::current_job()->deadline;
        source->publish(Time());
      },
      new_group());
    EXPECT_TRUE(run_until([&] { return seen != rclrt_core::TimePoint(); }));
    EXPECT_LT(asked, told);
    EXPECT_EQ(seen, finds_it ? asked : told) << finds_it;
    executor.reset();
  }
}

}  // namespace
}  // namespace rclrt_rclcpp
