// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What clients promise about requests without answers, names and quality of service.

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"

namespace rclrt_rcl
{
namespace
{

using Get = rcl_interfaces::srv::GetParameters;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Clients : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("node");
  std::shared_ptr<Client<Get>> client = node->create_client<Get>("silent");
  const std::size_t entities_before = node->default_callback_group()->entities().size();
};

TEST_F(Clients, waiting_for_a_service_ends_when_it_comes)
{
  EXPECT_FALSE(client->service_is_ready());
  EXPECT_FALSE(client->wait_for_service(20ms));
  std::shared_ptr<Service<Get>> service;
  std::thread later([&] {
    service = node->create_service<Get>("silent", [](const Get::Request &, Get::Response &) {});
  });
  EXPECT_TRUE(client->wait_for_service());
  EXPECT_TRUE(client->service_is_ready());
  later.join();
}

TEST_F(Clients, waiting_for_a_service_ends_when_the_context_is_shut_down)
{
  std::thread later([this] { context->shutdown(); });
  EXPECT_FALSE(client->wait_for_service());
  later.join();
}

TEST_F(Clients, requests_that_wait_are_bounded)
{
  ClientOptions options;
  options.max_pending_requests = 2;
  auto bounded = node->create_client<Get>("silent", QoS::services(), options);
  bounded->async_send_request(Get::Request());
  bounded->async_send_request(Get::Request());
  EXPECT_THAT(
    error_of([&] { bounded->async_send_request(Get::Request()); }),
    AllOf(HasSubstr("'/silent'"), HasSubstr("2 requests"), HasSubstr("max_pending_requests")));
  EXPECT_EQ(bounded->pending_request_count(), 2U);
  EXPECT_EQ(bounded->remove_requests_older_than(-1ns), 2U);
  EXPECT_EQ(error_of([&] { bounded->async_send_request(Get::Request()); }), "no error");
  EXPECT_EQ(bounded->pending_request_count(), 1U);

  options.max_pending_requests = 0;
  EXPECT_THAT(
    error_of([&] { node->create_client<Get>("silent", QoS::services(), options); }),
    HasSubstr("at least 1"));
}

TEST_F(Clients, old_requests_are_removed_by_age)
{
  const auto old = client->async_send_request(Get::Request());
  EXPECT_EQ(client->remove_requests_older_than(1h), 0U);
  std::this_thread::sleep_for(1ms);
  EXPECT_EQ(client->remove_requests_older_than(1us), 1U);
  EXPECT_THAT(error_of([&] { old.get(); }), HasSubstr("removed"));
}

TEST_F(Clients, nobody_waits_for_the_answer_to_a_destroyed_client)
{
  const auto answer = client->async_send_request(Get::Request());
  client.reset();
  EXPECT_THAT(error_of([&] { answer.get(); }), HasSubstr("removed"));
}

TEST_F(Clients, nobody_waits_for_an_answer_after_shutdown)
{
  const auto answer = client->async_send_request(Get::Request());
  std::thread later([this] { context->shutdown(); });
  EXPECT_THROW(answer.get(), ShutdownError);
  later.join();
  EXPECT_THROW(client->async_send_request(Get::Request()), ShutdownError);
  EXPECT_FALSE(client->service_is_ready());
}

TEST_F(Clients, an_answer_to_a_removed_request_is_dropped)
{
  PreemptiveExecutor executor{options<PreemptiveExecutorOptions>()};
  executor.add_node(node);
  int asked = 0;
  auto service =
    node->create_service<Get>("silent", [&](const Get::Request &, Get::Response &) { ++asked; });
  ASSERT_TRUE(client->wait_for_service(kPatience));
  int answered = 0;
  client->async_send_request(Get::Request(), [&](const Get::Response &) { answered += 100; });
  EXPECT_EQ(client->remove_requests_older_than(-1ns), 1U);
  client->async_send_request(Get::Request(), [&](const Get::Response &) { answered += 1; });
  EXPECT_TRUE(spin_until(executor, [&] { return asked == 2 && answered > 0; }));
  EXPECT_EQ(answered, 1);
}

TEST_F(Clients, names_are_expanded_and_remapped)
{
  NodeOptions node_options;
  node_options.arguments = {"--ros-args", "-r", "ask:=/elsewhere"};
  auto remapped = make_node("remapped", node_options);
  auto service = remapped->create_service<Get>("ask", [](const Get::Request &, Get::Response &) {});
  EXPECT_EQ(service->service_name(), "/elsewhere");
  EXPECT_EQ(service->name(), "/remapped/service/elsewhere");
  EXPECT_EQ(remapped->create_client<Get>("~/own")->service_name(), "/remapped/own");
  EXPECT_THAT(error_of([&] { node->create_client<Get>("not a name"); }), HasSubstr("not a name"));
}

TEST_F(Clients, threads_may_create_and_destroy_at_once)
{
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string name = "at_once_" + std::to_string(t);
        auto service =
          node->create_service<Get>(name, [](const Get::Request &, Get::Response &) {});
        auto asking = node->create_client<Get>(name);
        auto publisher = node->create_publisher<rcl_interfaces::msg::Log>(name, 10);
      }
    });
  }
  for (auto & thread : threads) {
    thread.join();
  }
  EXPECT_EQ(node->default_callback_group()->entities().size(), entities_before);
}

