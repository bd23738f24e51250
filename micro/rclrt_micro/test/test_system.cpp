// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything in one (system.h), and what a program has that does not link the rest.
#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include <map>

#include "program.hpp"
#include "rclrt_micro/system.h"
#include "rclrt_micro/trace.h"
#include "system.hpp"

extern "C" {  // systems.c
const rclrt_system * system_without_long_messages();
const rclrt_system * system_with_long_messages();
}

namespace
{
// A simulated line and its agent for a system that has a daemon of its own.
struct Board
{
  explicit Board(const rclrt_system * of) : system(of)
  {
    rig.to_client.deliver = [this](const Agent::Bytes & bytes) {
      rclrt_daemon_received(system->daemon, bytes.data(), bytes.size());
    };
    rig.port.transmitted = [this] { rclrt_daemon_transmitted(system->daemon); };
  }

  rclrt_ret start(uint64_t timeout_ns)
  {
    return rclrt_system_start_serial(
      system, &rig.port.port, &rig.port.transport, 7, "board", timeout_ns);
  }

  Rig rig;
  const rclrt_system * system;
};

// A number, and bytes of which each differs from those of the fragments around it.
Agent::Bytes text_of(const Blob & blob)
{
  Agent::Bytes bytes = number(blob.number);
  while (bytes.size() < blob.size) {
    bytes.push_back(static_cast<uint8_t>(bytes.size() * 31 + bytes.size() / 113 + blob.number));
  }
  return bytes;
}
const rclrt_type kText = {
  "test_msgs::msg::dds_::Text_",
  [](const void * message, rclrt_writer * writer) {
    const auto bytes = text_of(*static_cast<const Blob *>(message));
    rclrt_write_bytes(writer, bytes.data(), bytes.size());
  },
  nullptr};

TEST(System, publishes_messages_longer_than_a_frame_if_it_has_room_for_them)
{
  for (const bool has_room : {false, true}) {
    Board board(has_room ? system_with_long_messages() : system_without_long_messages());
    must(board.start(5000 * kMs));
    rclrt_publisher publisher;
    must(
      rclrt_publisher_init(&publisher, board.system->node, &kText, "t", rclrt_qos_reliable(), 1));
    std::vector<Agent::Bytes> came;
    board.rig.agent.on_data = [&came](const std::string &, const Agent::Bytes & data) {
      came.push_back(data);
    };
    // There are four nodes of 128 bytes; the messages have one, several, 16, 17 and 157 fragments.
    for (const uint32_t size : {100U, 300U, 1900U, 1980U, 18'000U}) {
      const Blob blob{size, size};
      const bool fits = has_room || size < 120;
      EXPECT_EQ(rclrt_publish(&publisher, &blob), fits ? RCLRT_OK : RCLRT_ERR_STORAGE);
      for (int i = 0; i < 200 && !rclrt_daemon_idle(board.system->daemon); ++i) {
        board.rig.settle(20);
      }
      ASSERT_EQ(came.size(), fits ? 1U : 0U) << size;
      EXPECT_TRUE(came.empty() || came.at(0) == text_of(blob)) << size;
      came.clear();
    }
    const Blob longer{1, 18'001};
    EXPECT_EQ(rclrt_publish(&publisher, &longer), RCLRT_ERR_STORAGE);
    const auto & shortage = board.system->daemon->shortage;
    EXPECT_STREQ(shortage.what, has_room ? "the session's buffer" : "message_capacity");
    EXPECT_EQ(rclrt_session_close(board.system->session), RCLRT_OK);
  }
}

// While it goes, others pass it, entities come to be, and its own stream takes nothing that would be among it.
TEST(System, goes_on_with_all_else_while_a_long_message_is_sent)
{
  Board board(system_with_long_messages());
  must(board.start(5000 * kMs));
  rclrt_publisher bulk, urgent, late;
  const auto node = board.system->node;
  const auto qos = rclrt_qos_reliable();
  must(rclrt_publisher_init(&bulk, node, &kText, "bulk", qos, 1));
  must(rclrt_publisher_init(&urgent, node, &kText, "urgent", qos, 9));
  std::vector<std::pair<std::string, Agent::Bytes>> came;
  board.rig.agent.on_data = [&came](const std::string & topic, const Agent::Bytes & data) {
    came.emplace_back(topic, data);
  };
  const Blob blob{1, 18'000};
  const Blob brief{2, 40};
  must(rclrt_publish(&bulk, &blob));
  EXPECT_EQ(rclrt_publish(&bulk, &brief), RCLRT_ERR_AGAIN);
  EXPECT_EQ(rclrt_publish(&urgent, &blob), RCLRT_ERR_AGAIN) << "one at a time";
  board.rig.settle(100);
  EXPECT_EQ(rclrt_publish(&urgent, &brief), RCLRT_OK);
  EXPECT_EQ(rclrt_publisher_init(&late, node, &kText, "late", qos, 1), RCLRT_OK);
  EXPECT_FALSE(rclrt_daemon_confirmed(board.system->daemon, bulk.stream));
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0], std::make_pair(std::string("rt/urgent"), text_of(brief)));
  board.rig.settle(3000);
  ASSERT_EQ(came.size(), 2U);
  EXPECT_EQ(came[1].second, text_of(blob));
  // A publisher that goes, and an agent that forgets, end it; then others can be sent.
  must(rclrt_publish(&bulk, &blob));
  EXPECT_EQ(rclrt_publisher_fini(&bulk), RCLRT_OK);
  must(rclrt_publish(&urgent, &blob));
  board.rig.settle(100);
  board.rig.agent.restart();
  for (int i = 0; i < 100; ++i) {
    board.rig.settle(20);
    rclrt_session_handle(board.system->session);
  }
  EXPECT_TRUE(board.system->session->connected);
  came.clear();
  must(rclrt_publish(&urgent, &blob));
  board.rig.settle(3000);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].second, text_of(blob));
  EXPECT_EQ(board.system->daemon->free_count, board.system->config->node_count);
  EXPECT_EQ(rclrt_session_close(board.system->session), RCLRT_OK);
}

