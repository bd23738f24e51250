// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The completion and reception handlers, and a context that preempts, at every point of every operation:
// run again and again, with somebody coming in at the first point, at the second, and so on until there
// is none. Whatever the point, the books are right afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>

#include "operations.hpp"

namespace
{
// Who comes in between.
enum class Who
{
  kInterrupts,    // all that is due: the line is infinitely fast
  kOneInterrupt,  // the first that is due
  kStorm,         // one at each point from there on
  kLevel,         // a context that preempts: it publishes, on a stream of its own, and triggers
  kTime,          // whatever it is, it takes 60 ms
};

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
  of->start_all();
  if (operation.before != nullptr) {
    operation.before(*of);
  }
  Points points(of->port.port, of->port.transport);
  points.at = choice.at;
  points.onwards = choice.who == Who::kStorm;
  points.unmasked = choice.unmasked;
  if (choice.who <= Who::kStorm) {
    points.matters = [&] { return of->world.due(); };
  }
  points.come_in = [&] {
    switch (choice.who) {
      case Who::kInterrupts:
        of->interrupts();
        break;
      case Who::kOneInterrupt:
      case Who::kStorm:
        of->world.step(of->world.now_ns());
        break;
      case Who::kLevel:
        (void)of->publish(of->urgent);
        of->trigger();
        break;
      case Who::kTime:
        of->world.work(60 * kMs);
        break;
    }
  };
  of->world.on_interrupt_entry = [&] { points.handlers_begin(); };
  of->world.on_interrupt_exit = [&] { points.handlers_end(); };
  points.begin();
  operation.run(*of);
  points.end();
  of->finish();
  of->check_books(operation.all);
  EXPECT_EQ(points.nested, 0);
  return {points.count(), points.sections};
}

class Interrupts : public ::testing::TestWithParam<std::tuple<Operation, Setting>>
{
protected:
  void everywhere(Who who)
  {
    const auto & [operation, setting] = GetParam();
    Choice choice{who, 0, nullptr};
    int points = run(operation, setting, choice).points;
    ASSERT_FALSE(HasFailure()) << "without anybody coming in";
    // What waits for the agent does the same many times.
    const bool all = !operation.long_ || std::getenv("RCLRT_MICRO_EVERY_POINT") != nullptr;
    const int step = all ? 1 : who >= Who::kLevel ? 53 : 23;
    for (choice.at = 1; choice.at <= points && !HasFailure(); choice.at += step) {
      SCOPED_TRACE("at point " + std::to_string(choice.at));
      points = std::max(points, run(operation, setting, choice).points);
    }
    std::printf("%d points\n", points);
  }
};

TEST_P(Interrupts, come_all_at_once) { everywhere(Who::kInterrupts); }
TEST_P(Interrupts, come_one_alone) { everywhere(Who::kOneInterrupt); }
TEST_P(Interrupts, come_one_after_the_other) { everywhere(Who::kStorm); }
TEST_P(Interrupts, a_context_that_preempts_publishes_and_triggers) { everywhere(Who::kLevel); }
TEST_P(Interrupts, time_passes) { everywhere(Who::kTime); }

INSTANTIATE_TEST_SUITE_P(
  All, Interrupts,
  ::testing::Combine(::testing::ValuesIn(kOperations), ::testing::ValuesIn(kSettings)),
  [](const auto & of) {
    return std::string(std::get<0>(of.param).name) + "_" + std::get<1>(of.param).name;
  });
}  // namespace
