// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What eProsima's client 2.4.2 has sent, captured with the agent of the same version: our agent gives the same
// answers. And that client as the flight stacks PX4 and ArduPilot use it: for long, and at high rates.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>

#include "bench.hpp"
#include "captures.hpp"

namespace
{
// Request, object and status of every STATUS, in any order: acknowledgements and repeats are not the same.
using Statuses = std::set<std::tuple<int, int, int>>;

void collect(const ::Bytes & message, Statuses * statuses)
{
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_submessage sub;
  rclrt_reader_init(&reader, message.data(), message.size());
  rclrt_read_message_header(&reader, &header);
  while (rclrt_read_submessage(&reader, &sub)) {
    if (sub.id == RCLRT_STATUS) {
      statuses->insert({sub.request, sub.object, sub.of.result.status});
    }
  }
}

constexpr const char * kProfiles =
  "<profiles><participant profile_name=\"default_xrce_participant\"><rtps><name>n</name></rtps>"
  "</participant><topic profile_name=\"shapetype_topic\"><name>Square</name>"
  "<dataType>ShapeType</dataType></topic>"
  "<data_writer profile_name=\"shapetype_data_writer\"><topic><name>Square</name>"
  "<dataType>ShapeType</dataType></topic></data_writer>"
  "<data_reader profile_name=\"shapetype_data_reader\"><topic><name>Square</name>"
  "<dataType>ShapeType</dataType></topic></data_reader></profiles>";

TEST(Captures, of_another_client_are_answered_as_its_own_agent_answers)
{
  std::map<std::string, std::vector<CapturedMessage>> captures;
  for (const auto & message : read_captures()) {
    captures[message.capture].push_back(message);
  }
  ASSERT_GE(captures.size(), 10U);
  for (const auto & [name, messages] : captures) {
    rclrt_agent::AgentOptions options;
    options.session.references = rclrt_agent::parse_references(kProfiles);
    rclrt_agent_test::AgentRig rig(options);
    Statuses expected, ours;
    for (const auto & captured : messages) {
      if (!captured.from_client) {
        collect(captured.message, &expected);
        continue;
      }
      rig.now += std::chrono::milliseconds(600);
      rig.receive(1, captured.message);
      const auto jobs = rig.jobs;
      rig.work();
      for (const auto & job : jobs) {
        ::Bytes answer;
        while (job->outgoing().next(rig.now, &answer)) {
          collect(answer, &ours);
        }
      }
    }
    Statuses missing, more;
    std::set_difference(
      expected.begin(), expected.end(), ours.begin(), ours.end(),
      std::inserter(missing, missing.begin()));
    std::set_difference(
      ours.begin(), ours.end(), expected.begin(), expected.end(),
      std::inserter(more, more.begin()));
    EXPECT_EQ(missing, Statuses{}) << name;
    EXPECT_EQ(more, Statuses{}) << name;
    EXPECT_EQ(rig.agent.counters().malformed, 0U) << name;
  }
}

using namespace rclrt_agent_test;
using std::chrono::milliseconds;

constexpr uint8_t kReliable = RCLRT_STREAM_RELIABLE, kBestEffort = RCLRT_STREAM_BEST_EFFORT;

uint32_t number_in(View data)
{
  uint32_t value = 0;
  std::memcpy(&value, data.data, std::min(data.size, sizeof(value)));
  return value;
}

// A client by the rules of eProsima's: all that is not acknowledged goes again when something is missing, after 100 ms
// it sends a heartbeat, and it acknowledges each reliable message. Of `one_in` messages the line loses one.
struct Board
{
  explicit Board(AgentRig & of, unsigned one_in) : rig(of), lost_one_in(one_in)
  {
    require(rig.greet(1) == RCLRT_STATUS_OK, "the agent refuses the board");
    put(participants(1));
    put(entity(0x003, RCLRT_PUBLISHER, 0x001, ""));
    put(entity(0x005, RCLRT_DATAWRITER, 0x003, "rt/up"));
    put(entity(0x015, RCLRT_DATAWRITER, 0x003, "rt/fast"));
    put(entity(0x004, RCLRT_SUBSCRIBER, 0x001, ""));
    put(entity(0x006, RCLRT_DATAREADER, 0x004, "rt/down"));
    rclrt_submessage sub{};
    sub.id = RCLRT_READ_DATA;
    sub.object = 0x006;
    sub.of.read_data.preferred_stream = kReliable;
    sub.of.read_data.has_delivery = true;
    sub.of.read_data.delivery.max_samples = UINT16_MAX;
    put(rclrt_agent::write(sub));
    for (int i = 0; i < 100; ++i) {
      rig.work();
      step();
      rig.now += milliseconds(100);
    }
    rig.backend.loops = false;
  }

