// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The operations that may be interrupted, each with what is under way when it begins. A new one is a row.
#pragma once

#include "scene.hpp"

struct Operation
{
  const char * name;
  void (*policy)(RigOptions &);  // or null
  void (*before)(Scene &);       // or null
  void (*run)(Scene &);
  bool all = true;        // nothing may be lost
  bool long_ = false;     // it does the same many times, as what waits for the agent
  bool in_paper = true;   // the published behaviour has to do with it
  bool on_lines = false;  // the framing has
  bool levels = false;    // callbacks preempt each other
};

// Frames from the agent, acknowledgements and the end of a transmission are about to come.
inline void traffic(Scene & of)
{
  of.send_in();
  EXPECT_EQ(of.publish(of.low), RCLRT_OK);
  of.send_in();
}

// Neither has heard of the other: messages wait for acknowledgements.
inline void deaf(Scene & of)
{
  of.to_agent.faults.loss = 1;
  EXPECT_EQ(of.publish(of.high), RCLRT_OK);
  EXPECT_EQ(of.publish(of.low), RCLRT_OK);
  of.settle(1);
  of.to_agent.faults.loss = 0;
  of.to_client.faults.loss = 1;
  EXPECT_EQ(of.publish(of.high), RCLRT_OK);
  of.settle(1);
  of.to_client.faults.loss = 0;
}

// The first frame is missing, those after it are held; now it comes.
inline void gap(Scene & of)
{
  of.to_client.faults.loss = 1;
  of.send_in();
  of.settle(1);
  of.to_client.faults.loss = 0;
  of.send_in();
  of.send_in();
  of.settle(1);
  of.spin(4);
  of.settle(300);
  of.send_in();
  of.send_in();
}

inline void two_timers(Scene & of)
{
  for (int i = 0; i < 2; ++i) {
    const auto nothing = [](void *, rclrt_timer *) {};
    const uint64_t period = (i + 2) * kMs;
    EXPECT_EQ(
      rclrt_executor_add_timer(&of.executor, &of.timers[i], period, 9, nothing, &of), RCLRT_OK);
  }
}

