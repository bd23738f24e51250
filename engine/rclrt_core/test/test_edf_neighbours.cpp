// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Programs that are ordered together, of which others are stopped, killed, or of another kind.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <random>

#include "edf_programs.hpp"
#include "platform/linux/descriptor.hpp"
#include "platform/linux/edf_neighbours.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::EdfNeighbours;
using linux_platform::OwnDirectory;
using linux_platform::Roll;
using testing::HasSubstr;
using testing::Not;

constexpr int kRun = 49;

class Neighbours : public ::testing::Test
{
protected:
  ~Neighbours() override { remove_entries(name_); }

  /// Where `program` publishes; found as others find it.
  Roll roll()
  {
    Roll roll;
    EXPECT_TRUE(Roll::open(name_, EdfRegion::kVersion, OwnDirectory::places(), &roll).ok());
    return roll;
  }
  static std::function<bool()> has(EdfProgram & program, int thread, bool runs)
  {
    return [&program, thread, runs] { return (program.priority_of(thread) == kRun) == runs; };
  }
  /// Until the two know of each other: only then their events are ordered together.
  static void wait_for_each_other(EdfProgram & one, EdfProgram & other)
  {
    ASSERT_EQ(one.start(8, 1), 0);
    ASSERT_EQ(other.start(8, 2), 0);
    wait_until(has(other, 8, false), "the one that has come does not see the one before");
    one.stop(8);
    wait_until(has(other, 8, true), "the one that was there does not see the one that has come");
    other.stop(8);
  }

  const std::string name_ = "rclrt_test_" + std::to_string(getpid());
};

TEST_F(Neighbours, are_ordered_together)
{
  EdfProgram one(name_, 1);
  EdfProgram other(name_, 1);
  ASSERT_TRUE(one.made.ok()) << one.made.message();
  wait_for_each_other(one, other);
  EXPECT_EQ(one.start(1, 500), 0);
  EXPECT_EQ(one.priority_of(1), kRun);
  EXPECT_EQ(other.start(1, 900), 0);
  EXPECT_LT(other.priority_of(1), kRun);
  EXPECT_EQ(one.priority_of(1), kRun);
  EXPECT_EQ(other.start(1, 100), 0);
  EXPECT_EQ(other.priority_of(1), kRun) << "at once: it waits for nobody";
  wait_until(has(one, 1, false), "the other gives way");
  other.stop(1);
  wait_until(has(one, 1, true), "and comes back");
  EXPECT_STREQ(one.bands->name(), "fifo bands");
  EXPECT_EQ(one.findings(), "");
}

TEST_F(Neighbours, change_only_their_own_threads)
{
  EdfProgram one(name_, 1);
  EdfProgram other(name_, 1);
  wait_for_each_other(one, other);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(one.start(1 + i % 4, 1000 - i), 0);
    ASSERT_EQ(other.start(5 + i % 3, 1000 - i), 0);
  }
  // 8, its attendant, and what it has started.
  EXPECT_LE(one.platform.threads(), 6u);
  EXPECT_LE(other.platform.threads(), 5u);
  EXPECT_EQ(one.priority_of(5), 0);
  EXPECT_EQ(other.priority_of(1), 0);
}

