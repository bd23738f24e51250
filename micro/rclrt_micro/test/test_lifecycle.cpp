// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is refused and what is left: after _fini, after an _init that failed, and of budgets.
#include <cstring>

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

TEST_F(Lifecycle, of_a_subscription_that_the_agent_refuses_nothing_is_left_and_no_number_is_used)
{
  const uint16_t next = system.session.next_number;
  for (int attempt = 0; attempt < 3; ++attempt) {
    // Its subscriber vanishes as soon as it is there, so its datareader is refused.
    bool once = false;
    system.on_agent_message = [this, &once](const Agent::Bytes & sent) {
      const auto high = static_cast<uint8_t>(subscription.group.id >> 8);
      const auto low = static_cast<uint8_t>(subscription.group.id);
      if (
        sent[4] == RCLRT_STATUS && low != 0 && sent[10] == high && sent[11] == low &&
        !std::exchange(once, true)) {
        system.agent.receive({0x81, 0, 0, 0, RCLRT_DELETE, 1, 4, 0, 0, 3, high, low});
      }
      return false;
    };
    EXPECT_EQ(init_subscription(), RCLRT_ERR_AGENT);
    EXPECT_EQ(system.session.status, RCLRT_STATUS_UNKNOWN_REFERENCE);
    EXPECT_EQ(system.session.next_number, next);
    system.on_agent_message = nullptr;
    settle();
    EXPECT_EQ(system.agent.objects(), 1U) << "the participant";
  }
  EXPECT_EQ(init_subscription(), RCLRT_OK);
  settle();
  EXPECT_EQ(system.agent.objects(), 4U);
}

template <typename T>
void scribble(T & storage)
{
  std::memset(static_cast<void *>(&storage), 0xA5, sizeof(storage));
}

template <typename T>
void scribble(std::vector<T> & storage)
{
  std::memset(static_cast<void *>(storage.data()), 0xA5, storage.size() * sizeof(T));
}

class Storage : public ::testing::Test
{
protected:
  // As System does it, in storage that holds anything.
  void SetUp() override
  {
    const rclrt_daemon_config config = system.daemon.config;
    scribble(system.daemon);
    scribble(system.session);
    scribble(system.node);
    scribble(system.executor);
    scribble(system.timer_slots);
    scribble(system.nodes);
    scribble(system.node_bytes);
    scribble(system.slots);
    scribble(system.ring);
    scribble(system.piece);
    scribble(system.session_buffer);
    scribble(system.take_buffers);
    ASSERT_EQ(
      rclrt_daemon_init(&system.daemon, &config, &system.port.port, &system.port.transport),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_session_init(
        &system.session, &system.daemon, RCLRT_SESSION_DEFAULT, kKey, system.session_buffer.data(),
        static_cast<uint16_t>(system.session_buffer.size())),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_executor_init(
        &system.executor, &system.session, system.timer_slots, 16, system.take_buffers.data()),
      RCLRT_OK);
    ASSERT_NO_FATAL_FAILURE(system.start());
    scribble(publisher);
    scribble(subscription);
    scribble(service);
    scribble(client);
    scribble(timer);
    scribble(guard);
  }

  static constexpr auto kBad = RCLRT_ERR_ARGUMENT;

  System system;
  rclrt_publisher publisher;
  rclrt_subscription subscription;
  rclrt_service service;
  rclrt_client client;
  rclrt_timer timer;
  rclrt_guard guard;
  Blob message, request, response, answer;
  std::string log;
};

