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
    const auto nothing = [](void *, const void *) {};
    const auto serve = [](void *, const void *, void *) { return true; };
    const auto hear = [](void *, const void *, uint16_t) {};
    auto * const executor = &system.executor;
    auto * const blob = &message;
    expect_all(
      kBad, {rclrt_executor_add_subscription(
               executor, &subscription, blob, nothing, nullptr, 2, RCLRT_ON_NEW_DATA),
             rclrt_subscription_accept_long(&subscription, storage, sizeof(storage)),
             rclrt_subscription_fini(&subscription),
             rclrt_executor_add_service(executor, &service, blob, blob, serve, nullptr, 2),
             rclrt_service_respond(&service, &service.id, blob), rclrt_service_fini(&service),
             rclrt_executor_add_client(executor, &client, blob, hear, nullptr, 2),
             rclrt_client_request(&client, blob, nullptr), rclrt_client_fini(&client)});
  }

  // What the agent sends late because nobody acknowledged it in time, and what was asked for.
  void settle() { system.exchange(3, 500); }

  Started system;
  rclrt_subscription subscription{};
  rclrt_service service{};
  rclrt_client client{};
  Blob message;
  uint8_t storage[64]{};
};

TEST_F(Lifecycle, what_is_finished_is_refused)
{
  must(init_subscription());
  must(init_service());
  must(init_client());
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
      const auto high = static_cast<uint8_t>(group_of(subscription.reader) >> 8);
      const auto low = static_cast<uint8_t>(group_of(subscription.reader));
      if (
        sent[4] == RCLRT_STATUS && sent[10] == high && sent[11] == low &&
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

template <typename... T>
void scribble_all(T &... storage)
{
  (scribble(storage), ...);
}

class Storage : public ::testing::Test
{
protected:
  // System does this, in storage that holds anything.
  void SetUp() override
  {
    const rclrt_daemon_config config = system.daemon.config;
    scribble_all(
      system.daemon, system.session, system.node, system.executor, system.timer_slots, system.nodes,
      system.node_bytes, system.slots, system.ring, system.piece, system.session_buffer,
      system.take_buffers);
    must(rclrt_daemon_init(&system.daemon, &config, &system.port.port, &system.port.transport));
    must(rclrt_session_init(
      &system.session, &system.daemon, RCLRT_SESSION_DEFAULT, kKey, system.session_buffer.data(),
      static_cast<uint16_t>(system.session_buffer.size())));
    must(rclrt_executor_init(
      &system.executor, &system.session, system.timer_slots, 16, system.take_buffers.data()));
    system.start();
    scribble_all(publisher, subscription, service, client, timer, guard);
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
  must(rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1));
  must(rclrt_subscription_init(&subscription, &system.node, &kBlob, "t", rclrt_qos_reliable()));
  must(rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s"));
  must(rclrt_client_init(&client, &system.node, &kBlob, &kBlob, "/s", 1));
  must(rclrt_executor_add_subscription(
    &system.executor, &subscription, &message,
    [](void * context, const void *) { *static_cast<std::string *>(context) += "m"; }, &log, 2,
    RCLRT_ON_NEW_DATA));
  must(rclrt_executor_add_service(
    &system.executor, &service, &request, &response,
    [](void * context, const void *, void *) {
      *static_cast<std::string *>(context) += "s";
      return true;
    },
    &log, 3));
  must(rclrt_executor_add_client(
    &system.executor, &client, &answer,
    [](void * context, const void *, uint16_t) { *static_cast<std::string *>(context) += "c"; },
    &log, 4));
  must(rclrt_executor_add_timer(&system.executor, &timer, 900 * kMs, 5, tick, &log));
  must(rclrt_executor_add_guard(&system.executor, &guard, 6, note, &log));
  EXPECT_EQ(rclrt_executor_add_timer(&system.executor, &timer, 900 * kMs, 5, tick, &log), kBad)
    << "it is in already";
  EXPECT_EQ(rclrt_executor_add_guard(&system.executor, &guard, 6, note, &log), kBad);
  rclrt_guard_trigger(&guard);
  system.spin_for(300);
  EXPECT_EQ(log, "g");
  must(rclrt_publish(&publisher, &message));
  system.spin_for(100);
  EXPECT_EQ(log, "gm");
  must(rclrt_client_request(&client, &request, nullptr));
  system.spin_for(900);
  EXPECT_EQ(log, "gmsct");
  rclrt_executor_remove(&system.executor, &guard.callback);
  EXPECT_EQ(rclrt_executor_add_guard(&system.executor, &guard, 6, note, &log), RCLRT_OK);
}

TEST_F(Storage, after_an_init_that_failed_everything_else_is_refused_too)
{
  const auto qos = rclrt_qos_reliable();
  expect_all(
    kBad,
    {rclrt_publisher_init(&publisher, nullptr, &kBlob, "t", qos, 1),
     rclrt_publish(&publisher, &message), rclrt_publisher_fini(&publisher),
     rclrt_subscription_init(&subscription, nullptr, &kBlob, "t", qos),
     rclrt_subscription_fini(&subscription),
     rclrt_service_init(&service, nullptr, &kBlob, &kBlob, "/s"), rclrt_service_fini(&service),
     rclrt_client_init(&client, nullptr, &kBlob, &kBlob, "/s", 1), rclrt_client_fini(&client)});
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
  scribble_all(daemon, session, executor);
  expect_all(
    kBad, {rclrt_daemon_init(&daemon, nullptr, nullptr, nullptr),
           rclrt_session_init(&session, &daemon, 0x81, kKey, system.ring.data(), 4096),
           rclrt_session_connect(&session, 1), rclrt_session_close(&session),
           rclrt_session_ping(&session, 1), rclrt_session_keep_alive(&session, 1),
           rclrt_session_synchronize(&session, 1),
           rclrt_session_create(&session, &entity, RCLRT_PARTICIPANT),
           rclrt_session_delete(&session, &entity), rclrt_session_read(&session, &entity)});
  rclrt_session_handle(&session);
  EXPECT_EQ(rclrt_executor_init(&executor, &session, nullptr, 0, system.ring.data()), kBad);
  const auto nothing = [](void *) {};
  const auto tick = [](void *, rclrt_timer *) {};
  bool stop = true;
  const uint8_t floors[] = {0};
  expect_all(
    kBad, {rclrt_executor_use_levels(&executor, floors, 1),
           rclrt_executor_add_timer(&executor, &timer, 1, 1, tick, nullptr),
           rclrt_executor_add_timer_at(&executor, &timer, 1, 1, 1, tick, nullptr),
           rclrt_executor_add_guard(&executor, &guard, 1, nothing, nullptr),
           rclrt_executor_spin_some(&executor, 1), rclrt_batch_spin_some(&executor, 1),
           rclrt_executor_spin_period(&executor, 1, &stop)});
  EXPECT_EQ(rclrt_executor_collect(&executor), UINT64_MAX);
  EXPECT_EQ(rclrt_executor_run_level(&executor, 0), UINT64_MAX);
}

TEST(Budget, an_amount_of_zero_is_refused)
{
  Started system;
  rclrt_budget budget;
  EXPECT_EQ(rclrt_budget_init(nullptr, 1, kMs), RCLRT_ERR_ARGUMENT);
  rclrt_guard guard{};
  must(rclrt_executor_add_guard(&system.executor, &guard, 1, [](void *) {}, nullptr));
  Talker talker(system);
  for (const bool some : {false, true}) {
    const auto wanted = some ? RCLRT_OK : RCLRT_ERR_ARGUMENT;
    EXPECT_EQ(rclrt_budget_init(&budget, some ? 1 : 0, kMs), wanted);
    EXPECT_EQ(rclrt_callback_set_budget(&guard.callback, &budget), wanted);
    EXPECT_EQ(rclrt_publisher_set_budget(&talker.self, &budget), wanted);
  }
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
  auto & levels = use_levels({0, 5});
  auto & g = guard("g", 9);
  rclrt_budget budget;
  (void)rclrt_budget_init(&budget, 1, 1000 * kMs);
  must(rclrt_callback_set_budget(&g.guard.callback, &budget));
  rclrt_guard_trigger(&g.guard);
  levels.dispatch();
  rclrt_guard_trigger(&g.guard);
  levels.dispatch();
  EXPECT_EQ(log, "g") << "its budget is used up";
  must(rclrt_callback_set_budget(&g.guard.callback, nullptr));
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

}  // namespace