inline const Operation kOperations[] = {
  {"publish", nullptr, traffic,
   [](Scene & of) {
     for (int i = 0; i < 2; ++i) {
       EXPECT_EQ(of.publish(of.high), RCLRT_OK);
       EXPECT_EQ(of.publish(of.best), RCLRT_OK);
       EXPECT_EQ(of.publish(of.low), RCLRT_OK);
     }
   },
   true, false, true, true},
  {"publish_fragments", nullptr,
   [](Scene & of) {
     traffic(of);
     of.send_in(300);
   },
   [](Scene & of) {
     EXPECT_EQ(of.publish(of.low, 300), RCLRT_OK);
     EXPECT_EQ(of.publish(of.high, 200), RCLRT_OK);
   },
   true, false, true, true},
  {"publish_long", [](RigOptions & options) { options.nodes = 6; }, nullptr,
   [](Scene & of) {
     EXPECT_EQ(of.publish(of.low, 900), RCLRT_OK);
     (void)of.publish(of.low, 900);
     (void)of.publish(of.high);
   },
   true, false, true, false},
  {"take", nullptr,
   [](Scene & of) {
     of.send_in();
     of.send_in(150);
     of.settle(1);
     traffic(of);
   },
   [](Scene & of) { of.spin(6); }, true, false, false, true},
  {"take_after_a_gap", nullptr, gap, [](Scene & of) { of.spin(4); }, true, false, false},
  {"take_with_few_slots", [](RigOptions & options) { options.slots = 2; }, gap,
   [](Scene & of) { of.spin(4); }, true, false, false},
  {"commit_of_what_is_too_long", nullptr, traffic,
   [](Scene & of) {
     rclrt_node * node = nullptr;
     EXPECT_EQ(rclrt_daemon_acquire(&of.daemon, of.low.self.stream, 3, &node), RCLRT_OK);
     rclrt_writer writer = rclrt_daemon_writer(&of.daemon, node);
     writer.failed = true;
     EXPECT_EQ(rclrt_daemon_commit(&of.daemon, node, &writer), RCLRT_ERR_STORAGE);
     (void)rclrt_daemon_idle(&of.daemon);
     (void)rclrt_daemon_confirmed(&of.daemon, of.low.self.stream);
   }},
  {"evict", [](RigOptions & options) { options.nodes = 3; },
   [](Scene & of) {
     of.publish(of.best);
     of.publish(of.best);
     of.publish(of.best);
   },
   [](Scene & of) {
     of.publish(of.high);
     of.publish(of.best);
     of.publish(of.low);
   },
   false},
  {"give_up", [](RigOptions & options) { options.policy.lifetime_ns = 50 * kMs; }, deaf,
   [](Scene & of) {
     of.world.hold(30 * kMs);
     of.publish(of.low);
     of.publish(of.high);
     of.world.hold(30 * kMs);
     (void)rclrt_daemon_tick(&of.daemon);
     of.publish(of.high);
     of.world.hold(30 * kMs);
     (void)rclrt_daemon_tick(&of.daemon);
   },
   false},
  {"hold_off", [](RigOptions & options) { options.policy.hold_off_ns = 5 * kMs; },
   [](Scene & of) {
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
     traffic(of);
   },
   [](Scene & of) {
     EXPECT_EQ(of.publish(of.low), RCLRT_OK);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
     of.world.hold(6 * kMs);
     (void)rclrt_daemon_tick(&of.daemon);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
   }},
  {"budgets", nullptr, traffic,
   [](Scene & of) {
     (void)rclrt_budget_init(&of.budget, 20, kMs);
     EXPECT_EQ(rclrt_publisher_set_budget(&of.high.self, &of.budget), RCLRT_OK);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
     EXPECT_EQ(of.publish(of.low), RCLRT_OK);
     EXPECT_EQ(rclrt_callback_set_budget(&of.guard.callback, &of.budget), RCLRT_OK);
     of.trigger();
     of.spin(3);
     EXPECT_EQ(rclrt_publisher_set_budget(&of.high.self, nullptr), RCLRT_OK);
   },
   true, false, false},
  {"repeat", nullptr, deaf,
   [](Scene & of) {
     of.world.hold(110 * kMs);
     (void)rclrt_daemon_tick(&of.daemon);
     EXPECT_EQ(of.publish(of.low), RCLRT_OK);
     of.world.hold(110 * kMs);
     (void)rclrt_daemon_tick(&of.daemon);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
   }},
  {"acknowledged", nullptr,
   [](Scene & of) {  // what is missing is asked for at once
     of.catch_frames();
     for (int i = 0; i < 6; ++i) {
       of.to_agent.faults.loss = i < 2 ? 1 : 0;
       EXPECT_EQ(of.publish(of.low), RCLRT_OK);
       of.interrupts();
     }
   },
   [](Scene & of) {  // all but the last ACKNACK are lost
     for (int i = 0; i < 2; ++i) {
       of.caught.erase(of.caught.begin(), of.caught.end() - 1);
       of.receive_caught();
       of.at_frame = 0;
       of.interrupts();
     }
     of.caught.clear();
   },
   true, true, false},
  {"reception", nullptr,
   [](Scene & of) {
     of.catch_frames();
     traffic(of);
     of.interrupts();
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
     EXPECT_EQ(of.publish(of.low), RCLRT_OK);
   },
   [](Scene & of) {  // completions come in, and timers
     of.receive_caught(7);
     for (int i = 0; i < 5; ++i) {
       of.receive_caught();
     }
   },
   true, false, true, true},
  {"completion", nullptr,
   [](Scene & of) {
     EXPECT_EQ(of.publish(of.low), RCLRT_OK);
     of.settle(1);
     of.port.transmitted = [] {};
     traffic(of);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
   },
   [](Scene & of) {  // receptions come in, and timers
     for (int i = 0; i < 100 && of.daemon.busy; ++i) {
       rclrt_daemon_transmitted(&of.daemon);
     }
   },
   true, false, true, true},
  {"handle", nullptr,
   [](Scene & of) {
     static rclrt_entity ghost;  // the agent answers that it does not know it
     ghost.id = 0x776;
     traffic(of);
     EXPECT_EQ(rclrt_session_read(&of.session, &ghost), RCLRT_OK);
     of.settle(1);
     EXPECT_EQ(rclrt_session_read(&of.session, &ghost), RCLRT_OK);
   },
   [](Scene & of) {
     rclrt_session_handle(&of.session);
     EXPECT_EQ(rclrt_daemon_poll(&of.daemon, 0), RCLRT_OK);
     rclrt_session_handle(&of.session);
   },
   true, false, false},
  {"ask", nullptr, traffic,
   [](Scene & of) {
     EXPECT_EQ(rclrt_session_ping(&of.session, 1000 * kMs), RCLRT_OK);
     EXPECT_EQ(rclrt_session_synchronize(&of.session, 1000 * kMs), RCLRT_OK);
   },
   true, true, false},
  {"connect_again", nullptr,
   [](Scene & of) {
     traffic(of);
     of.agent.restart();
   },
   [](Scene & of) { EXPECT_EQ(rclrt_session_keep_alive(&of.session, 5000 * kMs), RCLRT_OK); },
   false, true, true, true},
  {"close_and_connect", nullptr, traffic,
   [](Scene & of) {
     EXPECT_EQ(rclrt_session_close(&of.session), RCLRT_OK);
     EXPECT_EQ(rclrt_session_connect(&of.session, 5000 * kMs), RCLRT_OK);
   },
   false, true},
  {"end_publisher", nullptr,
   [](Scene & of) {
     traffic(of);
     EXPECT_EQ(of.publish(of.high), RCLRT_OK);
   },
   [](Scene & of) {
     EXPECT_EQ(of.publish(of.low), RCLRT_OK);
     EXPECT_EQ(rclrt_publisher_fini(&of.low.self), RCLRT_OK);
   },
   false, true},
  {"end_subscription", nullptr,
   [](Scene & of) {
     of.send_in();
     of.send_in(300);
     of.settle(1);
     traffic(of);
   },
   [](Scene & of) { EXPECT_EQ(rclrt_subscription_fini(&of.in), RCLRT_OK); }, false, true, false},
  {"service_and_client", [](RigOptions & options) { options.capacity = 256; }, traffic,
   [](Scene & of) {
     static rclrt_service service;
     static rclrt_client client;
     auto * node = &of.node;
     EXPECT_EQ(rclrt_service_init(&service, node, &kStamped, &kStamped, "s"), RCLRT_OK);
     EXPECT_EQ(rclrt_client_init(&client, node, &kStamped, &kStamped, "s", 4), RCLRT_OK);
     EXPECT_EQ(rclrt_client_fini(&client), RCLRT_OK);
     EXPECT_EQ(rclrt_service_fini(&service), RCLRT_OK);
   },
   true, true, false},
  {"timers", nullptr, two_timers,
   [](Scene & of) {
     of.world.hold(5 * kMs);
     (void)rclrt_executor_collect(&of.executor);
     const auto nothing = [](void *, rclrt_timer *) {};
     const uint64_t now = of.world.now_ns();
     EXPECT_EQ(
       rclrt_executor_add_timer_at(&of.executor, &of.timers[2], now, kMs, 9, nothing, &of),
       RCLRT_OK);
     rclrt_timer_cancel(&of.timers[0]);
     of.spin(3);
   },
   true, false, false},
  {"executor", nullptr,
   [](Scene & of) {
     traffic(of);
     of.trigger();
   },
   [](Scene & of) {
     of.spin(3);
     of.send_in();
     rclrt_executor_remove(&of.executor, &of.in.callback);
     of.send_in();
     EXPECT_EQ(rclrt_executor_add_on_new_data(&of.executor, &of.in.callback, 11), RCLRT_OK);
     rclrt_executor_remove(&of.executor, &of.lowest.callback);
   },
   true, false, false},
  {"batch", nullptr,
   [](Scene & of) {
     traffic(of);
     of.settle(1);
     of.send_in();
   },
   [](Scene & of) {
     EXPECT_EQ(rclrt_executor_set_semantics(&of.executor, RCLRT_SEMANTICS_LET), RCLRT_OK);
     of.trigger();
     of.spin(3);
     EXPECT_EQ(rclrt_executor_set_semantics(&of.executor, RCLRT_SEMANTICS_RCLCPP), RCLRT_OK);
     auto * const executor = &of.executor;
     EXPECT_EQ(
       rclrt_executor_set_trigger(executor, RCLRT_TRIGGER_ONE, &of.guard.callback), RCLRT_OK);
     of.trigger();
     of.spin(2);
     EXPECT_EQ(rclrt_executor_set_trigger(executor, RCLRT_TRIGGER_ALL, nullptr), RCLRT_OK);
     of.spin(1);
     EXPECT_EQ(rclrt_executor_set_trigger(executor, RCLRT_TRIGGER_ANY, nullptr), RCLRT_OK);
     (void)rclrt_batch_spin_some(&of.executor, 0);
     (void)rclrt_batch_spin_some(&of.executor, 0);
   },
   true, false, false},
  {"levels", nullptr, nullptr,
   [](Scene & of) {
     rclrt_guard_trigger(&of.lowest);
     of.send_in();
     of.levels->dispatch();
     of.trigger();
     of.send_in();
     of.levels->dispatch();
     of.interrupts();
   },
   true, false, false, false, true},
};