// The domain that CREATE asks for.
int domain_of(const rclrt_system * system)
{
  Board board(system);
  EXPECT_EQ(board.start(5000 * kMs), RCLRT_OK);
  EXPECT_EQ(rclrt_session_close(system->session), RCLRT_OK);
  for (const auto & message : board.rig.sent_by_client) {
    rclrt_submessage sub{};
    rclrt_reader reader;
    rclrt_reader_init(&reader, message.data() + 4, message.size() - 4);
    if (rclrt_read_submessage(&reader, &sub) && sub.id == RCLRT_CREATE) {
      return sub.of.create.domain;
    }
  }
  return -1;
}

TEST(System, is_in_the_domain_of_the_agent_unless_it_is_told_another)
{
  EXPECT_EQ(domain_of(system_without_long_messages()), RCLRT_DOMAIN_OF_AGENT);
  rclrt_system other = *system_without_long_messages();
  other.domain = 42;
  EXPECT_EQ(domain_of(&other), 42);
}

TEST(System, has_room_for_bytes_that_are_read_only_if_the_line_is_polled)
{
  EXPECT_EQ(system_with_long_messages()->config->input, nullptr);
  EXPECT_EQ(system_with_long_messages()->config->input_size, 0);
  EXPECT_EQ(system_without_long_messages()->config->input_size, 128);
}

TEST(System, the_time_for_its_start_is_for_greeting_and_node_together)
{
  for (const uint64_t timeout : {300 * kMs, 4000 * kMs}) {
    Board board(system_without_long_messages());
    board.rig.on_agent_message = [](const Agent::Bytes & message) {
      return message.at(1) == RCLRT_STREAM_RELIABLE;  // lost; it is the answer to CREATE
    };
    const uint64_t begin = board.rig.world.now_ns();
    EXPECT_EQ(board.start(timeout), RCLRT_ERR_TIMEOUT);
    EXPECT_TRUE(board.system->session->connected) << "it is the node that is missing";
    const uint64_t took = board.rig.world.now_ns() - begin;
    EXPECT_GE(took, timeout);
    EXPECT_LE(took, timeout + 50 * kMs);
  }
}

// A STATUS on the session's reliable stream.
Agent::Bytes status(uint16_t sequence, uint8_t value)
{
  const auto low = static_cast<uint8_t>(sequence);
  return {0x81, 0x80,  low, static_cast<uint8_t>(sequence >> 8), RCLRT_STATUS, 1, 6, 0, 0, 1, 0,
          1,    value, 0};
}

TEST(Answers, ahead_of_their_turn_come_again_where_nothing_is_read)
{
  Started system;
  const auto receive = [&](const Agent::Bytes & message) {
    system.receive(message);
    rclrt_session_handle(&system.session);
  };
  const rclrt_input_stream & stream = system.session.reliable_in;
  const uint16_t next = stream.expected;
  system.session.status = 0;
  receive(status(static_cast<uint16_t>(next + 1U), 2));
  EXPECT_EQ(stream.expected, next);
  EXPECT_EQ(system.session.status, 0);
  EXPECT_EQ(stream.waiting, 0U) << "both are asked for";
  EXPECT_EQ(system.daemon.counters.dropped_frames, 1U);
  receive(status(next, 1));
  EXPECT_EQ(system.session.status, 1);
  receive(status(static_cast<uint16_t>(next + 1U), 2));
  EXPECT_EQ(system.session.status, 2);
  EXPECT_EQ(stream.expected, static_cast<uint16_t>(next + 2U));
}

