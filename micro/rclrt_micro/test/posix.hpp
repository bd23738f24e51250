// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A client on the POSIX port, and an agent in a thread.
#pragma once

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
#include <functional>
#include <mutex>
#include <thread>

#include "rclrt_micro/posix.h"
#include "system.hpp"

inline rclrt_framing framing_of(rclrt_posix_line line)
{
  return line == RCLRT_POSIX_SERIAL ? RCLRT_FRAMING_SERIAL
         : line == RCLRT_POSIX_UDP  ? RCLRT_FRAMING_DATAGRAM
                                    : RCLRT_FRAMING_LENGTH;
}

// Binds a socket at this machine; returns the port.
inline uint16_t bind_to_loopback(int fd)
{
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size), 0);
  return ntohs(address.sin_port);
}

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
      port = bind_to_loopback(listening_);
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

  // The topics of what the client wrote, in order.
  std::vector<std::string> topics()
  {
    const std::lock_guard lock(mutex_);
    return topics_;
  }

  // As if the agent's process had been started anew.
  void restart() { restart_ = true; }

  AgentThread(const AgentThread &) = delete;
  AgentThread & operator=(const AgentThread &) = delete;

  std::string device;
  uint16_t port = 0;

private:
  void run()
  {
    Deframer deframer(framing_of(line_));
    Agent agent([this](const Agent::Bytes & message) {
      const auto frame = Deframer::frame(framing_of(line_), message, 0);
      const ssize_t sent = line_ == RCLRT_POSIX_UDP
                             ? sendto(
                                 fd_, frame.data(), frame.size(), 0,
                                 reinterpret_cast<sockaddr *>(&peer_), sizeof(peer_))
                             : ::write(fd_, frame.data(), frame.size());
      EXPECT_EQ(sent, static_cast<ssize_t>(frame.size()));
    });
    agent.on_data = [this](const std::string & topic, const Agent::Bytes &) {
      const std::lock_guard lock(mutex_);
      topics_.push_back(topic);
    };
    while (!stop_) {
      if (restart_.exchange(false)) {
        agent.restart();
        if (line_ == RCLRT_POSIX_TCP) {
          close(fd_);
          fd_ = -1;
          deframer = Deframer(framing_of(line_));
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
  std::mutex mutex_;
  std::vector<std::string> topics_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> restart_{false};
  std::thread thread_;
};

// The client's side, with its storage.
struct Program
{
  explicit Program(const AgentThread & agent, rclrt_posix_line line)
  {
    if (line == RCLRT_POSIX_SERIAL) {
      must(rclrt_posix_serial(&posix, agent.device.c_str(), 115200));
      posix.daemon = &daemon;
    } else if (line == RCLRT_POSIX_UDP) {
      must(rclrt_posix_udp(&posix, "127.0.0.1", agent.port));
    } else {
      must(rclrt_posix_tcp(&posix, "127.0.0.1", agent.port));
    }
    build(framing_of(line), RCLRT_MODE_OWN, posix.transport, input);
  }

  // Clock and mutex of the port; a serial line that is the test's own, received from by interrupt.
  Program(const rclrt_transport & line, rclrt_mode mode)
  {
    must(rclrt_posix_udp(&posix, "127.0.0.1", 9));
    build(RCLRT_FRAMING_SERIAL, mode, line, nullptr);
  }

  ~Program() { rclrt_posix_fini(&posix); }
  Program(const Program &) = delete;
  Program & operator=(const Program &) = delete;

  void build(
    rclrt_framing framing, rclrt_mode mode, const rclrt_transport & line, uint8_t * line_input)
  {
    rclrt_daemon_config config{};
    config.framing = framing;
    config.mode = mode;
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
    config.input = line_input;
    config.input_size = sizeof(input);
    must(rclrt_daemon_init(&daemon, &config, &posix.port, &line));
    must(rclrt_session_init(
      &session, &daemon, RCLRT_SESSION_DEFAULT, kKey, session_buffer, sizeof(session_buffer)));
    must(rclrt_executor_init(&executor, &session, timers, 8, buffers));
  }

  void start()
  {
    must(rclrt_session_connect(&session, 10'000 * kMs));
    must(rclrt_node_init(&node, &session, "node", 0));
  }

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
  uint8_t session_buffer[4352]{};
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

  Echo(Program & program, const char * topic, uint8_t timer_priority, uint8_t priority)
  {
    const auto qos = rclrt_qos_reliable();
    must(rclrt_publisher_init(&publisher, &program.node, &kBlob, topic, qos, timer_priority));
    must(rclrt_subscription_init(&subscription, &program.node, &kBlob, topic, qos));
    must(rclrt_executor_add_subscription(
      &program.executor, &subscription, &message,
      [](void * context, const void * got) {
        auto & self = *static_cast<Echo *>(context);
        if (static_cast<const Blob *>(got)->number != self.received) {
          self.in_order = false;
        }
        self.received++;
      },
      this, priority, RCLRT_ON_NEW_DATA));
    must(rclrt_executor_add_timer(
      &program.executor, &timer, 2 * kMs, timer_priority,
      [](void * context, rclrt_timer *) {
        auto & self = *static_cast<Echo *>(context);
        const Blob blob{self.sent, 50};
        if (self.sent < kCount && rclrt_publish(&self.publisher, &blob) == RCLRT_OK) {
          self.sent++;
        }
      },
      this));
  }
  Echo(const Echo &) = delete;
  Echo & operator=(const Echo &) = delete;
};

// Only a program that has come to a halt takes so long.
constexpr auto kPatience = std::chrono::seconds(60);

// Sets `stop` when `done` holds, or patience is at its end.
inline std::thread stop_when(bool & stop, std::function<bool()> done)
{
  return std::thread([&stop, done = std::move(done)] {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!done() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
  });
}
