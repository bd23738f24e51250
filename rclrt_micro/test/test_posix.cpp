// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The POSIX port end to end: a pseudo-terminal, UDP and TCP, with the agent in a thread.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "rclrt_micro/posix.h"
#include "system.hpp"

namespace
{
// An agent behind a file descriptor.
class AgentThread
{
public:
  explicit AgentThread(rclrt_posix_line line) : line_(line)
  {
    if (line == RCLRT_POSIX_SERIAL) {
      fd_ = posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_EQ(grantpt(fd_) | unlockpt(fd_), 0);
      char name[128];
      EXPECT_EQ(ptsname_r(fd_, name, sizeof(name)), 0);
      device = name;
      // Opened once, so that the line does not hang up between our opening and the client's.
      other_end_ = open(name, O_RDWR | O_NOCTTY);
      termios settings{};
      tcgetattr(other_end_, &settings);
      cfmakeraw(&settings);
      tcsetattr(other_end_, TCSANOW, &settings);
    } else {
      const int type = line == RCLRT_POSIX_UDP ? SOCK_DGRAM : SOCK_STREAM;
      listening_ = socket(AF_INET, type, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
      socklen_t size = sizeof(address);
      EXPECT_EQ(getsockname(listening_, reinterpret_cast<sockaddr *>(&address), &size), 0);
      port = ntohs(address.sin_port);
      if (line == RCLRT_POSIX_TCP) {
        EXPECT_EQ(listen(listening_, 1), 0);
      } else {
        fd_ = listening_;
      }
    }
    thread_ = std::thread([this] { run(); });
  }

  ~AgentThread()
  {
    stop_ = true;
    thread_.join();
    for (const int fd : {fd_, other_end_, listening_}) {
      if (fd >= 0 && (fd != listening_ || fd != fd_)) {
        close(fd);
      }
    }
  }

  // As if the agent's process had been started anew.
  void restart() { restart_ = true; }

  AgentThread(const AgentThread &) = delete;
  AgentThread & operator=(const AgentThread &) = delete;

  std::string device;
  uint16_t port = 0;

private:
  rclrt_framing framing() const
  {
    return line_ == RCLRT_POSIX_SERIAL ? RCLRT_FRAMING_SERIAL
           : line_ == RCLRT_POSIX_UDP  ? RCLRT_FRAMING_DATAGRAM
                                       : RCLRT_FRAMING_LENGTH;
  }

  void run()
  {
    Deframer deframer(framing());
    Agent agent([this](const Agent::Bytes & message) {
      const auto frame = Deframer::frame(framing(), message, 0);
      const ssize_t sent = line_ == RCLRT_POSIX_UDP
                             ? sendto(
                                 fd_, frame.data(), frame.size(), 0,
                                 reinterpret_cast<sockaddr *>(&peer_), sizeof(peer_))
                             : ::write(fd_, frame.data(), frame.size());
      EXPECT_EQ(sent, static_cast<ssize_t>(frame.size()));
    });
    while (!stop_) {
      if (restart_.exchange(false)) {
        agent.restart();
        if (line_ == RCLRT_POSIX_TCP) {
          close(fd_);
          fd_ = -1;
          deframer = Deframer(framing());
        }
      }
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      agent.tick(static_cast<uint64_t>(std::chrono::nanoseconds(now).count()));
      pollfd ready{fd_ >= 0 ? fd_ : listening_, POLLIN, 0};
      if (poll(&ready, 1, 20) <= 0) {
        continue;
      }
      if (fd_ < 0) {
        fd_ = accept(listening_, nullptr, nullptr);
        continue;
      }
      Agent::Bytes bytes(4096);
      socklen_t size = sizeof(peer_);
      const ssize_t got = line_ == RCLRT_POSIX_UDP ? recvfrom(
                                                       fd_, bytes.data(), bytes.size(), 0,
                                                       reinterpret_cast<sockaddr *>(&peer_), &size)
                                                   : ::read(fd_, bytes.data(), bytes.size());
      if (got <= 0) {
        continue;
      }
      bytes.resize(static_cast<size_t>(got));
      for (const auto & message : deframer.feed(bytes)) {
        agent.receive(message);
      }
    }
  }

  rclrt_posix_line line_;
  int fd_ = -1;
  int other_end_ = -1;
  int listening_ = -1;
  sockaddr_in peer_{};
  std::atomic<bool> stop_{false};
  std::atomic<bool> restart_{false};
  std::thread thread_;
};

// The client's side, with its storage.
struct Program
{
  explicit Program(const AgentThread & agent, rclrt_posix_line line)
  {
    auto ret = RCLRT_OK;
    if (line == RCLRT_POSIX_SERIAL) {
      ret = rclrt_posix_serial(&posix, agent.device.c_str(), 115200);
    } else if (line == RCLRT_POSIX_UDP) {
      ret = rclrt_posix_udp(&posix, "127.0.0.1", agent.port);
    } else {
      ret = rclrt_posix_tcp(&posix, "127.0.0.1", agent.port);
    }
    EXPECT_EQ(ret, RCLRT_OK);
    rclrt_daemon_config config{};
    config.framing = line == RCLRT_POSIX_SERIAL ? RCLRT_FRAMING_SERIAL
                     : line == RCLRT_POSIX_UDP  ? RCLRT_FRAMING_DATAGRAM
                                                : RCLRT_FRAMING_LENGTH;
    config.nodes = nodes;
    config.node_count = 16;
    config.node_bytes = node_bytes;
    config.message_capacity = 256;
    config.slots = slots;
    config.slot_count = 32;
    config.ring = ring;
    config.ring_size = sizeof(ring);
    config.piece = piece;
    config.piece_size = sizeof(piece);
    config.input = input;
    config.input_size = sizeof(input);
    EXPECT_EQ(rclrt_daemon_init(&daemon, &config, &posix.port, &posix.transport), RCLRT_OK);
    EXPECT_EQ(
      rclrt_session_init(
        &session, &daemon, RCLRT_SESSION_DEFAULT, kKey, session_buffer, sizeof(session_buffer)),
      RCLRT_OK);
    EXPECT_EQ(rclrt_executor_init(&executor, &session, timers, 8, buffers), RCLRT_OK);
  }
  ~Program() { rclrt_posix_fini(&posix); }
  Program(const Program &) = delete;
  Program & operator=(const Program &) = delete;