/// All m earliest, with three programs that come and go in no order: what is left in the end is right.
TEST_F(Neighbours, agree_in_the_end_on_who_runs)
{
  constexpr int kPrograms = 3;
  constexpr int kRunners = 2;
  std::vector<std::unique_ptr<EdfProgram>> programs;
  for (int i = 0; i < kPrograms; ++i) {
    programs.push_back(std::make_unique<EdfProgram>(name_, kRunners));
  }
  for (int i = 1; i < kPrograms; ++i) {
    for (int k = 0; k < i; ++k) {
      std::mt19937 random(static_cast<uint32_t>(i));
      ASSERT_EQ(programs[static_cast<std::size_t>(k)]->start(8, 1), 0);
      ASSERT_EQ(programs[static_cast<std::size_t>(k)]->start(7, 1), 0);
      EdfProgram & last = *programs[static_cast<std::size_t>(i)];
      ASSERT_EQ(last.start(8, 2), 0);
      wait_until(has(last, 8, false), "sees the one before");
      programs[static_cast<std::size_t>(k)]->stop(8);
      programs[static_cast<std::size_t>(k)]->stop(7);
      wait_until(has(last, 8, true), "is seen");
      last.stop(8);
    }
  }
  for (uint32_t round = 0; round < 30; ++round) {
    std::map<std::pair<int, int>, int64_t> active;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int p = 0; p < kPrograms; ++p) {
      threads.emplace_back([&, p] {
        std::mt19937 random(round * 10 + static_cast<uint32_t>(p));
        EdfProgram & program = *programs[static_cast<std::size_t>(p)];
        for (int event = 0; event < 200; ++event) {
          const int thread = static_cast<int>(random() % 4) + 1;
          const auto deadline = static_cast<int64_t>(random() % 1000000) * kPrograms + p;
          if (random() % 3 == 0) {
            program.stop(thread);
            const std::lock_guard<std::mutex> lock(mutex);
            active.erase({p, thread});
          } else {
            EXPECT_EQ(program.start(thread, deadline), 0);
            const std::lock_guard<std::mutex> lock(mutex);
            active[{p, thread}] = deadline;
          }
        }
      });
    }
    for (std::thread & thread : threads) {
      thread.join();
    }
    std::vector<int64_t> deadlines;
    for (const auto & job : active) {
      deadlines.push_back(job.second);
    }
    std::sort(deadlines.begin(), deadlines.end());
    wait_until(
      [&] {
        return std::all_of(active.begin(), active.end(), [&](const auto & job) {
          const bool runs = deadlines.size() <= kRunners || job.second < deadlines[kRunners];
          return (programs[static_cast<std::size_t>(job.first.first)]->priority_of(
                    job.first.second) == kRun) == runs;
        });
      },
      "round " + std::to_string(round));
    for (int p = 0; p < kPrograms; ++p) {
      for (int thread = 1; thread <= 4; ++thread) {
        programs[static_cast<std::size_t>(p)]->stop(thread);
      }
    }
  }
}

TEST_F(Neighbours, go_by_the_smallest_number_of_cpus)
{
  EdfProgram two(name_, 2);
  auto one = std::make_unique<EdfProgram>(name_, 1);
  wait_until(
    [&] {
      EXPECT_EQ(two.start(1, 10), 0);
      EXPECT_EQ(two.start(2, 20), 0);
      return two.priority_of(2) < kRun;
    },
    "the smaller number counts, also while the other has no job");
  one.reset();
  wait_until(has(two, 2, true), "the other has gone");
}

TEST_F(Neighbours, of_a_killed_process_leave_nothing_behind)
{
  EdfProcess theirs([this] {
    auto program = std::make_shared<EdfProgram>(name_, 1);
    return [program](int64_t deadline) { return program->start(1, deadline) == 0 ? 'y' : 'n'; };
  });
  EdfProgram ours(name_, 1);
  ASSERT_EQ(theirs.ask(10), 'y');
  wait_until([&] { return ours.start(1, 100) == 0 && ours.priority_of(1) < kRun; }, "sees it");
  theirs.end();
  ASSERT_EQ(ours.start(1, 101), 0);
  EXPECT_EQ(ours.priority_of(1), kRun) << "the next event that finds no CPU notices";
  EXPECT_EQ(ours.findings(), "") << "it is no one's loss";
}