TEST(Answers, reach_a_program_that_only_publishes_over_a_bad_line)
{
  System system([](auto & with) {
    with.faults.loss = 0.2;
    with.faults.duplication = 0.2;
    with.faults.corruption = 0.1;
  });
  system.session.answer_timeout_ns = 60'000 * kMs;
  must(rclrt_session_connect(&system.session, 60'000 * kMs));
  must(rclrt_node_init(&system.node, &system.session, "node", 0));
  Talker publisher(system);
  std::vector<uint32_t> numbers;
  system.agent.on_data = [&numbers](const std::string &, const Agent::Bytes & data) {
    numbers.push_back(number(data));
  };
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < 100; ++i) {
    while (publisher.publish(i) != RCLRT_OK) {
      system.spin_for(100);
    }
    wanted.push_back(i);
  }
  system.spin_for(60'000);
  EXPECT_EQ(numbers, wanted);
}

// The trace of an executor. Offsets are those of engine/rclrt_trace/SPEC.md. With RCLRT_TRACES it is written there.
using Bytes = std::vector<uint8_t>;

uint64_t number(const Bytes & bytes, size_t at, size_t size)
{
  uint64_t found = 0;
  for (size_t i = 0; i < size; ++i) {
    found |= uint64_t{bytes.at(at + i)} << (8 * i);
  }
  return found;
}

struct Record
{
  std::string name;
  uint64_t release_ns, ready_ns, start_ns, end_ns, sequence, thread, preemptions, cpu_ns;
  unsigned outcome, cause;
};

struct File
{
  explicit File(const Bytes & bytes)
  {
    for (size_t at = 64; at < bytes.size();) {
      const uint64_t type = number(bytes, at, 4);
      const uint64_t size = number(bytes, at + 4, 4);
      at += 8;
      if (type == 1) {
        const uint64_t length = number(bytes, at + 24, 4);
        names[number(bytes, at, 4)] = std::string(
          bytes.begin() + static_cast<ptrdiff_t>(at + 32),
          bytes.begin() + static_cast<ptrdiff_t>(at + 32 + length));
        kinds[number(bytes, at, 4)] = number(bytes, at + 12, 4);
        periods[number(bytes, at, 4)] = static_cast<int64_t>(number(bytes, at + 16, 8));
      } else if (type == 4) {
        lost = number(bytes, at, 8);
      } else if (type == 2) {
        for (size_t one = at; one < at + size; one += 128) {
          add(bytes, one);
        }
      }
      at += (size + 7) / 8 * 8;
    }
  }

  void add(const Bytes & bytes, size_t at)
  {
    records.push_back(
      {names.at(number(bytes, at + 48, 4)), number(bytes, at, 8), number(bytes, at + 8, 8),
       number(bytes, at + 16, 8), number(bytes, at + 24, 8), number(bytes, at + 40, 8),
       number(bytes, at + 52, 4), number(bytes, at + 56, 4), number(bytes, at + 64, 8),
       bytes.at(at + 62), bytes.at(at + 63)});
  }

  std::vector<Record> of(const std::string & name) const
  {
    std::vector<Record> found;
    for (const auto & one : records) {
      if (one.name == name) {
        found.push_back(one);
      }
    }
    return found;
  }

  std::map<uint64_t, std::string> names;
  std::map<uint64_t, uint64_t> kinds;
  std::map<uint64_t, int64_t> periods;
  std::vector<Record> records;
  uint64_t lost = 0;
};

class Traced : public Program
{
protected:
  static constexpr uint64_t kBoot = 0x0123456789ABCDEF;

  void begin(uint32_t capacity = 64)
  {
    ring.resize(capacity);
    must(rclrt_trace_init(
      &trace, &system.executor, ring.data(), capacity, entries, uint16_t{4}, kBoot));
  }

  Bytes read(size_t size)
  {
    Bytes all, some(size);
    for (size_t got = 1; got > 0;) {
      got = rclrt_trace_read(&trace, some.data(), some.size());
      all.insert(all.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(got));
    }
    return all;
  }

  rclrt_trace trace{};
  rclrt_trace_entry entries[4];
  std::vector<rclrt_trace_job> ring;
};

TEST_F(Traced, jobs_have_their_times_and_what_released_them)
{
  auto & fast = timer("/imu/timer/10ms", 10, 1, 4 * kMs);
  auto & button = guard("/button", 9, 1 * kMs);
  auto & command = subscription("command", 5, 2 * kMs);
  begin();
  for (auto [callback, name] :
       {std::pair{&fast.timer.callback, &fast.name},
        {&button.guard.callback, &button.name},
        {&command.subscription.callback, &command.name}}) {
    must(rclrt_trace_callback(&trace, callback, name->c_str()));
  }
  const uint64_t start = start_ns();
  system.world.at(start + 11 * kMs, [&] { rclrt_guard_trigger(&button.guard); });
  spin_until(35);
  publish("command", 7);
  spin_until(39);

  const Bytes bytes = read(1000);
  const File file(bytes);
  EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8), "RCLRTTRC");
  EXPECT_EQ(number(bytes, 8, 4), 2U);
  EXPECT_EQ(number(bytes, 24, 8), kBoot);
  EXPECT_EQ(number(bytes, 44, 4), 1U);
  EXPECT_EQ(number(bytes, 48, 1), 1U) << "one thread";
  const auto timers = file.of("/imu/timer/10ms");
  ASSERT_EQ(timers.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t due = start + (i + 1) * 10 * kMs;
    EXPECT_EQ(timers[i].release_ns, due);
    EXPECT_EQ(timers[i].ready_ns, due);
    EXPECT_EQ(timers[i].start_ns, due);
    EXPECT_EQ(timers[i].end_ns, due + 4 * kMs);
    EXPECT_EQ(timers[i].cpu_ns, 4 * kMs);
    EXPECT_EQ(timers[i].preemptions, 0U);
    EXPECT_EQ(timers[i].cause, 1U);
  }
  const auto buttons = file.of("/button");
  ASSERT_EQ(buttons.size(), 1U);
  EXPECT_EQ(buttons[0].release_ns, start + 11 * kMs);
  EXPECT_EQ(buttons[0].ready_ns, start + 11 * kMs) << "while the timer's callback runs";
  EXPECT_EQ(buttons[0].start_ns, start + 14 * kMs);
  EXPECT_EQ(buttons[0].end_ns, start + 15 * kMs);
  EXPECT_EQ(buttons[0].sequence, timers[0].sequence + 1);
  const auto commands = file.of("command");
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].cause, 2U);
  EXPECT_EQ(commands[0].end_ns - commands[0].start_ns, 2 * kMs);
  EXPECT_EQ(file.kinds.at(0), 1U);
  EXPECT_EQ(file.kinds.at(1), 0U);
  EXPECT_EQ(file.kinds.at(2), 2U);
  EXPECT_EQ(file.periods.at(0), static_cast<int64_t>(10 * kMs));
  EXPECT_EQ(file.periods.at(1), -1);
  EXPECT_EQ(read(1000), Bytes()) << "nothing is new";

  spin_until(45);
  const Bytes more = read(RCLRT_TRACE_BYTES_MIN);
  EXPECT_EQ(more.size(), 136U) << "one job more, and nothing twice";
  if (const char * folder = std::getenv("RCLRT_TRACES")) {
    std::ofstream out(std::string(folder) + "/micro.trace", std::ios::binary);
    out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<ptrdiff_t>(bytes.size()));
    out.write(reinterpret_cast<const char *>(more.data()), static_cast<ptrdiff_t>(more.size()));
  }
}