TEST_F(Clients, the_quality_of_service_counts)
{
  auto service =
    node->create_service<Get>("small", [](const Get::Request &, Get::Response &) {}, QoS(3));
  EXPECT_EQ(service->depth(), 3U);
  EXPECT_EQ(rcl_service_get_options(service->handle().get())->qos.depth, 3U);
  auto best_effort = node->create_client<Get>("small", QoS(4).best_effort());
  EXPECT_EQ(best_effort->depth(), 4U);
  EXPECT_EQ(
    rcl_client_get_options(best_effort->handle().get())->qos.reliability,
    RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT);
}

TEST_F(Clients, a_node_goes_on_logging_when_another_of_its_name_has_gone)
{
  PreemptiveExecutor executor{options<PreemptiveExecutorOptions>()};
  auto listener = make_node("listener");
  executor.add_node(listener);
  std::string log;
  auto rosout = listener->create_subscription<rcl_interfaces::msg::Log>(
    "/rosout", QoS(1000).transient_local(),
    [&](const auto & m) { log += m.name + ": " + m.msg + "\n"; });
  make_node("node").reset();
  node->logger().info("still here");
  EXPECT_TRUE(
    spin_until(executor, [&] { return log.find("node: still here") != std::string::npos; }))
    << log;
}

TEST_F(Clients, requests_dropped_without_an_answer_are_in_the_log_but_do_not_fill_it)
{
  PreemptiveExecutor executor{options<PreemptiveExecutorOptions>()};
  executor.add_node(node);
  std::string log;
  auto rosout = node->create_subscription<rcl_interfaces::msg::Log>(
    "/rosout", QoS(1000).transient_local(),
    [&](const auto & m) { log += m.name + ": " + m.msg + "\n"; });
  int requests = 0;
  auto service =
    node->create_service<Get>("silent", [&](const Get::Request &, Responder<Get>) { ++requests; });
  ASSERT_TRUE(client->wait_for_service(kPatience));
  for (int i = 1; i <= 100; ++i) {
    client->async_send_request(Get::Request());
    ASSERT_TRUE(spin_until(executor, [&] { return requests == i; }));
  }
  EXPECT_TRUE(spin_until(executor, [&] { return !log.empty(); }));
  EXPECT_THAT(log, HasSubstr("node: a request to '/silent' was dropped without an answer"));
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 20) << "one a second, not one a request";
}

// Services and clients through the middleware, over all executors.

Get::Request request_for(const std::string & name)
{
  Get::Request request;
  request.names = {name};
  return request;
}

