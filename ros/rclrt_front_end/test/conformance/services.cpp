// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Services and clients through the middleware.

#include <atomic>
#include <future>
#include <vector>

#include "conformance/suite.hpp"

namespace conformance
{
namespace
{

using Words = std::vector<std::string>;

class Services : public Suite
{
};
OVER_ALL_EXECUTORS(Services);
class OurServices : public Suite
{
};
OVER_OUR_EXECUTORS(OurServices);

TEST_P(Services, answer_each_client_what_it_asked_for)
{
  const auto service = make_service(*node, "echo");
  const auto client = make_client(*node, "echo", nullptr);
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(client->wait_for_service(kPatience));
  std::vector<std::future<Words>> answers;
  for (int i = 0; i < 5; ++i) {
    answers.push_back(ask(*client, {std::to_string(i)}));
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get(), Words{std::to_string(i)});
  }
}

TEST_P(Services, may_wait_for_a_client_of_another_group)
{
  if (!has_threads(GetParam())) {
    GTEST_SKIP() << "this executor has one thread";
  }
  const auto far = make_service(*node, "far");
  const auto group_of_client = make_group(*node);
  const auto group_of_relay = make_group(*node);
  const auto to_far = make_client(*node, "far", group_of_client);
  Words heard;
  const auto relay =
    make_service(*node, "relay", [&] { heard = ask(*to_far, {"far"}).get(); }, group_of_relay);
  const auto client = make_client(*node, "relay", nullptr);
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(client->wait_for_service(kPatience) && to_far->wait_for_service(kPatience));
  EXPECT_EQ(ask(*client, {"near"}).get(), Words{"near"});
  EXPECT_EQ(heard, Words{"far"});
}

// In its own group, or where there is one thread only.
TEST_P(OurServices, that_wait_for_a_client_which_cannot_run_are_told_with_it)
{
  const auto elsewhere = make_node("elsewhere");
  const auto far = make_service(*elsewhere, "far");
  const auto other = make_executor();
  const Spinning other_spinning(*other, elsewhere);
  const auto apart = has_threads(GetParam()) ? nullptr : make_group(*node);
  const auto to_far = make_client(*node, "far", apart);
  std::atomic<bool> is_told{false};
  const auto relay = make_service(*node, "relay", [&] {
    const auto answer = ask(*to_far, {});
    EXPECT_TRUE(wait_for([&] { return is_told.load(); }));
  });
  const auto client = make_client(*node, "relay", nullptr);
  executor->add_node(node);
  ASSERT_TRUE(client->wait_for_service(kPatience) && to_far->wait_for_service(kPatience));
  const Spinning spinning(*executor);
  const auto answer = ask(*client, {});
  EXPECT_TRUE(wait_for([&] {
    for (const auto & finding : ours(*executor).findings()) {
      is_told = is_told || (finding.subject == "'/node/client/far'" &&
                            finding.what.find("'/node/service/relay'") != std::string::npos);
    }
    return is_told.load();
  }));
  answer.wait();
}

TEST_P(Services, that_let_go_of_themselves_their_group_and_others_still_answer)
{
  auto group = make_group(*node);
  const std::weak_ptr<void> left = group;
  auto subscription = make_subscription(*node, "topic", 10, [](const Message &) {}, group);
  std::shared_ptr<Service> service;
  service = make_service(
    *node, "service",
    [&] {
      subscription.reset();
      service.reset();
      group.reset();
    },
    group);
  const auto client = make_client(*node, "service", nullptr);
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(client->wait_for_service(kPatience));
  EXPECT_EQ(ask(*client, {"answer"}).get(), Words{"answer"});
  EXPECT_TRUE(wait_for([&] { return left.expired(); }) || !is_ours(GetParam()));
}

TEST_P(OurServices, that_throw_end_the_spin)
{
  const auto service = make_service(*node, "service", [] { throw std::domain_error("broken"); });
  const auto client = make_client(*node, "service", nullptr);
  executor->add_node(node);
  ASSERT_TRUE(client->wait_for_service(kPatience));
  const auto answer = ask(*client, {});
  EXPECT_THROW(executor->spin(), std::domain_error);
}

}  // namespace
}  // namespace conformance
