// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What several threads send to one client, for tests of lines.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "session.hpp"

namespace rclrt_agent_test
{
using namespace rclrt_agent;

inline Bytes number(uint16_t value)
{
  const Bytes bytes = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8U)};
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.of.data = view_of(bytes);
  return write(sub);
}

// Numbers that several threads have sent at once, as they have come to the client.
template <typename AnyClient>
std::vector<int> sent_by_threads(AnyClient & client, const std::shared_ptr<Session> & session)
{
  constexpr int kThreads = 4, kEach = 20;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint16_t k = 0; k < kEach; ++k) {
        session->outgoing().put(RCLRT_STREAM_BEST_EFFORT, 0, number(k));
        session->ask();  // that there is something
      }
    });
  }
  // The line's thread has something to send, too.
  rclrt_submessage question{};
  question.id = RCLRT_GET_INFO;
  question.object = RCLRT_OBJECT_AGENT;
  for (int i = 0; i < 60; ++i) {
    client.send(question, RCLRT_SESSION_DEFAULT);
  }
  for (auto & thread : threads) {
    thread.join();
  }
  // The last one of all, for the end.
  session->outgoing().put(RCLRT_STREAM_BEST_EFFORT, 0, number(0xFFFF));
  session->ask();
  std::vector<int> order;
  for (Bytes message = client.receive(); !message.empty(); message = client.receive()) {
    if (message.at(1) == RCLRT_STREAM_BEST_EFFORT) {
      order.push_back(message.at(2) | message.at(3) << 8);
      if (message.back() == 0xFF) {
        break;
      }
    }
  }
  return order;
}

}  // namespace rclrt_agent_test
