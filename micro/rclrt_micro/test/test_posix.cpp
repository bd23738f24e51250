// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The POSIX port end to end: a pseudo-terminal, UDP and TCP, with the agent in a thread.
#include "posix.hpp"

namespace
{
class Lines : public ::testing::TestWithParam<rclrt_posix_line>
{
};

TEST_P(Lines, what_is_published_comes_back_in_order)
{
  AgentThread agent(GetParam());
  Program program(agent, GetParam());
  program.start();
  Echo echo(program, "echo", 1, 2);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (echo.received < Echo::kCount && std::chrono::steady_clock::now() < end) {
    const auto ret = rclrt_executor_spin_some(&program.executor, 100 * kMs);
    ASSERT_TRUE(ret == RCLRT_OK || ret == RCLRT_ERR_TIMEOUT) << rclrt_ret_text(ret);
  }
  EXPECT_EQ(echo.received, Echo::kCount);
  EXPECT_TRUE(echo.in_order);
  EXPECT_EQ(rclrt_session_ping(&program.session, 10'000 * kMs), RCLRT_OK);
  EXPECT_EQ(rclrt_session_close(&program.session), RCLRT_OK);
}

TEST_P(Lines, after_an_agent_was_gone_everything_goes_on)
{
  AgentThread agent(GetParam());
  Program program(agent, GetParam());
  program.start();
  std::vector<rclrt_session_event> events;
  program.session.on_event_context = &events;
  program.session.on_event = [](void * context, rclrt_session_event event) {
    static_cast<std::vector<rclrt_session_event> *>(context)->push_back(event);
  };
  Echo echo(program, "echo", 1, 2);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (echo.received < Echo::kCount / 2 && std::chrono::steady_clock::now() < end) {
    (void)rclrt_executor_spin_some(&program.executor, 100 * kMs);
  }
  rclrt_timer_cancel(&echo.timer);
  while (echo.received < echo.sent && std::chrono::steady_clock::now() < end) {
    (void)rclrt_executor_spin_some(&program.executor, 100 * kMs);
  }
  agent.restart();
  while (events.empty() && std::chrono::steady_clock::now() < end) {
    (void)rclrt_session_keep_alive(&program.session, 2000 * kMs);
  }
  EXPECT_EQ(
    events, (std::vector<rclrt_session_event>{RCLRT_SESSION_LOST, RCLRT_SESSION_CONNECTED}));
  while (echo.received < Echo::kCount && std::chrono::steady_clock::now() < end) {
    const Blob blob{echo.sent, 50};
    if (echo.sent == echo.received && rclrt_publish(&echo.publisher, &blob) == RCLRT_OK) {
      echo.sent++;
    }
    ASSERT_NE(rclrt_executor_spin_some(&program.executor, 10 * kMs), RCLRT_ERR_TRANSPORT);
  }
  EXPECT_EQ(echo.received, Echo::kCount);
  EXPECT_TRUE(echo.in_order);
}

TEST_P(Lines, levels_run_in_threads_of_their_own)
{
  AgentThread agent(GetParam());
  Program program(agent, GetParam());
  program.start();
  const uint8_t floors[] = {0, 10, 20};
  must(rclrt_executor_use_levels(&program.executor, floors, 3));
  Echo low(program, "low", 1, 11);
  Echo high(program, "high", 12, 25);
  bool stop = false;
  std::thread watcher =
    stop_when(stop, [&] { return low.received == Echo::kCount && high.received == Echo::kCount; });
  EXPECT_EQ(rclrt_posix_run(&program.posix, &program.executor, nullptr, &stop), RCLRT_OK);
  watcher.join();
  EXPECT_EQ(low.received, Echo::kCount);
  EXPECT_EQ(high.received, Echo::kCount);
  EXPECT_TRUE(low.in_order);
  EXPECT_TRUE(high.in_order);
}

TEST(Posix, with_levels_a_budget_that_is_used_up_is_full_again_after_its_period)
{
  AgentThread agent(RCLRT_POSIX_UDP);
  Program program(agent, RCLRT_POSIX_UDP);
  const uint8_t floors[] = {0, 10};
  ASSERT_EQ(program.posix.transport.open(&program.posix), true);
  must(rclrt_executor_use_levels(&program.executor, floors, 2));
  struct Storm
  {
    rclrt_guard guard{};
    std::atomic<int> runs{0};
  } storm;
  must(rclrt_executor_add_guard(
    &program.executor, &storm.guard, 20,
    [](void * context) {
      auto & self = *static_cast<Storm *>(context);
      self.runs++;
      rclrt_guard_trigger(&self.guard);
    },
    &storm));
  rclrt_budget budget;
  rclrt_budget_init(&budget, 5, 10 * kMs);
  must(rclrt_callback_set_budget(&storm.guard.callback, &budget));
  rclrt_guard_trigger(&storm.guard);
  bool stop = false;
  std::thread watcher = stop_when(stop, [&] { return storm.runs >= 50; });
  EXPECT_EQ(rclrt_posix_run(&program.posix, &program.executor, nullptr, &stop), RCLRT_OK);
  watcher.join();
  EXPECT_GE(storm.runs, 50);
  EXPECT_GE(budget.exhausted, 9U) << "five at a time";
  EXPECT_LE(static_cast<unsigned>(storm.runs), 5 * (budget.exhausted + 1));
}

INSTANTIATE_TEST_SUITE_P(
  All, Lines, ::testing::Values(RCLRT_POSIX_SERIAL, RCLRT_POSIX_UDP, RCLRT_POSIX_TCP));

TEST(Posix, what_is_urgent_does_not_wait_behind_all_that_a_serial_line_would_take)
{
  AgentThread agent(RCLRT_POSIX_SERIAL);
  Program program(agent, RCLRT_POSIX_SERIAL);
  program.posix.baud = 19200;  // a message of 200 bytes takes 110 ms
  program.start();
  rclrt_publisher bulk;
  rclrt_publisher urgent;
  const auto qos = rclrt_qos_best_effort();
  must(rclrt_publisher_init(&bulk, &program.node, &kBlob, "bulk", qos, 1));
  must(rclrt_publisher_init(&urgent, &program.node, &kBlob, "urgent", qos, 9));
  const Blob large{1, 200};
  const Blob small{2, 8};
  constexpr size_t kBulk = 8;
  for (size_t i = 0; i < kBulk; ++i) {
    must(rclrt_publish(&bulk, &large));
  }
  must(rclrt_publish(&urgent, &small));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (agent.topics().size() < kBulk + 1 && std::chrono::steady_clock::now() < end) {
    ASSERT_EQ(rclrt_daemon_poll(&program.daemon, 100 * kMs), RCLRT_OK);
  }
  const auto came = agent.topics();
  ASSERT_EQ(came.size(), kBulk + 1);
  const auto at = std::find(came.begin(), came.end(), "rt/urgent") - came.begin();
  EXPECT_LE(at, 2);
}

TEST(Posix, a_serial_device_that_is_unplugged_is_a_broken_line)
{
  const int device = posix_openpt(O_RDWR | O_NOCTTY);
  char name[128];
  ASSERT_EQ(grantpt(device) | unlockpt(device), 0);
  ASSERT_EQ(ptsname_r(device, name, sizeof(name)), 0);
  rclrt_posix posix;
  uint8_t bytes[16];
  must(rclrt_posix_serial(&posix, name, 115200));
  ASSERT_TRUE(posix.transport.open(posix.transport.context));
  EXPECT_EQ(posix.transport.read(posix.transport.context, bytes, sizeof(bytes), 0), 0);
  close(device);
  EXPECT_EQ(posix.transport.read(posix.transport.context, bytes, sizeof(bytes), 0), -1);
  EXPECT_NE(posix.error, 0);
  rclrt_posix_fini(&posix);
}

TEST(Posix, a_datagram_that_does_not_fit_is_dropped_whole_and_counted)
{
  const int agent = socket(AF_INET, SOCK_DGRAM, 0);
  rclrt_posix line;
  must(rclrt_posix_udp(&line, "127.0.0.1", bind_to_loopback(agent)));
  ASSERT_TRUE(line.transport.open(&line));
  ASSERT_EQ(line.transport.write(&line, reinterpret_cast<const uint8_t *>("?"), 1), 1);
  uint8_t bytes[64] = {};
  sockaddr_in peer{};
  socklen_t size = sizeof(peer);
  ASSERT_EQ(
    recvfrom(agent, bytes, sizeof(bytes), 0, reinterpret_cast<sockaddr *>(&peer), &size), 1);
  const auto send = [&](size_t length) {
    const std::vector<uint8_t> datagram(length, 7);
    EXPECT_EQ(
      sendto(agent, datagram.data(), length, 0, reinterpret_cast<sockaddr *>(&peer), size),
      static_cast<ssize_t>(length));
    return line.transport.read(&line, bytes, sizeof(bytes), 5000 * kMs);
  };
  EXPECT_EQ(send(65), 0);
  EXPECT_EQ(line.oversized, 1U);
  EXPECT_EQ(send(64), 64);
  EXPECT_EQ(line.oversized, 1U);
  rclrt_posix_fini(&line);
  close(agent);
}

TEST(Posix, a_line_that_is_not_there_is_an_error_that_says_why)
{
  rclrt_posix posix;
  EXPECT_EQ(rclrt_posix_serial(&posix, "/nonexistent", 12345), RCLRT_ERR_ARGUMENT) << "baud";
  must(rclrt_posix_serial(&posix, "/nonexistent", 115200));
  EXPECT_FALSE(posix.transport.open(posix.transport.context));
  EXPECT_EQ(posix.error, ENOENT);
  rclrt_posix_fini(&posix);
}
}  // namespace
