// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is refused and what is left: after _fini, after an _init that failed, and of budgets.
#include "program.hpp"

namespace
{
class Lifecycle : public ::testing::Test
{
protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(system.start()); }

  static constexpr auto kBad = RCLRT_ERR_ARGUMENT;

  rclrt_ret init_subscription()
  {
    return rclrt_subscription_init(&subscription, &system.node, &kBlob, "t", rclrt_qos_reliable());
  }
  rclrt_ret init_service()
  {
    return rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s");
  }
  rclrt_ret init_client()
  {
    return rclrt_client_init(&client, &system.node, &kBlob, &kBlob, "/s", 1);
  }

  void expect_nothing_works()
  {
    EXPECT_EQ(
      rclrt_executor_add_subscription(
        &system.executor, &subscription, &message, [](void *, const void *) {}, nullptr, 2,
        RCLRT_ON_NEW_DATA),
      kBad);
    EXPECT_EQ(rclrt_subscription_accept_long(&subscription, storage, sizeof(storage)), kBad);
    EXPECT_EQ(rclrt_subscription_fini(&subscription), kBad);
    EXPECT_EQ(
      rclrt_executor_add_service(
        &system.executor, &service, &message, &message,
        [](void *, const void *, void *) { return true; }, nullptr, 2),
      kBad);
    EXPECT_EQ(rclrt_service_respond(&service, &service.id, &message), kBad);
    EXPECT_EQ(rclrt_service_fini(&service), kBad);
    EXPECT_EQ(
      rclrt_executor_add_client(
        &system.executor, &client, &message, [](void *, const void *, uint16_t) {}, nullptr, 2),
      kBad);
    EXPECT_EQ(rclrt_client_request(&client, &message, nullptr), kBad);
    EXPECT_EQ(rclrt_client_fini(&client), kBad);
  }

  // What the agent sends late because nobody acknowledged it in time, and what was asked for.
  void settle()
  {
    for (int i = 0; i < 3; ++i) {
      system.settle(500);
      rclrt_session_handle(&system.session);
    }
  }

  System system;
  rclrt_subscription subscription{};
  rclrt_service service{};
  rclrt_client client{};
  Blob message;
  uint8_t storage[64]{};
};

TEST_F(Lifecycle, what_is_finished_is_refused)
{
  ASSERT_EQ(init_subscription(), RCLRT_OK);
  ASSERT_EQ(init_service(), RCLRT_OK);
  ASSERT_EQ(init_client(), RCLRT_OK);
  EXPECT_EQ(rclrt_subscription_fini(&subscription), RCLRT_OK);
  EXPECT_EQ(rclrt_service_fini(&service), RCLRT_OK);
  EXPECT_EQ(rclrt_client_fini(&client), RCLRT_OK);
  expect_nothing_works();
}

TEST_F(Lifecycle, what_could_not_be_initialised_is_refused)
{
  system.session.answer_timeout_ns = 50 * kMs;
  system.on_agent_message = [](const Agent::Bytes & sent) { return sent[4] == RCLRT_STATUS; };
  EXPECT_EQ(init_subscription(), RCLRT_ERR_TIMEOUT);
  EXPECT_EQ(init_service(), RCLRT_ERR_TIMEOUT);
  EXPECT_EQ(init_client(), RCLRT_ERR_TIMEOUT);
  system.on_agent_message = nullptr;
  settle();
  expect_nothing_works();
  system.session.next_stream = 0x7F;
  EXPECT_EQ(init_subscription(), RCLRT_ERR_STORAGE);
  EXPECT_EQ(init_service(), RCLRT_ERR_STORAGE);
  EXPECT_EQ(init_client(), RCLRT_ERR_STORAGE);
  expect_nothing_works();
}
}  // namespace