  rclrt_posix posix{};
  rclrt_daemon daemon{};
  rclrt_session session{};
  rclrt_node_handle node{};
  rclrt_executor executor{};
  rclrt_node nodes[16]{};
  uint8_t node_bytes[16 * 256]{};
  rclrt_slot slots[32]{};
  uint8_t ring[8192]{};
  uint8_t piece[64]{};
  uint8_t input[256]{};
  uint8_t session_buffer[512]{};
  rclrt_heap_node * timers[8]{};
  uint8_t buffers[4 * 256]{};
};

struct Echo
{
  rclrt_publisher publisher{};
  rclrt_subscription subscription{};
  rclrt_timer timer{};
  Blob message;
  uint32_t sent = 0;
  std::atomic<uint32_t> received{0};
  std::atomic<bool> in_order{true};
  static constexpr uint32_t kCount = 50;

  void build(Program & program, const char * topic, uint8_t timer_priority, uint8_t priority)
  {
    ASSERT_EQ(
      rclrt_publisher_init(
        &publisher, &program.node, &kBlob, topic, rclrt_qos_reliable(), timer_priority),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_subscription_init(&subscription, &program.node, &kBlob, topic, rclrt_qos_reliable()),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_executor_add_subscription(
        &program.executor, &subscription, &message,
        [](void * context, const void * got) {
          auto & self = *static_cast<Echo *>(context);
          if (static_cast<const Blob *>(got)->number != self.received) {
            self.in_order = false;
          }
          self.received++;
        },
        this, priority, RCLRT_ON_NEW_DATA),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_executor_add_timer(
        &program.executor, &timer, 2 * kMs, timer_priority,
        [](void * context, rclrt_timer *) {
          auto & self = *static_cast<Echo *>(context);
          const Blob blob{self.sent, 50};
          if (self.sent < kCount && rclrt_publish(&self.publisher, &blob) == RCLRT_OK) {
            self.sent++;
          }
        },
        this),
      RCLRT_OK);
  }
};

// So long that only a program that has come to a halt gets there.
constexpr auto kPatience = std::chrono::seconds(60);

class Lines : public ::testing::TestWithParam<rclrt_posix_line>
{
};

TEST_P(Lines, what_is_published_comes_back_in_order)
{
  AgentThread agent(GetParam());
  Program program(agent, GetParam());
  ASSERT_EQ(rclrt_session_connect(&program.session, 10'000 * kMs), RCLRT_OK);
  ASSERT_EQ(rclrt_node_init(&program.node, &program.session, "node", 0), RCLRT_OK);
  Echo echo;
  ASSERT_NO_FATAL_FAILURE(echo.build(program, "echo", 1, 2));
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
  ASSERT_EQ(rclrt_session_connect(&program.session, 10'000 * kMs), RCLRT_OK);
  ASSERT_EQ(rclrt_node_init(&program.node, &program.session, "node", 0), RCLRT_OK);
  std::vector<rclrt_session_event> events;
  program.session.on_event_context = &events;
  program.session.on_event = [](void * context, rclrt_session_event event) {
    static_cast<std::vector<rclrt_session_event> *>(context)->push_back(event);
  };
  Echo echo;
  ASSERT_NO_FATAL_FAILURE(echo.build(program, "echo", 1, 2));
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
  ASSERT_EQ(rclrt_session_connect(&program.session, 10'000 * kMs), RCLRT_OK);
  ASSERT_EQ(rclrt_node_init(&program.node, &program.session, "node", 0), RCLRT_OK);
  const uint8_t floors[] = {0, 10, 20};
  ASSERT_EQ(rclrt_executor_use_levels(&program.executor, floors, 3), RCLRT_OK);
  Echo low;
  Echo high;
  ASSERT_NO_FATAL_FAILURE(low.build(program, "low", 1, 11));
  ASSERT_NO_FATAL_FAILURE(high.build(program, "high", 12, 25));
  bool stop = false;
  std::thread watcher([&] {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    const auto done = [&] { return low.received == Echo::kCount && high.received == Echo::kCount; };
    while (!done() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
  });
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
  ASSERT_EQ(rclrt_executor_use_levels(&program.executor, floors, 2), RCLRT_OK);
  struct Storm
  {
    rclrt_guard guard{};
    std::atomic<int> runs{0};
  } storm;
  ASSERT_EQ(
    rclrt_executor_add_guard(
      &program.executor, &storm.guard, 20,
      [](void * context) {
        auto & self = *static_cast<Storm *>(context);
        self.runs++;
        rclrt_guard_trigger(&self.guard);
      },
      &storm),
    RCLRT_OK);
  rclrt_budget budget;
  rclrt_budget_init(&budget, 5, 10 * kMs);
  ASSERT_EQ(rclrt_callback_set_budget(&storm.guard.callback, &budget), RCLRT_OK);
  rclrt_guard_trigger(&storm.guard);
  bool stop = false;
  std::thread watcher([&] {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (storm.runs < 50 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(rclrt_posix_run(&program.posix, &program.executor, nullptr, &stop), RCLRT_OK);
  watcher.join();
  EXPECT_GE(storm.runs, 50);
  EXPECT_GE(budget.exhausted, 9U) << "five at a time";
  EXPECT_LE(static_cast<unsigned>(storm.runs), 5 * (budget.exhausted + 1));
}

INSTANTIATE_TEST_SUITE_P(
  All, Lines, ::testing::Values(RCLRT_POSIX_SERIAL, RCLRT_POSIX_UDP, RCLRT_POSIX_TCP));

TEST(Posix, the_first_program_prints_its_ticks_and_ends)
{
  AgentThread agent(RCLRT_POSIX_SERIAL);
  const std::string command = RCLRT_MICRO_FIRST_PROGRAM " " + agent.device;
  FILE * program = popen(command.c_str(), "r");
  ASSERT_NE(program, nullptr);
  std::string output;
  char line[64];
  while (fgets(line, sizeof(line), program) != nullptr) {
    output += line;
  }
  EXPECT_EQ(pclose(program), 0);
  EXPECT_EQ(
    output, "tick 0\ntick 1\ntick 2\ntick 3\ntick 4\ntick 5\ntick 6\ntick 7\ntick 8\ntick 9\n");
}

TEST(Posix, a_serial_device_that_is_unplugged_is_a_broken_line)
{
  const int device = posix_openpt(O_RDWR | O_NOCTTY);
  char name[128];
  ASSERT_EQ(grantpt(device) | unlockpt(device), 0);
  ASSERT_EQ(ptsname_r(device, name, sizeof(name)), 0);
  rclrt_posix posix;
  uint8_t bytes[16];
  ASSERT_EQ(rclrt_posix_serial(&posix, name, 115200), RCLRT_OK);
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
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(agent, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(agent, reinterpret_cast<sockaddr *>(&address), &size), 0);
  rclrt_posix line;
  ASSERT_EQ(rclrt_posix_udp(&line, "127.0.0.1", ntohs(address.sin_port)), RCLRT_OK);
  ASSERT_TRUE(line.transport.open(&line));
  ASSERT_EQ(line.transport.write(&line, reinterpret_cast<const uint8_t *>("?"), 1), 1);
  uint8_t bytes[64] = {};
  sockaddr_in peer{};
  size = sizeof(peer);
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
  ASSERT_EQ(rclrt_posix_serial(&posix, "/nonexistent", 115200), RCLRT_OK);
  EXPECT_FALSE(posix.transport.open(posix.transport.context));
  EXPECT_EQ(posix.error, ENOENT);
  rclrt_posix_fini(&posix);
}
}  // namespace