TEST_F(Storage, may_hold_anything_before_it_is_initialised)
{
  const auto note = [](void * context) { *static_cast<std::string *>(context) += "g"; };
  const auto tick = [](void * context, rclrt_timer *) {
    *static_cast<std::string *>(context) += "t";
  };
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1), RCLRT_OK);
  ASSERT_EQ(
    rclrt_subscription_init(&subscription, &system.node, &kBlob, "t", rclrt_qos_reliable()),
    RCLRT_OK);
  ASSERT_EQ(rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s"), RCLRT_OK);
  ASSERT_EQ(rclrt_client_init(&client, &system.node, &kBlob, &kBlob, "/s", 1), RCLRT_OK);
  ASSERT_EQ(
    rclrt_executor_add_subscription(
      &system.executor, &subscription, &message,
      [](void * context, const void *) { *static_cast<std::string *>(context) += "m"; }, &log, 2,
      RCLRT_ON_NEW_DATA),
    RCLRT_OK);
  ASSERT_EQ(
    rclrt_executor_add_service(
      &system.executor, &service, &request, &response,
      [](void * context, const void *, void *) {
        *static_cast<std::string *>(context) += "s";
        return true;
      },
      &log, 3),
    RCLRT_OK);
  ASSERT_EQ(
    rclrt_executor_add_client(
      &system.executor, &client, &answer,
      [](void * context, const void *, uint16_t) { *static_cast<std::string *>(context) += "c"; },
      &log, 4),
    RCLRT_OK);
  ASSERT_EQ(rclrt_executor_add_timer(&system.executor, &timer, 900 * kMs, 5, tick, &log), RCLRT_OK);
  ASSERT_EQ(rclrt_executor_add_guard(&system.executor, &guard, 6, note, &log), RCLRT_OK);
  EXPECT_EQ(rclrt_executor_add_timer(&system.executor, &timer, 900 * kMs, 5, tick, &log), kBad)
    << "it is in already";
  EXPECT_EQ(rclrt_executor_add_guard(&system.executor, &guard, 6, note, &log), kBad);
  rclrt_guard_trigger(&guard);
  system.spin_for(300);
  EXPECT_EQ(log, "g");
  ASSERT_EQ(rclrt_publish(&publisher, &message), RCLRT_OK);
  system.spin_for(100);
  EXPECT_EQ(log, "gm");
  ASSERT_EQ(rclrt_client_request(&client, &request, nullptr), RCLRT_OK);
  system.spin_for(900);
  EXPECT_EQ(log, "gmsct");
  rclrt_executor_remove(&system.executor, &guard.callback);
  EXPECT_EQ(rclrt_executor_add_guard(&system.executor, &guard, 6, note, &log), RCLRT_OK);
}

TEST_F(Storage, after_an_init_that_failed_everything_else_is_refused_too)
{
  const auto qos = rclrt_qos_reliable();
  EXPECT_EQ(rclrt_publisher_init(&publisher, nullptr, &kBlob, "t", qos, 1), kBad);
  EXPECT_EQ(rclrt_publish(&publisher, &message), kBad);
  EXPECT_EQ(rclrt_publisher_fini(&publisher), kBad);
  EXPECT_EQ(rclrt_subscription_init(&subscription, nullptr, &kBlob, "t", qos), kBad);
  EXPECT_EQ(rclrt_subscription_fini(&subscription), kBad);
  EXPECT_EQ(rclrt_service_init(&service, nullptr, &kBlob, &kBlob, "/s"), kBad);
  EXPECT_EQ(rclrt_service_fini(&service), kBad);
  EXPECT_EQ(rclrt_client_init(&client, nullptr, &kBlob, &kBlob, "/s", 1), kBad);
  EXPECT_EQ(rclrt_client_fini(&client), kBad);
  rclrt_node_handle node;
  scribble(node);
  EXPECT_EQ(rclrt_node_init(&node, &system.session, nullptr, 0), kBad);
  EXPECT_EQ(rclrt_publisher_init(&publisher, &node, &kBlob, "t", qos, 1), kBad);
  system.session.connected = false;
  EXPECT_EQ(rclrt_node_init(&node, &system.session, "n", 0), RCLRT_ERR_STATE);
  EXPECT_EQ(rclrt_publisher_init(&publisher, &node, &kBlob, "t", qos, 1), kBad);

  rclrt_daemon daemon;
  rclrt_session session;
  rclrt_executor executor;
  rclrt_entity entity{};
  scribble(daemon);
  scribble(session);
  scribble(executor);
  EXPECT_EQ(rclrt_daemon_init(&daemon, nullptr, nullptr, nullptr), kBad);
  EXPECT_EQ(rclrt_session_init(&session, &daemon, 0x81, kKey, system.ring.data(), 4096), kBad);
  EXPECT_EQ(rclrt_session_connect(&session, 1), kBad);
  EXPECT_EQ(rclrt_session_close(&session), kBad);
  EXPECT_EQ(rclrt_session_ping(&session, 1), kBad);
  EXPECT_EQ(rclrt_session_keep_alive(&session, 1), kBad);
  EXPECT_EQ(rclrt_session_synchronize(&session, 1), kBad);
  EXPECT_EQ(rclrt_session_create(&session, &entity, RCLRT_PARTICIPANT), kBad);
  EXPECT_EQ(rclrt_session_delete(&session, &entity), kBad);
  EXPECT_EQ(rclrt_session_read(&session, &entity), kBad);
  rclrt_session_handle(&session);
  EXPECT_EQ(rclrt_executor_init(&executor, &session, nullptr, 0, system.ring.data()), kBad);
  const auto nothing = [](void *) {};
  const auto tick = [](void *, rclrt_timer *) {};
  bool stop = true;
  const uint8_t floors[] = {0};
  EXPECT_EQ(rclrt_executor_use_levels(&executor, floors, 1), kBad);
  EXPECT_EQ(rclrt_executor_add_timer(&executor, &timer, 1, 1, tick, nullptr), kBad);
  EXPECT_EQ(rclrt_executor_add_timer_at(&executor, &timer, 1, 1, 1, tick, nullptr), kBad);
  EXPECT_EQ(rclrt_executor_add_guard(&executor, &guard, 1, nothing, nullptr), kBad);
  EXPECT_EQ(rclrt_executor_spin_some(&executor, 1), kBad);
  EXPECT_EQ(rclrt_batch_spin_some(&executor, 1), kBad);
  EXPECT_EQ(rclrt_executor_spin_period(&executor, 1, &stop), kBad);
  EXPECT_EQ(rclrt_executor_collect(&executor), UINT64_MAX);
  EXPECT_EQ(rclrt_executor_run_level(&executor, 0), UINT64_MAX);
}

