// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers and long messages go from ROS to a client and back, over lines that lose, double, delay and spoil 30 % of the
// frames each, in either direction: each arrives once and in order, and the session lasts. In memory, in virtual time.
// RCLRT_BAD_LINES_SEEDS=FIRST:COUNT runs others.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "bench.hpp"

namespace
{
using rclrt_agent::Bytes;
using rclrt_agent_test::Bench;

constexpr uint32_t kNumbers = 100;
constexpr uint32_t kLong = 4;
constexpr std::size_t kLongSize = 1500;
constexpr uint64_t kPatience = 600'000;  // ms of virtual time

// What comes goes back.
struct BadLineEcho
{
  rclrt_publisher publisher{};
  rclrt_subscription subscription{};
  Blob message{};
  std::deque<Blob> owed{};

  void pay()
  {
    while (!owed.empty() && rclrt_publish(&publisher, &owed.front()) == RCLRT_OK) {
      owed.pop_front();
    }
  }
  static void on_message(void * context, const void * message)
  {
    auto & self = *static_cast<BadLineEcho *>(context);
    self.owed.push_back(*static_cast<const Blob *>(message));
    self.pay();
  }
};

struct Client
{
  explicit Client(const RigOptions & with) : bench(with)
  {
    bench.backend.loops = false;
    bench.session.keep_alive_ns = 1000 * kMs;
    bench.session.answer_timeout_ns = 60'000 * kMs;
  }

  // An init that fails can be tried again; here a late copy of what the agent has answered to the greeting may end the
  // session once more.
  template <typename Init>
  void insist(const Init & init)
  {
    for (int i = 0; i < 20 && !::testing::Test::HasFatalFailure(); ++i) {
      if (init() == RCLRT_OK) {
        return;
      }
      (void)rclrt_session_connect(&bench.session, 60'000 * kMs);
    }
    FAIL() << "not once of twenty times";
  }

  void make(BadLineEcho * echo, const char * up, const char * down, uint8_t priority)
  {
    const rclrt_qos qos = rclrt_qos_reliable();
    insist([&] {
      return rclrt_publisher_init(&echo->publisher, &bench.node, &kBlob, up, qos, priority);
    });
    insist(
      [&] { return rclrt_subscription_init(&echo->subscription, &bench.node, &kBlob, down, qos); });
  }

  void start()
  {
    insist([&] { return rclrt_session_connect(&bench.session, 60'000 * kMs); });
    insist([&] { return rclrt_node_init(&bench.node, &bench.session, "node", 0); });
    make(&small, "up", "down", 3);
    make(&large, "long_up", "long_down", 1);
    must(rclrt_subscription_accept_long(&large.subscription, storage.data(), 4096));
    for (BadLineEcho * echo : {&small, &large}) {
      must(rclrt_executor_add_subscription(
        &bench.executor, &echo->subscription, &echo->message, BadLineEcho::on_message, echo,
        echo == &small ? 3 : 1, RCLRT_ON_NEW_DATA));
    }
    bench.spin_for(30'000);  // READ_DATA may have to be repeated
    bench.session.on_event_context = this;
    bench.session.on_event = [](void * context, rclrt_session_event event) {
      static_cast<Client *>(context)->lost += event == RCLRT_SESSION_LOST ? 1 : 0;
    };
  }

  const std::vector<Bytes> & back(const char * topic) { return bench.backend.written[topic]; }

  void run()
  {
    for (uint32_t i = 0; i < kNumbers; ++i) {
      bench.publish("/down", {static_cast<uint8_t>(i), 0, 0, 0});
      if (i % (kNumbers / kLong) == 0) {
        Bytes text(kLongSize, 0);
        text[0] = static_cast<uint8_t>(i / (kNumbers / kLong));
        bench.publish("/long_down", text);
      }
    }
    const uint64_t end = bench.world.now_ns() + kPatience * kMs;
    while (bench.world.now_ns() < end &&
           (back("/up").size() < kNumbers || back("/long_up").size() < kLong)) {
      bench.spin_for(100);
      small.pay();
      large.pay();
    }
    bench.spin_for(5'000);  // copies may still come
  }

  Bench bench;
  BadLineEcho small, large;
  std::vector<uint8_t> storage = std::vector<uint8_t>(4096);
  int lost = 0;
};

std::vector<uint32_t> first_bytes(const std::vector<Bytes> & messages)
{
  std::vector<uint32_t> all;
  for (const Bytes & message : messages) {
    all.push_back(message.at(0));
  }
  return all;
}

void try_lines(rclrt_framing framing, const rclrt_micro::SimLine::Faults & faults)
{
  unsigned first = 1;
  unsigned count = 5;
  if (const char * const seeds = std::getenv("RCLRT_BAD_LINES_SEEDS")) {
    ASSERT_EQ(std::sscanf(seeds, "%u:%u", &first, &count), 2) << seeds;
  }
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    RigOptions with;
    with.framing = framing;
    with.byte_ns = framing == RCLRT_FRAMING_DATAGRAM ? 1000 : kByte115200;
    with.nodes = 48;
    with.slots = 64;
    with.ring = 16384;
    with.faults = faults;
    with.seed = seed * 100;
    Client client(with);
    ASSERT_NO_FATAL_FAILURE(client.start());
    const auto before =
      client.bench.daemon.counters.abandoned;  // requests of a session that ended at its begin
    client.run();
    EXPECT_EQ(client.lost, 0) << "by " << int{client.bench.session.lost_by};
    EXPECT_EQ(first_bytes(client.back("/up")), up_to(kNumbers));
    EXPECT_EQ(first_bytes(client.back("/long_up")), up_to(kLong));
    for (const Bytes & text : client.back("/long_up")) {
      EXPECT_EQ(text.size(), kLongSize);
    }
    EXPECT_EQ(client.bench.daemon.counters.abandoned, before);
    EXPECT_EQ(client.bench.attached->outgoing().counters().given_up, 0U);
  }
}

// A spoilt datagram does not arrive: 0.3 and 0.3 of the rest.
TEST(BadLines, datagrams) { try_lines(RCLRT_FRAMING_DATAGRAM, {0.51, 0, 0.3, 30 * kMs, false}); }

TEST(BadLines, a_serial_line) { try_lines(RCLRT_FRAMING_SERIAL, {0.3, 0.3, 0.3, 30 * kMs, false}); }
}  // namespace