  static Bytes data(uint16_t writer, uint32_t value)
  {
    Bytes bytes = data_for(writer);
    std::memcpy(bytes.data() + bytes.size() - sizeof(value), &value, sizeof(value));
    return bytes;
  }
  void put(const Bytes & submessage)
  {
    backlog.push_back(submessage);
    flush();
  }
  void put_fast(uint32_t value)
  {
    lost_fast += send(kBestEffort, next_fast++, data(0x015, value)) ? 0 : 1;
  }
  void flush()
  {
    for (; !backlog.empty() && unacked.size() < 8; backlog.pop_front()) {
      unacked.push_back(backlog.front());
      send(kReliable, next++, unacked.back());
    }
  }
  bool loses() { return random() % lost_one_in == 0; }
  bool send(uint8_t stream, uint16_t sequence, const Bytes & submessages)
  {
    const bool arrives = !loses();
    if (arrives) {
      rig.say(1, submessages, stream, sequence);
    }
    return arrives;
  }
  // How many messages are ahead of the answer to a question that is asked now.
  int ahead_of(rclrt_submessage_id question, rclrt_submessage_id answer)
  {
    rclrt_submessage sub{};
    sub.id = question;
    sub.object = RCLRT_OBJECT_AGENT;
    rig.say(1, rclrt_agent::write(sub));
    int before = 0;
    for (Bytes message; rig.sessions.at(1)->outgoing().next(rig.now, &message); ++before) {
      receive(message);
      if (message.at(4) == answer) {
        return before;
      }
    }
    return -1;
  }
  // What the agent has for it, and what is due.
  void step()
  {
    for (Bytes message; rig.sessions.at(1)->outgoing().next(rig.now, &message);) {
      if (!loses()) {
        receive(message);
      }
    }
    flush();
    if (!unacked.empty() && rig.now >= beat) {
      send(0, 0, heartbeat(kReliable, first(), static_cast<uint16_t>(next - 1)));
      beat = rig.now + milliseconds(100);
    }
  }
  uint16_t first() const { return static_cast<uint16_t>(next - unacked.size()); }
  void receive(const Bytes & message)
  {
    rclrt_reader reader;
    rclrt_message_header header;
    rclrt_reader_init(&reader, message.data(), message.size());
    rclrt_read_message_header(&reader, &header);
    const Bytes rest(message.begin() + static_cast<std::ptrdiff_t>(reader.at), message.end());
    if (header.stream != kReliable) {
      handle(rest);
      return;
    }
    if (static_cast<uint16_t>(header.sequence - expected) < 8) {
      ahead[header.sequence] = rest;
    }
    for (; ahead.count(expected) > 0; ++expected) {
      handle(ahead[expected]);
      ahead.erase(expected);
    }
    send(0, 0, acknack(kReliable, expected, ahead.empty() ? 0 : 1));
  }
  void handle(const Bytes & submessages)
  {
    rclrt_reader reader;
    rclrt_submessage sub;
    rclrt_reader_init(&reader, submessages.data(), submessages.size());
    while (rclrt_read_submessage(&reader, &sub)) {
      if (sub.id == RCLRT_STATUS) {
        EXPECT_EQ(sub.of.result.status, RCLRT_STATUS_OK);
      } else if (sub.id == RCLRT_DATA) {
        down.push_back(number_in(sub.of.data));
      } else if (sub.id == RCLRT_HEARTBEAT) {
        const bool misses = sub.of.heartbeat.last_unacked != static_cast<uint16_t>(expected - 1);
        send(0, 0, acknack(kReliable, expected, misses ? 1 : 0));
      } else if (sub.id == RCLRT_ACKNACK) {
        while (!unacked.empty() && rclrt_sequence_before(first(), sub.of.acknack.first_unacked)) {
          unacked.pop_front();
        }
        for (uint16_t i = 0; sub.of.acknack.missing != 0 && i < unacked.size(); ++i) {
          send(kReliable, static_cast<uint16_t>(first() + i), unacked[i]);
        }
        beat = rig.now + milliseconds(100);
      }
    }
  }
  // Numbers from 0 on, each once.
  static void expect_all(const std::vector<uint32_t> & numbers, std::size_t count)
  {
    ASSERT_EQ(numbers.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(numbers[i], i);
    }
  }
  std::vector<uint32_t> written(const char * topic) const
  {
    std::vector<uint32_t> numbers;
    for (const auto & message : rig.backend.written[topic]) {
      numbers.push_back(number_in(rclrt_agent::view_of(message)));
    }
    return numbers;
  }