/// Answers with the name it was asked for.
void echo(const Get::Request & request, Get::Response & response)
{
  response.values.resize(1);
  response.values[0].string_value = request.names.at(0);
}

std::string text_of(const Get::Response & response) { return response.values.at(0).string_value; }

class Services : public Suite
{
protected:
  void SetUp() override { executor->add_node(node); }

  std::shared_ptr<Client<Get>> make_client(const ClientOptions & options = {}) const
  {
    auto client = node->create_client<Get>("echo", QoS::services(), options);
    EXPECT_TRUE(client->wait_for_service(kPatience));
    return client;
  }
};
OVER_OUR_EXECUTORS(Services);

TEST_P(Services, answers_may_come_later_from_another_thread_and_in_any_order)
{
  std::vector<std::pair<std::string, Responder<Get>>> open;
  auto service =
    node->create_service<Get>("echo", [&](const Get::Request & request, Responder<Get> responder) {
      open.emplace_back(request.names.at(0), std::move(responder));
    });
  auto client = make_client();
  const auto first = client->async_send_request(request_for("first"));
  const auto second = client->async_send_request(request_for("second"));
  ASSERT_TRUE(spin_until(*executor, [&] { return open.size() == 2; }));
  std::thread([&] {
    for (auto next = open.rbegin(); next != open.rend(); ++next) {
      Get::Response response;
      echo(request_for(next->first), response);
      next->second.send(response);
    }
  }).join();
  for (const auto & answer : {first, second}) {
    ASSERT_EQ(
      executor->spin_until_future_complete(answer.future, kPatience), FutureReturnCode::kSuccess);
  }
  EXPECT_EQ(text_of(first.get()), "first");
  EXPECT_EQ(text_of(second.get()), "second");
  EXPECT_THAT(error_of([&] { open.front().second.send(Get::Response()); }), HasSubstr("only once"));
}

TEST_P(Services, a_responder_outlives_its_service_and_says_so)
{
  std::optional<Responder<Get>> open;
  auto service = node->create_service<Get>(
    "echo",
    [&](const Get::Request &, Responder<Get> responder) { open.emplace(std::move(responder)); });
  auto client = make_client();
  client->async_send_request(request_for("name"));
  ASSERT_TRUE(spin_until(*executor, [&] { return open.has_value(); }));
  service.reset();
  EXPECT_THAT(error_of([&] { open->send(Get::Response()); }), HasSubstr("does not exist any more"));
}

TEST_P(Services, a_responder_keeps_no_node)
{
  std::optional<Responder<Get>> open;
  auto server = make_node("server");
  auto service = server->create_service<Get>(
    "echo",
    [&](const Get::Request &, Responder<Get> responder) { open.emplace(std::move(responder)); });
  executor->add_node(server);
  auto client = make_client();
  client->async_send_request(request_for("name"));
  ASSERT_TRUE(spin_until(*executor, [&] { return open.has_value(); }));
  const std::weak_ptr<rcl_node_t> handle = server->handle();
  executor->remove_node(server);
  service.reset();
  server.reset();
  EXPECT_TRUE(handle.expired());
}

TEST_P(Services, a_destroyed_service_leaves_no_callback_behind)
{
  const Spinning spinning(*executor);
  auto client = node->create_client<Get>("echo");
  for (int round = 0; round < 3; ++round) {
    auto alive = std::make_unique<std::string>("alive");
    auto service =
      node->create_service<Get>("echo", [&alive](const Get::Request &, Get::Response & response) {
        response.values.resize(1);
        response.values[0].string_value = alive->substr(0);
      });
    ASSERT_TRUE(client->wait_for_service(kPatience));
    for (int i = 0; i < 20; ++i) {
      client->async_send_request(request_for("x"));
    }
    service.reset();
    alive.reset();  // a callback that still ran would read freed memory
    ASSERT_TRUE(wait_for([&] { return !client->service_is_ready(); }));
  }
}

}  // namespace

}  // namespace rclrt_rcl