/// The heart of it: the neighbour is stopped at any instruction, again and again. Events here go on
/// without waiting, in the order of their deadlines, and when it goes on the common order comes back.
TEST_F(Neighbours, that_are_stopped_hold_nobody_up)
{
  // It starts and stops jobs as fast as it can, so that it is stopped in the middle of that.
  EdfProcess theirs([this] {
    auto program = std::make_shared<EdfProgram>(name_, 1);
    auto is_busy = std::make_shared<std::atomic<bool>>(true);
    auto is_idle = std::make_shared<std::atomic<bool>>(false);
    auto worker = std::make_shared<std::thread>([program, is_busy, is_idle] {
      for (int64_t i = 0;; ++i) {
        *is_idle = !*is_busy;
        if (!*is_idle) {
          program->start(1 + static_cast<int>(i % 3), 10 + i % 7);
          program->stop(1 + static_cast<int>((i + 1) % 3));
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
    });
    return [=](int64_t command) {
      *is_busy = command == 0;
      if (command > 0) {
        *is_idle = false;
        wait_until([&] { return is_idle->load(); }, "the worker has done");
        for (const int thread : {1, 2, 3}) {
          program->stop(thread);
        }
        return program->start(1, command) == 0 ? 'y' : 'n';
      }
      return worker ? 'y' : 'n';
    };
  });
  EdfProgram ours(name_, 1);
  std::mt19937 random(7);
  int lost = 0;
  for (int round = 0; round < 30; ++round) {
    ASSERT_EQ(theirs.ask(10), 'y');
    wait_until(
      [&] { return ours.start(1, 100) == 0 && ours.priority_of(1) < kRun; },
      "round " + std::to_string(round) + ": the common order is there");
    ASSERT_EQ(theirs.ask(0), 'y');  // busy
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    theirs.pause();
    // More urgent than any of its jobs, and the others in the order of their deadlines. Its thread would
    // have to give way, and it does not answer.
    for (int step = 0; step < 20; ++step) {
      ASSERT_EQ(ours.start(1, 1 + step % 2), 0);
      EXPECT_EQ(ours.priority_of(1), kRun) << "round " << round;
      ASSERT_EQ(ours.start(2, 1000 + step), 0);
      ASSERT_EQ(ours.start(3, 2000 + step), 0);
      ASSERT_EQ(ours.start(4, 3000 - step), 0);
      EXPECT_LT(ours.priority_of(2), kRun);
      EXPECT_LT(ours.priority_of(3), ours.priority_of(2)) << "round " << round;
      EXPECT_LT(ours.priority_of(4), ours.priority_of(3)) << "round " << round;
      ours.stop(2);
      ours.stop(3);
      ours.stop(4);
      if (step == 10) {
        ours.platform.later_ns += nanoseconds_of(TimePoint(EdfNeighbours::kPatience)) * 2;
      }
    }
    // It may have been stopped without a job: then there was nothing to be lost.
    const std::string text = ours.findings();
    if (
      text.find("process " + std::to_string(theirs.id()) + " does not answer") !=
      std::string::npos) {
      ++lost;
      ASSERT_EQ(ours.start(1, 100), 0);
      EXPECT_EQ(ours.priority_of(1), kRun) << "its jobs do not count, round " << round;
    }
    theirs.go_on();
  }
  EXPECT_GT(lost, 5) << "or this was no test";
  ASSERT_EQ(theirs.ask(10), 'y');
  wait_until([&] { return ours.start(1, 100) == 0 && ours.priority_of(1) < kRun; }, "it is back");
  EXPECT_THAT(ours.findings(), Not(HasSubstr("does not answer")));
  EXPECT_THAT(ours.findings(), HasSubstr("did not answer for a while"));
}

TEST_F(Neighbours, that_were_stopped_and_killed_are_forgotten)
{
  EdfProcess theirs([this] {
    auto program = std::make_shared<EdfProgram>(name_, 1);
    return [program](int64_t deadline) { return program->start(1, deadline) == 0 ? 'y' : 'n'; };
  });
  EdfProgram ours(name_, 1);
  ASSERT_EQ(theirs.ask(10), 'y');
  wait_until([&] { return ours.start(1, 100) == 0 && ours.priority_of(1) < kRun; }, "sees it");
  theirs.pause();
  ASSERT_EQ(ours.start(1, 1), 0);
  ours.platform.later_ns += nanoseconds_of(TimePoint(EdfNeighbours::kPatience));
  ASSERT_EQ(ours.start(1, 100), 0);
  EXPECT_EQ(ours.priority_of(1), kRun);
  EXPECT_THAT(ours.findings(), HasSubstr("does not answer"));
  theirs.end();
  EXPECT_EQ(ours.findings(), "");
}

TEST_F(Neighbours, of_another_run_priority_are_a_finding)
{
  EdfProgram one(name_, 1, 49);
  EdfProgram other(name_, 1, 60);
  wait_until([&] { return one.findings().find("run_priority 60") != std::string::npos; }, "told");
  EXPECT_THAT(other.findings(), HasSubstr("run_priority 49, this one 60"));
}

TEST_F(Neighbours, of_another_version_are_a_finding_and_split_nobody)
{
  EdfProgram one(name_, 1);
  Roll theirs;
  ASSERT_TRUE(Roll::open(name_, EdfRegion::kVersion + 1, OwnDirectory::places(), &theirs).ok());
  linux_platform::ProcessFacts self;
  ASSERT_TRUE(linux_platform::OtherProcess::facts_of_self(&self));
  ASSERT_TRUE(theirs.add(self.born, 0, 0).ok());
  EdfProgram other(name_, 1);
  EXPECT_THAT(other.findings(), HasSubstr("version " + std::to_string(EdfRegion::kVersion + 1)));
  wait_for_each_other(one, other);
  theirs.remove(theirs.own());
}

TEST_F(Neighbours, find_each_other_again_after_their_files_were_removed)
{
  EdfProgram one(name_, 1);
  const Roll seen = roll();
  const auto entries = seen.entries();
  ASSERT_EQ(entries.size(), 1u);
  // Held open: the program may write a new one of the same name at any time.
  const linux_platform::Descriptor file(
    openat(seen.directory().descriptor(), entries[0].file.c_str(), O_RDONLY | O_CLOEXEC));
  seen.remove(entries[0].file);
  struct stat removed{};
  ASSERT_EQ(fstat(file.get(), &removed), 0);
  EXPECT_EQ(removed.st_nlink, 0u);
  one.enter();  // as at the next spin
  wait_until([&] { return seen.entries().size() == 1; }, "it is there again");
  EdfProgram other(name_, 1);
  wait_for_each_other(one, other);
}

TEST_F(Neighbours, leave_no_files_behind)
{
  {
    EdfProgram one(name_, 1);
    EdfProgram other(name_, 1);
    EXPECT_EQ(roll().entries().size(), 2u);
  }
  EXPECT_TRUE(roll().entries().empty());
}

TEST_F(Neighbours, more_than_there_is_room_for_are_a_finding)
{
  std::vector<std::unique_ptr<EdfProgram>> programs;
  for (uint32_t i = 0; i < EdfNeighbours::kMaxNeighbours + 2; ++i) {
    programs.push_back(std::make_unique<EdfProgram>(name_, 1, 49, 1));
    ASSERT_TRUE(programs.back()->made.ok()) << programs.back()->made.message();
  }
  EXPECT_THAT(programs.back()->findings(), HasSubstr("more than 64 others"));
  EXPECT_EQ(programs.back()->start(1, 10), 0);
}

TEST_F(Neighbours, a_child_does_not_touch_the_threads_of_its_parent)
{
  EdfProgram ours(name_, 1);
  ASSERT_EQ(ours.start(1, 100), 0);
  // The attendant has its priority and sleeps: it has no lock that the child would wait for.
  wait_until([&] { return ours.platform.threads() == 2; }, "its attendant has begun");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const pid_t child = fork();
  if (child == 0) {
    const std::size_t before = ours.platform.threads();
    const int error = ours.start(2, 1);
    ours.stop(1);
    ours.bands.reset();
    _exit(error == ESRCH && ours.platform.threads() == before ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(roll().entries().size(), 1u) << "nor its files";
}

TEST_F(Neighbours, impossible_names_are_an_error)
{
  for (const std::string & name : {std::string("a/b"), std::string("a~b"), std::string(200, 'a')}) {
    EXPECT_FALSE(EdfProgram(name, 1).made.ok()) << name;
  }
}

TEST_F(Neighbours, say_what_is_in_force)
{
  EdfProgram alone("", 1);
  EXPECT_STREQ(alone.bands->name(), "fifo bands (this process only)");
  EdfProgram shared(name_, 1);
  EXPECT_STREQ(shared.bands->name(), "fifo bands");
  for (EdfProgram * program : {&alone, &shared}) {
    program->platform.refuses = true;
    EXPECT_EQ(program->start(1, 10), EPERM);
    EXPECT_STREQ(program->bands->name(), "fifo bands (refused)");
    program->platform.refuses = false;
    EXPECT_EQ(program->start(1, 10), 0);
    EXPECT_STRNE(program->bands->name(), "fifo bands (refused)");
  }
}

TEST(FifoBandsLimits, more_threads_than_there_is_room_for_are_an_error)
{
  LinuxPlatform platform;
  std::shared_ptr<FifoBands> bands;
  ASSERT_TRUE(FifoBands::make(platform, {}, &bands).ok());
  DeadlineScheduler::Slot slot = 0;
  for (int i = 0; i < 4096; ++i) {
    ASSERT_TRUE(bands->enter(&slot).ok());
  }
  DeadlineScheduler::Slot none = 0;
  const Status status = bands->enter(&none);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("4096"), std::string::npos) << status.message();
  bands->leave(slot);
  EXPECT_TRUE(bands->enter(&none).ok());
}

}  // namespace
}  // namespace rclrt_core