TEST(Budget, an_amount_of_zero_is_refused)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_budget budget;
  EXPECT_EQ(rclrt_budget_init(nullptr, 1, kMs), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_budget_init(&budget, 0, kMs), RCLRT_ERR_ARGUMENT);
  rclrt_guard guard{};
  ASSERT_EQ(
    rclrt_executor_add_guard(&system.executor, &guard, 1, [](void *) {}, nullptr), RCLRT_OK);
  EXPECT_EQ(rclrt_callback_set_budget(&guard.callback, &budget), RCLRT_ERR_ARGUMENT);
  rclrt_publisher publisher;
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1), RCLRT_OK);
  EXPECT_EQ(rclrt_publisher_set_budget(&publisher, &budget), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_budget_init(&budget, 1, kMs), RCLRT_OK);
  EXPECT_EQ(rclrt_callback_set_budget(&guard.callback, &budget), RCLRT_OK);
  EXPECT_EQ(rclrt_publisher_set_budget(&publisher, &budget), RCLRT_OK);
}

TEST(Budget, a_period_may_be_as_long_as_forever)
{
  rclrt_budget budget;
  EXPECT_EQ(rclrt_budget_init(&budget, 1, UINT64_MAX), RCLRT_OK);
  rclrt_budget_use(&budget, 1, 5 * kMs);
  EXPECT_FALSE(rclrt_budget_left(&budget, 6 * kMs));
}

TEST_F(Program, with_levels_what_waits_for_a_budget_runs_when_it_gets_another)
{
  rclrt_micro::SimLevels levels(system.world, system.port, [this](unsigned level) {
    (void)rclrt_executor_run_level(&system.executor, level);
  });
  const uint8_t floors[] = {0, 5};
  ASSERT_EQ(rclrt_executor_use_levels(&system.executor, floors, 2), RCLRT_OK);
  auto & g = guard("g", 9);
  rclrt_budget budget;
  (void)rclrt_budget_init(&budget, 1, 1000 * kMs);
  ASSERT_EQ(rclrt_callback_set_budget(&g.guard.callback, &budget), RCLRT_OK);
  rclrt_guard_trigger(&g.guard);
  levels.dispatch();
  rclrt_guard_trigger(&g.guard);
  levels.dispatch();
  EXPECT_EQ(log, "g") << "its budget is used up";
  ASSERT_EQ(rclrt_callback_set_budget(&g.guard.callback, nullptr), RCLRT_OK);
  levels.dispatch();
  EXPECT_EQ(log, "g g");
}
TEST_F(Program, a_service_whose_types_cannot_be_read_or_written_is_refused)
{
  rclrt_type no_encode = kBlob;
  rclrt_type no_decode = kBlob;
  no_encode.encode = nullptr;
  no_decode.decode = nullptr;
  rclrt_service service;
  rclrt_client client;
  auto * node = &system.node;
  EXPECT_EQ(rclrt_service_init(&service, node, &no_decode, &kBlob, "s"), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_service_init(&service, node, &kBlob, &no_encode, "s"), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_client_init(&client, node, &no_encode, &kBlob, "s", 1), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_client_init(&client, node, &kBlob, &no_decode, "s", 1), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_service_init(&service, node, &no_encode, &no_decode, "s"), RCLRT_OK);
  EXPECT_EQ(rclrt_client_init(&client, node, &no_decode, &no_encode, "s", 1), RCLRT_OK);
}

TEST(Ping, before_a_session_with_a_key_in_each_message_is_answered_too)
{
  System system({}, 0x01);
  EXPECT_EQ(rclrt_session_ping(&system.session, 1000 * kMs), RCLRT_OK);
  ASSERT_FALSE(system.sent_by_client.empty());
  const auto & header = system.sent_by_client.at(0);
  EXPECT_EQ(header.at(0), RCLRT_SESSION_NONE_WITH_KEY);
  EXPECT_TRUE(std::equal(kKey, kKey + 4, header.begin() + 4));
  EXPECT_EQ(rclrt_session_connect(&system.session, 1000 * kMs), RCLRT_OK);
}
}  // namespace