TEST_F(Traced, a_timer_that_is_noticed_late_was_released_in_time)
{
  timer("/long", 10, 1, 4 * kMs);
  auto & late = timer("/late", 12, 1, 1 * kMs);
  begin();
  must(rclrt_trace_callback(&trace, &late.timer.callback, "/late"));
  spin_until(16);
  const auto jobs_of = File(read(1000)).of("/late");
  ASSERT_EQ(jobs_of.size(), 1U);
  EXPECT_EQ(jobs_of[0].release_ns, start_ns() + 12 * kMs);
  EXPECT_EQ(jobs_of[0].ready_ns, start_ns() + 14 * kMs) << "the executor looks after a callback";
}

TEST_F(Traced, what_the_ring_has_lost_is_counted_and_the_newest_stay)
{
  auto & each = guard("/g", 1, 1 * kMs);
  begin(4);
  must(rclrt_trace_callback(&trace, &each.guard.callback, "/g"));
  for (int i = 0; i < 7; ++i) {
    rclrt_guard_trigger(&each.guard);
    system.spin_for(2);
  }
  const File file(read(RCLRT_TRACE_BYTES_MIN));
  ASSERT_EQ(file.records.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(file.records[i].sequence, 3 + i);
  }
  EXPECT_EQ(file.lost, 3U);
}