  AgentRig & rig;
  const unsigned lost_one_in;
  std::mt19937 random{5};
  std::size_t lost_fast = 0;
  std::deque<Bytes> backlog, unacked;
  uint16_t next = 0, next_fast = 0, expected = 0;
  std::map<uint16_t, Bytes> ahead;
  TimePoint beat{};
  std::vector<uint32_t> down;
};

Bytes bytes_of_number(uint32_t value)
{
  Bytes bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

TEST(Boards, lose_nothing_that_is_reliable_in_a_day_in_which_numbers_wrap)
{
  AgentRig rig;
  Board board(rig, 97);
  constexpr milliseconds kPeriod(1300);
#ifdef RCLRT_SANITIZE_address
  constexpr auto kCount = static_cast<uint32_t>(std::chrono::minutes(24) / kPeriod);  // takes long
#else
  constexpr auto kCount = static_cast<uint32_t>(std::chrono::hours(24) / kPeriod);
  static_assert(kCount > 65536);
#endif
  for (uint32_t i = 0; i < kCount; ++i) {
    board.put(Board::data(0x005, i));
    board.put_fast(i);
    rig.backend.publish("/down", bytes_of_number(i));
    if (i % 20 == 0) {
      ASSERT_EQ(board.ahead_of(RCLRT_GET_INFO, RCLRT_INFO), 0);
      ASSERT_EQ(board.ahead_of(RCLRT_TIMESTAMP, RCLRT_TIMESTAMP_REPLY), 0);
      rig.agent.tick(rig.now);
    }
    rig.work();
    board.step();
    rig.now += kPeriod;
  }
  for (int i = 0; i < 100; ++i) {
    rig.work();
    board.step();
    rig.now += milliseconds(200);
  }
  EXPECT_EQ(board.written("/fast").size() + board.lost_fast, kCount);
  EXPECT_GT(rig.sessions.at(1)->outgoing().counters().repeated, kCount / 200);
  Board::expect_all(board.written("/up"), kCount);
  Board::expect_all(board.down, kCount);
  EXPECT_EQ(rig.agent.report(rig.now).at(0).objects, 6U);
}

// 5,000 best effort and 800 reliable messages a second come while 250 go. The agent's threads come late, every fifth time
// so late that not all that comes has a place meanwhile.
TEST(Boards, that_flood_lose_nothing_that_is_reliable_and_have_their_questions_answered_at_once)
{
  AgentRig rig;
  Board board(rig, 101);
  constexpr uint32_t kSteps = 10'000;  // of 0.2 ms
  uint32_t up = 0;
  for (uint32_t i = 0; i < kSteps; ++i) {
    board.put_fast(i);
    if (i * 4 / 25 != (i + 1) * 4 / 25) {
      board.put(Board::data(0x005, up++));
    }
    if (i % 20 == 0) {
      rig.backend.publish("/down", bytes_of_number(i / 20));
    }
    if (i % 250 < 150 ? i % 25 == 0 : i % 250 == 249) {
      EXPECT_EQ(board.ahead_of(RCLRT_GET_INFO, RCLRT_INFO), 0);
      EXPECT_EQ(board.ahead_of(RCLRT_TIMESTAMP, RCLRT_TIMESTAMP_REPLY), 0);
      rig.work();
    }
    board.step();
    rig.now += std::chrono::microseconds(200);
  }
  for (int i = 0; i < 200; ++i) {
    rig.work();
    board.step();
    rig.now += milliseconds(20);
  }
  Board::expect_all(board.written("/up"), up);
  Board::expect_all(board.down, kSteps / 20);
  const auto fast = board.written("/fast");
  const auto counters = rig.sessions.at(1)->counters();
  EXPECT_TRUE(std::is_sorted(fast.begin(), fast.end()));
  EXPECT_GT(counters.dropped, 0U);
  EXPECT_GE(fast.size() + counters.dropped + board.lost_fast, kSteps) << "each is counted";
}

// PX4 1.16 begins anew when three questions in a row are answered so, or not at all. ArduPilot does the same.
TEST(Boards, that_the_agent_does_not_know_are_told_so_when_they_ask_and_may_say_good_bye)
{
  AgentRig rig;
  const auto answer = [&rig](const Bytes & submessage, uint8_t session = RCLRT_SESSION_DEFAULT) {
    rig.last.clear();
    rig.receive(1, rclrt_agent::write_message({session, 0, 0, {}}, view_of(submessage)));
    rig.work();
    Bytes message = rig.last;
    while (message.empty() && rig.sessions[1] &&
           rig.sessions[1]->outgoing().next(rig.now, &message)) {
    }
    return message;
  };
  rclrt_submessage sub{};
  sub.id = RCLRT_GET_INFO;
  sub.object = RCLRT_OBJECT_AGENT;
  const Bytes question = rclrt_agent::write(sub);
  // Session, and behind the heads, request, object and status: whether the client has a session.
  const auto known = [](const Bytes & info) { return std::make_pair(info.at(0), info.at(13)); };
  EXPECT_EQ(known(answer(question)), std::make_pair(uint8_t{0x81}, uint8_t{0}));
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  EXPECT_EQ(known(answer(question)), std::make_pair(uint8_t{0x81}, uint8_t{1}));
  EXPECT_EQ(known(answer(question, 0x82)), std::make_pair(uint8_t{0x82}, uint8_t{0}));
  rig.agent.tick(rig.now + std::chrono::hours(1));
  EXPECT_EQ(known(answer(question)), std::make_pair(uint8_t{0x81}, uint8_t{0})) << "it was silent";
  EXPECT_EQ(known(answer(question, RCLRT_SESSION_NONE)), std::make_pair(uint8_t{0x80}, uint8_t{0}));
  const Bytes gone = answer(good_bye());
  ASSERT_GT(gone.size(), 12U);
  EXPECT_EQ(gone.at(4), RCLRT_STATUS);
  EXPECT_EQ(gone.at(12), RCLRT_STATUS_OK);
  EXPECT_TRUE(answer(data_for(0x005)).empty());
}
}  // namespace
