// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Clients that mean harm: valid messages in an order, a number or a size that makes no sense.
#include <gtest/gtest.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "bench.hpp"

namespace
{
using namespace rclrt_agent_test;

TEST(Hostile, a_client_that_has_said_good_bye_and_greets_gets_a_session_that_lives)
{
  // When the old session ends, seen from the greeting.
  enum class Ends
  {
    kBefore,
    kMeanwhile,
    kAfter
  };
  for (const auto when : {Ends::kBefore, Ends::kMeanwhile, Ends::kAfter}) {
    SCOPED_TRACE(static_cast<int>(when));
    GreetedRig rig;
    rig.now += std::chrono::milliseconds(when == Ends::kBefore ? 0 : 100);
    const auto before = rig.sessions[1];
    rig.say(1, good_bye());
    if (when == Ends::kBefore) {
      before->work();  // its answer is on its way, the agent has not removed it yet
    } else if (when == Ends::kMeanwhile) {
      rig.on_describe = [&] {
        rig.on_describe = {};
        before->work();
      };
    }
    ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
    rig.work();
    EXPECT_TRUE(before->ended() || when == Ends::kAfter);
    EXPECT_TRUE(rig.sessions[1] != before || when == Ends::kAfter);
    EXPECT_FALSE(rig.sessions[1]->ended());
    EXPECT_EQ(rig.agent.report(rig.now).size(), 1U);
  }
}

// Each message that waits is a heartbeat that releases the next, on streams of which each releases the next stream.
TEST(Hostile, heartbeats_that_release_heartbeats_do_not_fill_the_stack)
{
  GreetedRig rig;
  for (unsigned stream = 0x80; stream <= 0xFF; ++stream) {
    for (uint16_t i = 1; i < 16; ++i) {
      const bool last = i == 15;
      const auto next = static_cast<uint8_t>(last && stream < 0xFF ? stream + 1 : stream);
      const uint16_t first = last ? 1 : static_cast<uint16_t>(i + 1);
      rig.say(1, heartbeat(next, first, 20), static_cast<uint8_t>(stream), i);
      rig.work();
    }
  }
  // All at once, and on a stack that is small.
  rig.say(1, heartbeat(0x80, 1, 20));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  const auto body = [](void * of) -> void * {
    static_cast<AgentRig *>(of)->work();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &rig), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(rig.sessions[1]->counters().malformed, 0U);
}

TEST(Hostile, a_client_that_greets_again_does_not_wait_for_a_message_full_of_entities)
{
  SlowBackend backend;
  GreetedRig rig({}, &backend);
  rig.now += std::chrono::seconds(1);
  rig.say(1, participants(200));
  const auto session = rig.sessions[1];
  std::future<void> greeting;
  std::atomic<int> made{0};
  backend.meanwhile = [&](int number) {
    if (number == 1) {
      greeting = std::async(std::launch::async, [&] {
        rig.greet(1);
        made = backend.made.load();
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  while (session->work()) {
  }
  greeting.get();
  EXPECT_LT(made, 200);
  backend.meanwhile = {};
}

TEST(Hostile, who_greets_with_another_session_does_not_wait_for_the_end_of_the_old_one)
{
  GreetedRig rig;
  rig.say(1, participants(3));
  rig.work();
  const std::weak_ptr<Session> first = rig.sessions[1];
  rig.say(1, participants(9));  // worked on by nobody any more
  ASSERT_EQ(rig.greet(1, 0x82), RCLRT_STATUS_OK);
  EXPECT_EQ(rig.backend.nodes.size(), 3U) << "their end may take long";
  ASSERT_EQ(rig.greet(1, 0x83), RCLRT_STATUS_OK) << "and once more";
  EXPECT_EQ(rig.backend.nodes.size(), 3U);
  EXPECT_EQ(rig.agent.report(rig.now).size(), 1U);
  rig.work();
  EXPECT_TRUE(rig.backend.nodes.empty());
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(rig.sessions[1]->ended());
}

TEST(Hostile, who_greets_where_a_client_was_before_does_not_end_it)
{
  AgentOptions options;
  options.settled = Duration(0);
  GreetedRig rig(options);
  const auto session = rig.sessions[1];
  rig.receive(2, rig.greeting(1));  // that client from elsewhere
  ASSERT_EQ(rig.sessions[2], session);
  rig.receive(1, rig.greeting(3));  // the line does not know yet
  EXPECT_NE(rig.sessions[1], session);
  EXPECT_FALSE(session->ended());
  EXPECT_EQ(rig.agent.report(rig.now).size(), 2U);
}

TEST(Hostile, a_flood_of_greetings_leaves_one_session)
{
  GreetedRig rig;
  rig.say(1, participants(3));
  rig.work();
  std::vector<std::weak_ptr<Session>> all;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(rig.greet(1, i % 2 == 0 ? 0x82 : 0x81), RCLRT_STATUS_OK);
    all.push_back(rig.sessions[1]);
    rig.jobs.clear();
  }
  const auto alive =
    std::count_if(all.begin(), all.end(), [](const auto & session) { return !session.expired(); });
  EXPECT_EQ(alive, 1);
  rig.sessions[1]->work();
  EXPECT_TRUE(rig.backend.nodes.empty());
}

TEST(Hostile, ten_thousand_creations_make_no_more_entities_than_allowed)
{
  AgentOptions options;
  options.session.all_objects = options.session.objects + 7;
  GreetedRig rig(options);
  ASSERT_EQ(rig.greet(2), RCLRT_STATUS_OK);
  const Bytes some = participants(100);
  for (uint16_t i = 0; i < 100; ++i) {
    Bytes others = some;
    for (std::size_t at = 0; at + 8 <= others.size(); at += some.size() / 100) {
      others[at + 6] = static_cast<uint8_t>(i);  // the high byte of the identifier
    }
    rig.say(1, others);
    rig.work();
  }
  const auto session = rig.sessions[1];
  EXPECT_EQ(session->objects(), AgentOptions{}.session.objects);
  EXPECT_EQ(rig.backend.nodes.size(), AgentOptions{}.session.objects);
  Bytes answer;
  while (session->outgoing().next(rig.now, &answer)) {
  }
  ASSERT_EQ(answer.at(4), RCLRT_STATUS);
  EXPECT_EQ(answer.at(12), RCLRT_STATUS_RESOURCES);
  // Others get what is left of all, and what it had when it has gone.
  rig.say(2, some);
  rig.work();
  EXPECT_EQ(rig.sessions[2]->objects(), 7U);
  rig.say(1, good_bye());
  rig.work();
  rig.say(2, some);
  rig.work();
  EXPECT_EQ(rig.sessions[2]->objects(), 100U);
  EXPECT_EQ(rig.backend.nodes.size(), 100U);
  EXPECT_EQ(*options.session.all, 100U);
}

TEST(Hostile, a_client_whose_entities_take_long_holds_up_no_message_of_others)
{
  SlowBackend backend;
  GreetedRig rig({}, &backend);
  rig.say(1, participants(1));
  std::future<void> report, other;
  std::future_status answered{};
  backend.meanwhile = [&](int) {
    report = std::async(std::launch::async, [&] { rig.agent.report(rig.now); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other = std::async(std::launch::async, [&] { rig.greet(2); });
    answered = other.wait_for(std::chrono::seconds(5));
  };
  rig.sessions[1]->work();
  report.get();
  other.get();
  EXPECT_EQ(answered, std::future_status::ready);
}

// Messages of which each part is one that a client may send, with values that no sane one gives.
class Fuzzer
{
public:
  explicit Fuzzer(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  template <typename T, std::size_t N>
  T of(const T (&these)[N])
  {
    return these[below(N)];
  }
  uint16_t number()
  {
    return static_cast<uint16_t>(of({0U, 1U, 2U, 16U, 0x7FFFU, 0x8000U, 0xFFFFU, below(0x10000)}));
  }
  uint8_t stream()
  {
    return static_cast<uint8_t>(of({0U, 1U, 2U, 0x7FU, 0x80U, 0x80U, 0x81U, 0xFFU, below(256)}));
  }
  uint16_t object() { return static_cast<uint16_t>(below(4) << 4U | below(10)); }
  std::string name()
  {
    static const std::string kNames[] = {
      "t",
      "rt/t",
      "rq/addRequest",
      "",
      "/",
      "//",
      "a b",
      "__",
      "<",
      "</topic>",
      "\xFF\x01",
      "a/../b",
      std::string(255, 'x'),
      std::string(300, '/'),
      "T",
      "p::msg::dds_::T_",
      "p::srv::dds_::T_Request_"};
    return kNames[below(std::size(kNames))];
  }
  Bytes noise(std::size_t size)
  {
    Bytes bytes(size);
    std::generate(bytes.begin(), bytes.end(), [this] { return static_cast<uint8_t>(random_()); });
    return bytes;
  }
  Bytes body(uint8_t kind, uint8_t representation)
  {
    if (representation != RCLRT_BY_BINARY) {
      const char * const tag =
        of({"participant", "topic", "data_writer", "data_reader", "requester", "replier"});
      const std::string text = "<dds><" + std::string(tag) + " service_name=\"" + name() +
                               "\"><topic><name>" + name() + "</name><dataType>" + name() +
                               "</dataType></topic></" + tag + of({">", "", "></dds>"});
      return {text.begin(), text.end()};
    }
    Bytes bytes(1024);
    rclrt_writer writer;
    rclrt_writer_init(&writer, bytes.data(), bytes.size());
    if (kind == RCLRT_PARTICIPANT) {
      rclrt_write_bool(&writer, false);
      rclrt_write_bool(&writer, true);
      rclrt_write_string(&writer, name().c_str());
    } else if (kind == RCLRT_DATAWRITER || kind == RCLRT_DATAREADER) {
      rclrt_write_u8(&writer, 0);
      rclrt_write_u8(&writer, static_cast<uint8_t>(below(4) << 4U | RCLRT_TOPIC));
      rclrt_write_bool(&writer, true);
      rclrt_write_u16(&writer, number());
      rclrt_write_bool(&writer, true);
      rclrt_write_u16(&writer, number());
    } else {
      for (int i = 0; i < 3; ++i) {
        rclrt_write_string(&writer, name().c_str());
      }
      rclrt_write_u16(&writer, 0);
    }
    bytes.resize(std::min(writer.at, bytes.size()));
    return bytes;
  }
  Bytes submessage()
  {
    rclrt_submessage sub{};
    Bytes bytes;
    sub.id = static_cast<uint8_t>(below(16));
    sub.flags = static_cast<uint8_t>(below(3) == 0 ? below(16) : 0);
    sub.request = number();
    sub.object = of({object(), object(), object(), uint16_t{RCLRT_OBJECT_AGENT}});
    sub.object = below(2000) == 0 ? uint16_t{RCLRT_OBJECT_CLIENT} : sub.object;
    if (sub.id == RCLRT_CREATE_CLIENT) {
      sub.of.create_client.key[0] = static_cast<uint8_t>(below(9));
      sub.of.create_client.session = static_cast<uint8_t>(of({0x81U, 0x01U, 0x82U, below(256)}));
      sub.of.create_client.mtu = static_cast<uint16_t>(of({64U, 512U, 65535U, below(65536)}));
    } else if (sub.id == RCLRT_CREATE) {
      sub.of.create.kind = static_cast<uint8_t>(sub.object & 15U);
      sub.of.create.representation = static_cast<uint8_t>(1 + below(3));
      sub.of.create.parent = object();
      bytes = body(sub.of.create.kind, sub.of.create.representation);
      sub.of.create.body = view_of(bytes);
      Bytes all(128 + bytes.size());
      rclrt_writer writer;
      rclrt_writer_init(&writer, all.data(), all.size());
      rclrt_write_submessage(&writer, &sub);
      all.resize(writer.at);
      return all;
    } else if (sub.id == RCLRT_READ_DATA) {
      auto & read = sub.of.read_data;
      read.preferred_stream = stream();
      read.format = static_cast<uint8_t>(below(256));
      read.has_delivery = below(4) != 0;
      read.delivery = {number(), static_cast<uint16_t>(below(2)), number(), number()};
    } else if (sub.id == RCLRT_ACKNACK) {
      sub.of.acknack = {number(), number(), stream()};
    } else if (sub.id == RCLRT_HEARTBEAT) {
      sub.of.heartbeat = {number(), number(), stream()};
    } else if (sub.id == RCLRT_TIMESTAMP || sub.id == RCLRT_TIMESTAMP_REPLY) {
      sub.of.timestamp = {static_cast<int32_t>(random_()), static_cast<uint32_t>(random_())};
    } else if (sub.id == RCLRT_RESET && below(20) != 0) {
      sub.id = RCLRT_WRITE_DATA;
    }
    if (sub.id == RCLRT_WRITE_DATA || sub.id == RCLRT_DATA || sub.id == RCLRT_FRAGMENT) {
      bytes = noise(of({0U, 1U, 24U, 100U, below(3000)}));
      sub.of.data = view_of(bytes);
    }
    return rclrt_agent::write(sub);
  }
  Bytes message()
  {
    const uint8_t session = static_cast<uint8_t>(below(40) == 0 ? below(256) : 0x81);
    const uint8_t on = stream();
    uint16_t & next = next_[on];
    next = below(50) == 0 ? number() : next;
    const rclrt_message_header header{session, on, next, {static_cast<uint8_t>(below(9)), 0, 0, 0}};
    next = static_cast<uint16_t>(next + of({1, 1, 1, 1, 0, 2, -1}));
    Bytes submessages;
    for (auto i = below(4); i < 4; ++i) {
      const Bytes one = submessage();
      submessages.resize((submessages.size() + 3) / 4 * 4);
      submessages.insert(submessages.end(), one.begin(), one.end());
    }
    Bytes bytes = write_message(header, view_of(submessages));
    for (auto i = below(8) == 0 ? below(4) : 0; i > 0; --i) {
      bytes[below(static_cast<uint32_t>(bytes.size()))] = static_cast<uint8_t>(random_());
    }
    bytes.resize(below(16) == 0 ? below(static_cast<uint32_t>(bytes.size())) : bytes.size());
    bytes.shrink_to_fit();
    return bytes;
  }

private:
  std::mt19937 random_;
  std::map<uint8_t, uint16_t> next_;
};

TEST(Hostile, seven_clients_that_send_nonsense_harm_no_other)
{
  constexpr uint64_t kPolite = 99;
  AgentOptions options;
  options.clients = 6;
  AgentRig rig(options);
  const char * const runs = std::getenv("RCLRT_AGENT_FUZZ_RUNS");
  Fuzzer fuzzer(runs == nullptr ? 7 : std::random_device()());
  ASSERT_EQ(rig.greet(kPolite), RCLRT_STATUS_OK);
  const auto polite = rig.sessions[kPolite];
  const Bytes ping = rclrt_agent::write([] {
    rclrt_submessage sub{};
    sub.id = RCLRT_GET_INFO;
    sub.object = RCLRT_OBJECT_AGENT;
    return sub;
  }());
  uint64_t pings = 0, greeted = 0;
  for (int64_t i = runs == nullptr ? 20'000 : std::atoll(runs); i > 0; --i) {
    const uint64_t address = 1 + fuzzer.below(7);
    if (fuzzer.below(100) == 0) {
      greeted += rig.greet(address) == RCLRT_STATUS_OK ? 1 : 0;
    }
    rig.receive(address, fuzzer.message());
    rig.now +=
      std::chrono::milliseconds(fuzzer.below(1000) == 0 ? fuzzer.below(40'000) : fuzzer.below(20));
    const auto & session = rig.sessions[address];
    Bytes message;
    for (auto sent = fuzzer.below(4); session != nullptr && sent > 0; --sent) {
      if (session->outgoing().next(rig.now, &message)) {
        ASSERT_LE(message.size(), 65535U);
      }
    }
    if (fuzzer.below(16) != 0) {
      continue;  // what came waits
    }
    rig.say(kPolite, ping);
    ++pings;
    rig.work();
    ASSERT_TRUE(polite->outgoing().next(rig.now, &message));
    ASSERT_EQ(message.at(4), RCLRT_INFO);
    rig.agent.tick(rig.now);
    rig.backend.written.clear();
    for (auto * const end : rig.backend.endpoints) {
      end->waiting.resize(std::min<std::size_t>(end->waiting.size(), 20));
    }
    ASSERT_LE(rig.agent.report(rig.now).size(), options.clients);
    for (const auto & [where, of] : rig.sessions) {
      if (of != nullptr) {
        ASSERT_LE(of->objects(), options.session.objects);
        ASSERT_LE(of->outgoing().unacknowledged(), 128U * 16U);
      }
    }
  }
  EXPECT_EQ(polite->counters().received, pings);
  EXPECT_EQ(polite->counters().dropped + polite->counters().malformed, 0U);
  EXPECT_GT(greeted, 10U);
  for (auto & [address, session] : rig.sessions) {
    session = nullptr;
  }
  rig.agent.tick(rig.now + std::chrono::hours(1));
  EXPECT_TRUE(rig.backend.endpoints.empty());
  EXPECT_TRUE(rig.backend.nodes.empty());
}
}  // namespace
