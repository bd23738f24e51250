// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Services and clients through the middleware, over all executors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "error_text.hpp"
#include "executor_types.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"

namespace rclrt_rcl
{
namespace
{

using Get = rcl_interfaces::srv::GetParameters;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

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

template <typename T>
class Services : public ExecutorSuite<T>
{
protected:
  void SetUp() override { this->executor->add_node(this->node); }

  std::shared_ptr<Client<Get>> make_client(const ClientOptions & options = {}) const
  {
    auto client = this->node->template create_client<Get>("echo", QoS::services(), options);
    EXPECT_TRUE(client->wait_for_service(kPatience));
    return client;
  }

  std::string ask(Client<Get> & client, const std::string & what)
  {
    const auto answer = client.async_send_request(request_for(what));
    EXPECT_EQ(
      this->executor->spin_until_future_complete(answer.future, kPatience),
      FutureReturnCode::kSuccess);
    return text_of(answer.get());
  }
};
TYPED_TEST_SUITE(Services, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Services, a_future_gets_the_answer)
{
  auto service = this->node->template create_service<Get>("echo", &echo);
  auto client = this->make_client();
  EXPECT_EQ(this->ask(*client, "one"), "one");
  EXPECT_EQ(this->ask(*client, "two"), "two");
  EXPECT_EQ(client->pending_request_count(), 0U);
}

TYPED_TEST(Services, a_callback_gets_the_answer)
{
  auto service = this->node->template create_service<Get>("echo", &echo);
  auto client = this->make_client();
  std::string answer;
  client->async_send_request(
    request_for("name"), [&](const Get::Response & response) { answer = text_of(response); });
  EXPECT_TRUE(spin_until(*this->executor, [&] { return !answer.empty(); }));
  EXPECT_EQ(answer, "name");
}

TYPED_TEST(Services, the_header_tells_requests_apart)
{
  std::vector<RequestHeader> headers;
  auto service = this->node->template create_service<Get>(
    "echo", [&](const RequestHeader & header, const Get::Request & request, Get::Response & to) {
      headers.push_back(header);
      echo(request, to);
    });
  auto client = this->make_client();
  this->ask(*client, "one");
  this->ask(*client, "two");
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].id.sequence_number + 1, headers[1].id.sequence_number);
  EXPECT_GT(headers[0].source_timestamp.count(), 0);
}

TYPED_TEST(Services, answers_may_come_later_from_another_thread_and_in_any_order)
{
  std::vector<std::pair<std::string, Responder<Get>>> open;
  auto service = this->node->template create_service<Get>(
    "echo", [&](const Get::Request & request, Responder<Get> responder) {
      open.emplace_back(request.names.at(0), std::move(responder));
    });
  auto client = this->make_client();
  const auto first = client->async_send_request(request_for("first"));
  const auto second = client->async_send_request(request_for("second"));
  ASSERT_TRUE(spin_until(*this->executor, [&] { return open.size() == 2; }));
  std::thread([&] {
    for (auto next = open.rbegin(); next != open.rend(); ++next) {
      Get::Response response;
      echo(request_for(next->first), response);
      next->second.send(response);
    }
  }).join();
  for (const auto & answer : {first, second}) {
    ASSERT_EQ(
      this->executor->spin_until_future_complete(answer.future, kPatience),
      FutureReturnCode::kSuccess);
  }
  EXPECT_EQ(text_of(first.get()), "first");
  EXPECT_EQ(text_of(second.get()), "second");
  EXPECT_THAT(error_of([&] { open.front().second.send(Get::Response()); }), HasSubstr("only once"));
}

TYPED_TEST(Services, a_responder_outlives_its_service_and_says_so)
{
  std::optional<Responder<Get>> open;
  auto service = this->node->template create_service<Get>(
    "echo",
    [&](const Get::Request &, Responder<Get> responder) { open.emplace(std::move(responder)); });
  auto client = this->make_client();
  client->async_send_request(request_for("name"));
  ASSERT_TRUE(spin_until(*this->executor, [&] { return open.has_value(); }));
  service.reset();
  EXPECT_THAT(error_of([&] { open->send(Get::Response()); }), HasSubstr("does not exist any more"));
}

TYPED_TEST(Services, a_responder_keeps_no_node)
{
  std::optional<Responder<Get>> open;
  auto server = this->make_node("server");
  auto service = server->template create_service<Get>(
    "echo",
    [&](const Get::Request &, Responder<Get> responder) { open.emplace(std::move(responder)); });
  this->executor->add_node(server);
  auto client = this->make_client();
  client->async_send_request(request_for("name"));
  ASSERT_TRUE(spin_until(*this->executor, [&] { return open.has_value(); }));
  const std::weak_ptr<rcl_node_t> handle = server->handle();
  this->executor->remove_node(server);
  service.reset();
  server.reset();
  EXPECT_TRUE(handle.expired());
}

TYPED_TEST(Services, a_destroyed_service_leaves_no_callback_behind)
{
  const Spinning spinning(*this->executor);
  auto client = this->node->template create_client<Get>("echo");
  for (int round = 0; round < 3; ++round) {
    auto alive = std::make_unique<std::string>("alive");
    auto service = this->node->template create_service<Get>(
      "echo", [&alive](const Get::Request &, Get::Response & response) {
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