TEST_F(Traced, a_job_that_another_level_has_preempted_knows_no_time_of_its_own)
{
  use_levels({0, 10});
  auto & low = guard("/low", 3, 10 * kMs);
  auto & high = guard("/high", 12, 1 * kMs);
  begin();
  must(rclrt_trace_callback(&trace, &low.guard.callback, "/low"));
  must(rclrt_trace_callback(&trace, &high.guard.callback, "/high"));
  const uint64_t now = system.world.now_ns();
  system.world.at(now + 1 * kMs, [&] { rclrt_guard_trigger(&low.guard); });
  system.world.at(now + 3 * kMs, [&] { rclrt_guard_trigger(&high.guard); });
  system.world.run_until(now + 30 * kMs);
  const Bytes bytes = read(1000);
  EXPECT_EQ(number(bytes, 48, 1), 2U) << "several threads";
  const File file(bytes);
  ASSERT_EQ(file.records.size(), 2U);
  EXPECT_EQ(file.records[0].name, "/high");
  EXPECT_EQ(file.records[0].thread, 2U);
  EXPECT_EQ(file.records[0].cpu_ns, 1 * kMs);
  EXPECT_EQ(file.records[1].name, "/low");
  EXPECT_EQ(file.records[1].thread, 1U);
  EXPECT_EQ(file.records[1].end_ns - file.records[1].start_ns, 11 * kMs);
  EXPECT_EQ(file.records[1].cpu_ns, UINT64_MAX);
  EXPECT_EQ(file.records[1].preemptions, UINT32_MAX);
}

TEST_F(Traced, a_message_that_was_spoilt_is_an_empty_job)
{
  auto & command = subscription("command", 5);
  begin();
  must(rclrt_trace_callback(&trace, &command.subscription.callback, "/command"));
  publish("command", 1);
  system.settle(20);
  for (auto & byte : system.ring) {
    byte ^= 0x55;
  }
  system.spin_for(5);
  const File file(read(1000));
  ASSERT_EQ(file.records.size(), 2U) << "the agent sends it once more";
  EXPECT_EQ(file.records[0].outcome, 1U);
  EXPECT_EQ(file.records[1].outcome, 0U);
}

TEST_F(Traced, what_is_not_named_is_not_traced_and_callbacks_that_come_back_are_named_again)
{
  auto & named = guard("/named", 1);
  auto & other = guard("/other", 1);
  begin();
  must(rclrt_trace_callback(&trace, &named.guard.callback, "/named"));
  rclrt_guard_trigger(&named.guard);
  rclrt_guard_trigger(&other.guard);
  system.spin_for(1);
  rclrt_executor_remove(&system.executor, &named.guard.callback);
  must(rclrt_executor_add_on_new_data(&system.executor, &named.guard.callback, 1));
  rclrt_guard_trigger(&named.guard);
  system.spin_for(1);
  EXPECT_EQ(File(read(1000)).records.size(), 1U);
}

TEST_F(Traced, arguments_that_cannot_be_are_refused_and_long_names_are_cut)
{
  auto & each = guard("/g", 1);
  rclrt_trace_job few_jobs[4];
  rclrt_trace other;
  EXPECT_EQ(
    rclrt_trace_init(&other, &system.executor, few_jobs, 3, entries, uint16_t{4}, 1),
    RCLRT_ERR_ARGUMENT)
    << "no power of two";
  EXPECT_EQ(
    rclrt_trace_init(nullptr, &system.executor, few_jobs, 4, entries, uint16_t{4}, 1),
    RCLRT_ERR_ARGUMENT);
  begin();
  const std::string longest(RCLRT_TRACE_NAME_MAX + 1, 'n');
  rclrt_guard apart{};
  EXPECT_EQ(rclrt_trace_callback(&trace, &apart.callback, "/apart"), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, nullptr), RCLRT_ERR_ARGUMENT);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, longest.c_str()), RCLRT_OK);
  }
  EXPECT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, "/g"), RCLRT_ERR_STORAGE);
  uint8_t few[RCLRT_TRACE_BYTES_MIN];
  EXPECT_EQ(rclrt_trace_read(&trace, few, sizeof(few) - 1), 0U);
  EXPECT_EQ(rclrt_trace_read(nullptr, few, sizeof(few)), 0U);
  EXPECT_EQ(File(read(RCLRT_TRACE_BYTES_MIN)).names.at(3).size(), RCLRT_TRACE_NAME_MAX);
}
}  // namespace
