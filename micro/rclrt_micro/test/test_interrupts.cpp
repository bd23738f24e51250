// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The completion and reception handlers, and a context that preempts, at every point of every operation:
// run again and again, with somebody coming in at the first point, at the second, and so on until there
// is none. Whatever the point, the books are right afterwards.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "operations.hpp"

namespace
{
// Who comes in between.
enum class Who
{
  kInterrupts,    // all that is due: the line is infinitely fast
  kOneInterrupt,  // the first that is due
  kTwice,         // all that is due, and again a little later
  kStorm,         // one at each point from there on
  kLevel,  // a context that preempts: it publishes, on a stream of its own, triggers and collects
  kTime,   // whatever it is, it takes 60 ms
};

constexpr std::pair<Who, const char *> kWho[] = {
  {Who::kInterrupts, "interrupts"}, {Who::kOneInterrupt, "one_interrupt"},
  {Who::kTwice, "twice"},           {Who::kStorm, "storm"},
  {Who::kLevel, "level"},           {Who::kTime, "time"}};

struct Setting
{
  const char * name;
  rclrt_framing framing;
  rclrt_mode mode;
};
constexpr Setting kSerial = {"serial", RCLRT_FRAMING_SERIAL, RCLRT_MODE_OWN};
constexpr Setting kSettings[] = {
  kSerial,
  {"paper", RCLRT_FRAMING_SERIAL, RCLRT_MODE_PAPER},
  {"datagrams", RCLRT_FRAMING_DATAGRAM, RCLRT_MODE_OWN},
  {"lengths", RCLRT_FRAMING_LENGTH, RCLRT_MODE_OWN},
};

struct Choice
{
  Who who = Who::kInterrupts;
  int at = 0;
  const void * unmasked = nullptr;
  std::function<void(const Scene &, const void *, bool, Points::By)> watch{};
};

struct Seen
{
  int points = 0;
  std::set<const void *> sections;
};

Seen run(const Operation & operation, const Setting & setting, const Choice & choice)
{
  RigOptions options;
  options.byte_ns = 0;
  options.nodes = 12;
  options.capacity = 128;
  options.ring = 2048;
  options.piece = 32;  // several completions a message
  options.framing = setting.framing;
  options.policy.mode = setting.mode;
  if (operation.policy != nullptr) {
    operation.policy(options);
  }
  const auto of = std::make_unique<Scene>(options);
  of->start_all(operation.levels);
  if (operation.before != nullptr) {
    operation.before(*of);
  }
  Points points(of->port.port, of->port.transport);
  points.at = choice.at;
  points.onwards = choice.who == Who::kStorm;
  points.then = choice.who == Who::kTwice ? 2 + choice.at % 11 : 0;
  points.unmasked = choice.unmasked;
  if (choice.watch) {
    points.watch = [&](const void * address, bool writes, Points::By by) {
      choice.watch(*of, address, writes, by);
    };
  }
  if (choice.who <= Who::kStorm) {
    points.matters = [&] { return of->world.due(); };
  }
  points.come_in = [&] {
    switch (choice.who) {
      case Who::kInterrupts:
      case Who::kTwice:
        of->interrupts();
        break;
      case Who::kOneInterrupt:
      case Who::kStorm:
        of->world.step(of->world.now_ns());
        break;
      case Who::kLevel:
        (void)of->publish(of->urgent, 200);
        of->trigger();
        (void)rclrt_executor_collect(&of->executor);
        if (of->levels) {
          of->levels->dispatch();
        }
        break;
      case Who::kTime:
        of->world.work(60 * kMs);
        break;
    }
  };
  of->world.on_interrupt_entry = [&] { points.handlers_begin(); };
  of->world.on_interrupt_exit = [&] {
    points.handlers_end();
    if (of->levels) {
      of->levels->dispatch();
    }
  };
  points.begin();
  operation.run(*of);
  points.end();
  of->let_go();
  of->finish();
  of->check_books(operation.all);
  EXPECT_EQ(points.nested, 0);
  return {points.count(), points.sections};
}

class Interrupts : public ::testing::TestWithParam<std::tuple<Operation, Setting>>
{
protected:
  // Returns how many there are.
  int come_in_everywhere(Who who)
  {
    const auto & [operation, setting] = GetParam();
    Choice choice{who, 0, nullptr};
    int points = run(operation, setting, choice).points;
    // What waits for the agent does the same many times; the others differ little from the first two.
    const bool first_two = who == Who::kInterrupts || who == Who::kLevel;
    const bool everywhere = std::getenv("RCLRT_MICRO_EVERY_POINT") != nullptr;
    const int step = everywhere ? 1 : (operation.long_ ? 53 : 1) * (first_two ? 1 : 11);
    for (choice.at = 1; choice.at <= points && !HasFailure(); choice.at += step) {
      SCOPED_TRACE("at point " + std::to_string(choice.at));
      points = std::max(points, run(operation, setting, choice).points);
    }
    return points;
  }
};

TEST_P(Interrupts, lose_nothing_double_nothing_and_leak_nothing)
{
  int all = 0;
  for (const auto & [who, name] : kWho) {
    SCOPED_TRACE(name);
    const int points = come_in_everywhere(who);
    RecordProperty(std::string("points_") + name, points);
    all += points;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(all, 10);
}

// Over the serial line all of them; beyond it what the setting has to do with.
std::vector<std::tuple<Operation, Setting>> cases()
{
  std::vector<std::tuple<Operation, Setting>> all;
  for (const auto & operation : kOperations) {
    for (const auto & setting : kSettings) {
      const bool paper = setting.mode == RCLRT_MODE_PAPER;
      if (setting.name == kSerial.name || (paper ? operation.in_paper : operation.on_lines)) {
        all.emplace_back(operation, setting);
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Interrupts, ::testing::ValuesIn(cases()), [](const auto & of) {
  return std::string(std::get<0>(of.param).name) + "_" + std::get<1>(of.param).name;
});

// Whoever has read the clock may be interrupted by whoever publishes a little later.
TEST(Clock, what_is_published_after_it_was_read_is_neither_given_up_nor_asked_for)
{
  Rig rig([&](auto & with) {
    with.byte_ns = 0;
    with.policy.lifetime_ns = 500 * kMs;
  });
  rclrt_output_stream stream{};
  rclrt_daemon_add_output(&rig.daemon, &stream, 0x83);
  rig.open(0x83);
  rig.to_agent.faults.loss = 1;
  const uint32_t before = rig.daemon.counters.sent;
  bool once = false;
  rig.port.on_enter = [&] {
    if (!std::exchange(once, true)) {
      rig.world.work(1 * kMs);
      EXPECT_EQ(rig.write(stream, 3, number(1)), RCLRT_OK);
      while (rig.world.step(rig.world.now_ns())) {
      }
    }
  };
  (void)rclrt_daemon_tick(&rig.daemon);
  rig.port.on_enter = nullptr;
  EXPECT_TRUE(once);
  EXPECT_EQ(rig.daemon.counters.sent, before + 1);
  EXPECT_EQ(rig.daemon.counters.abandoned, 0U);
  EXPECT_EQ(rclrt_list_empty(&rig.daemon.pending), false);
}

// The ring is nearly full of frames, and while one is taken others arrive, a byte at a time: from the first
// point on, from the second, and so on. What was overwritten meanwhile comes again.
class Bytes : public ::testing::TestWithParam<Setting>
{
};

TEST_P(Bytes, that_arrive_while_a_frame_is_copied_are_not_taken_for_it)
{
  uint32_t overwritten = 0;
  int points = 1;
  for (int at = 0; at <= points && !HasFailure(); ++at) {
    SCOPED_TRACE("from point " + std::to_string(at));
    RigOptions options;
    options.byte_ns = 0;
    options.capacity = 128;
    options.ring = 512;
    options.framing = GetParam().framing;
    const auto of = std::make_unique<Scene>(options);
    of->start_all();
    const uint32_t start = of->daemon.head;
    while (of->daemon.head - start < options.ring - 70) {
      of->send_in(40);
      of->settle(1);
    }
    of->catch_frames();
    of->send_in(40);
    of->send_in(40);
    of->interrupts();
    const uint32_t before = of->daemon.counters.overwritten;
    Points seen(of->port.port, of->port.transport);
    seen.at = at;
    seen.onwards = true;
    seen.matters = [&] { return of->at_frame < of->caught.size(); };
    seen.come_in = [&] { of->receive_caught(1); };
    seen.begin();
    of->spin(1);
    seen.end();
    overwritten += of->daemon.counters.overwritten - before;
    points = std::max(points, seen.count());
    of->let_go();
    of->finish();
    of->check_books(true);
  }
  EXPECT_TRUE(overwritten > 0 || !Points::sees_accesses());
}

INSTANTIATE_TEST_SUITE_P(
  All, Bytes, ::testing::Values(kSettings[0], kSettings[3]),
  [](const auto & of) { return of.param.name; });

// What daemon and executor share with what comes in, and touch outside critical sections as well.
struct Exception
{
  const char * of;
  size_t begin, end;
  const char * why;
};
#define FIELD(type, field) #type, offsetof(type, field), offsetof(type, field) + sizeof(type::field)
constexpr Exception kExceptions[] = {
  {FIELD(rclrt_daemon, busy),
   "the context that is told that a piece has left looks whether it was transmitting"},
  {FIELD(rclrt_daemon, encoder), "only the context that has set busy"},
  {FIELD(rclrt_daemon, message), "only the context that has set busy"},
  {FIELD(rclrt_daemon, message_length), "only the context that has set busy"},
  {FIELD(rclrt_daemon, message_at), "only the context that has set busy"},
  {FIELD(rclrt_daemon, control), "only the context that has set busy"},
  {FIELD(rclrt_daemon, scanner),
   "only of reception, which is an interrupt here and the operation there"},
  {FIELD(rclrt_node, stream), "only the context that has acquired it"},
  {FIELD(rclrt_node, state), "only the context that has acquired it"},
  {FIELD(rclrt_slot, taken), "only the context that has taken it out of the line"},
  {FIELD(rclrt_callback, fresh), "only the context that runs it"},
  {FIELD(rclrt_executor, semantics), "set while nobody runs anything"},
};
#undef FIELD

// Not only where it shows on one processor: a flag is written whole there, but a thread or a compiler
// that is not told of the others may see it at any time.
TEST(Fields, that_those_who_come_in_share_are_touched_in_critical_sections)
{
  if (!Points::sees_accesses()) {
    GTEST_SKIP() << "a sanitizer takes the place of what sees the accesses";
  }
  struct Touched
  {
    bool open_read, open_write, in_read, in_write;
  };
  std::map<std::pair<std::string, size_t>, Touched> all;
  const auto watch = [&](const Scene & of, const void * address, bool writes, Points::By by) {
    const auto note = [&](const char * name, const auto * first, size_t count = 1) {
      const auto at = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(first);
      if (at < sizeof(*first) * count) {  // wraps for what is before it
        Touched & touched = all[{name, at % sizeof(*first)}];
        const bool open = by == Points::By::kOperation;
        const bool in = by == Points::By::kComeIn;
        (writes ? touched.open_write : touched.open_read) |= open;
        (writes ? touched.in_write : touched.in_read) |= in;
      }
    };
    note("rclrt_daemon", &of.daemon);
    note("rclrt_node", of.nodes.data(), of.nodes.size());
    note("rclrt_slot", of.slots.data(), of.slots.size());
    for (const auto * each : {&of.high, &of.low, &of.urgent, &of.best}) {
      note("rclrt_output_stream", &each->self.own_stream);
    }
    note("rclrt_executor", &of.executor);
    for (const auto * each : {&of.guard.callback, &of.lowest.callback, &of.in.callback}) {
      note("rclrt_callback", each);
    }
  };
  for (const auto & operation : kOperations) {
    for (const Who who : {Who::kStorm, Who::kLevel}) {
      for (int at = 1; at < 40; at += 6) {
        Choice choice{who, at};
        choice.watch = watch;
        (void)run(operation, kSerial, choice);
      }
    }
  }
  std::set<const Exception *> needed;
  for (const auto & [place, touched] : all) {
    const auto & [name, offset] = place;
    const bool raced = (touched.open_write && (touched.in_read || touched.in_write)) ||
                       (touched.open_read && touched.in_write);
    const auto * exception =
      std::find_if(std::begin(kExceptions), std::end(kExceptions), [&](const auto & each) {
        return each.of == name && offset >= each.begin && offset < each.end;
      });
    if (raced && exception != std::end(kExceptions)) {
      needed.insert(exception);
    }
    EXPECT_TRUE(!raced || exception != std::end(kExceptions))
      << "byte " << offset << " of " << name;
  }
  for (const auto & exception : kExceptions) {
    EXPECT_EQ(needed.count(&exception), 1U) << "byte " << exception.begin << " of " << exception.of
                                            << " is no exception: " << exception.why;
  }
}

int length(const rclrt_list & list)
{
  int count = 0;
  for (const rclrt_link * link = rclrt_list_first(&list); link != nullptr && count < 1000;
       ++count) {
    link = rclrt_list_next(&list, link);
  }
  return count;
}

// A line may bring bytes as soon as its interrupts are on: an agent goes on sending to a board that is
// started again.
TEST(Start, may_be_come_in_between_at_every_point_first_and_again)
{
  const Agent::Bytes data = {0x81, 0, 0, 0, RCLRT_DATA, 1, 8, 0, 0, 1, 0, 0x16, 5, 0, 0, 0};
  const Agent::Bytes to_anyone = {
    RCLRT_SESSION_NONE, 0, 0, 0, RCLRT_STATUS_AGENT, 1, 4, 0, 0, 1, 0, 0};  // takes a slot at once
  Agent::Bytes frames = Deframer::frame(RCLRT_FRAMING_SERIAL, to_anyone, 0);
  const Agent::Bytes second = Deframer::frame(RCLRT_FRAMING_SERIAL, data, 0);
  frames.insert(frames.end(), second.begin(), second.end());
  for (const bool again : {false, true}) {
    int points = 1;
    for (int at = 1; at <= points && !::testing::Test::HasFailure(); ++at) {
      SCOPED_TRACE("at point " + std::to_string(at) + (again ? " again" : ""));
      Rig rig;
      const auto come_in = [&] {
        rclrt_daemon_received(&rig.daemon, frames.data(), frames.size());
      };
      const rclrt_daemon_config config = rig.daemon.config;
      if (!again) {
        memset(&rig.daemon, 0, sizeof(rig.daemon));
      }
      come_in();
      {
        Points seen(rig.port.port, rig.port.transport);
        seen.at = at;
        seen.onwards = true;
        seen.come_in = come_in;
        seen.begin();
        must(rclrt_daemon_init(&rig.daemon, &config, &rig.port.port, &rig.port.transport));
        seen.end();
        points = seen.count();
      }
      EXPECT_EQ(length(rig.daemon.free_slots) + length(rig.daemon.others.slots), config.slot_count);
      rclrt_sink sink{};
      rclrt_daemon_add_sink(&rig.daemon, &sink, 0x16, 0, 9);
      rclrt_daemon_reset(&rig.daemon, RCLRT_SESSION_DEFAULT, kKey);
      come_in();
      EXPECT_EQ(take_all(rig.daemon, sink).at(0).at(0), 5);
      EXPECT_EQ(rig.daemon.free_count, config.node_count);
      EXPECT_EQ(rig.daemon.counters.malformed, 0U);
    }
    EXPECT_GT(points, 2);
  }
}

// Does anything go wrong when this critical section does not mask? In a process of its own, which may
// crash or go around for ever.
bool is_needed(const Operation & operation, const void * section)
{
  (void)fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit seconds = {20, 20};  // of the processor's time
    (void)setrlimit(RLIMIT_CPU, &seconds);
    (void)!freopen("/dev/null", "w", stdout);
    for (const Who who : {Who::kInterrupts, Who::kLevel}) {
      Choice choice{who, 0, section};
      const int points = run(operation, kSerial, choice).points;
      for (choice.at = 1; choice.at <= points && !::testing::Test::HasFailure(); ++choice.at) {
        (void)run(operation, kSerial, choice);
      }
    }
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

// The test of the test.
TEST(CriticalSections, left_open_are_noticed)
{
  if (!Points::sees_accesses()) {
    GTEST_SKIP() << "a sanitizer takes the place of what sees the accesses";
  }
  std::map<const void *, bool> needed;
  for (const auto & operation : kOperations) {
    if (operation.long_) {
      continue;
    }
    const auto seen = run(operation, kSerial, {});
    ASSERT_FALSE(HasFailure()) << operation.name;
    for (const void * section : seen.sections) {
      bool & known = needed[section];
      known = known || is_needed(operation, section);
    }
  }
  const auto count = std::count_if(
    needed.begin(), needed.end(), [](const auto & section) { return section.second; });
  // The others are for threads, or guard what those who come in here do not touch.
  EXPECT_GE(count, 15) << "of " << needed.size();
}
}  // namespace
