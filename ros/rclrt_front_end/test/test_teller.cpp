// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/teller.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_front_end
{
namespace
{

using rclrt_core::CallbackKind;
using rclrt_core::Finding;
using rclrt_core::Severity;
using rclrt_core::WaitingReport;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class Unneeded final : public rclrt_core::DeadlineScheduler
{
public:
  const char * name() const noexcept override { return "unneeded"; }
  rclrt_core::Attributes above() const noexcept override { return {}; }
  rclrt_core::Status enter(Slot *) override { return {}; }
  void leave(Slot) noexcept override {}
  int start(Slot, rclrt_core::TimePoint) noexcept override { return 0; }
  void stop(Slot) noexcept override {}
  void forget(Slot) noexcept override {}
  std::vector<Finding> findings() const override { return {}; }
};

/// Waits for `condition` for as long as a busy machine may take.
template <typename Condition>
bool comes_true(Condition condition)
{
  for (int i = 0; i < 20000 && !condition(); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

class TellerTest : public ::testing::Test
{
protected:
  TellerTest()
  {
    ConfiguredEngineOptions options;
    options.engine.on_finding = [this] { teller_.request(); };
    EXPECT_TRUE(ConfiguredEngine::make(platform_, options, &engine_).ok());
  }

  std::vector<std::string> lines()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

  bool has_line(const std::string & line)
  {
    return comes_true([&] {
      const auto all = lines();
      return std::find(all.begin(), all.end(), line) != all.end();
    });
  }

  rclrt_core::LinuxPlatform platform_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::thread::id writer_;
  Told told_;
  const Teller::Write write_ = [this](Severity severity, const std::string & line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    writer_ = std::this_thread::get_id();
    lines_.push_back((severity == Severity::kNote ? "note " : "") + line);
  };
  Teller teller_{platform_, write_, told_};
  std::unique_ptr<ConfiguredEngine> engine_;
};

struct Waits
{
  const char * name;
  CallbackKind kind;
  uint64_t begun;
  std::vector<WaitingReport::Keeper> keepers;
  bool is_group_busy;
};

std::vector<std::string> look(Stalls & stalls, const std::vector<Waits> & all)
{
  std::vector<WaitingReport> reports;
  for (const Waits & one : all) {
    WaitingReport report;
    report.callback = one.name;
    report.kind = one.kind;
    report.begun = one.begun;
    report.keepers = one.keepers;
    report.is_group_busy = one.is_group_busy;
    reports.push_back(report);
  }
  std::vector<std::string> subjects;
  for (const Finding & finding : stalls.look(reports)) {
    EXPECT_THAT(finding.what, HasSubstr(all.front().keepers.front().callback));
    subjects.push_back(finding.subject);
  }
  return subjects;
}

TEST(StallsTest, a_client_that_the_same_job_keeps_is_told_once)
{
  for (const bool by_group : {true, false}) {
    Stalls stalls;
    const Waits client{"client", CallbackKind::kClient, 3, {{"service", 7}}, by_group};
    EXPECT_THAT(look(stalls, {client}), ElementsAre());
    EXPECT_THAT(look(stalls, {client}), ElementsAre("'client'"));
    EXPECT_THAT(look(stalls, {client}), ElementsAre());
  }
  Stalls stalls;
  for (uint64_t job = 1; job < 20; ++job) {  // jobs that end
    EXPECT_THAT(
      look(stalls, {{"client", CallbackKind::kClient, job, {{"service", job}}, true}}),
      ElementsAre());
  }
}

TEST(StallsTest, a_pool_of_jobs_that_do_not_end_is_told_once)
{
  Stalls stalls;
  const Waits a{"a", CallbackKind::kTimer, 0, {{"x", 1}, {"y", 2}}, false};
  const Waits b{"b", CallbackKind::kTimer, 0, {{"x", 1}, {"y", 2}}, false};
  EXPECT_THAT(look(stalls, {a, b}), ElementsAre());
  EXPECT_THAT(look(stalls, {a, b}), ElementsAre("the pool"));
  EXPECT_THAT(look(stalls, {a, b}), ElementsAre());
}

TEST(StallsTest, one_that_gets_no_turn_while_others_run_is_told_and_one_behind_a_long_job_is_not)
{
  Stalls stalls;
  for (uint64_t round = 1; round < 20; ++round) {
    const std::vector<Waits> all = {
      {"service", CallbackKind::kService, 5, {{"timer", round}}, true},
      {"behind", CallbackKind::kService, 0, {{"timer long", 99}}, true},
      {"served", CallbackKind::kService, round, {{"timer", round}}, true}};
    const auto subjects = look(stalls, all);
    const std::vector<std::string> expected(round == 4 ? 1 : 0, "'service'");
    EXPECT_EQ(subjects, expected) << round;
  }
}

TEST_F(TellerTest, says_a_finding_once_in_a_process_and_a_remedy_once)
{
  Teller of_another_executor(platform_, write_, told_);
  teller_.tell({"a", "is slow", 0, "Hurry"});
  teller_.tell({"a", "is slow", 0, "Hurry"});
  of_another_executor.tell({"a", "is slow", 0, "Hurry"});
  teller_.tell({"b", "is slow", 0, "Hurry"});
  teller_.tell({"a", "is late", 0, ""});
  teller_.tell({"a", "is small", 0, "", Severity::kNote});
  EXPECT_THAT(
    lines(), ElementsAre(
               "a: is slow. Hurry", "b: is slow. The remedy is the same as above", "a: is late",
               "note a: is small"));
}

TEST_F(TellerTest, says_one_finding_of_each_cause)
{
  const auto refused = [](const char * who, const char * cause) {
    return Finding{who,  std::string("is refused ") + cause, 1, "Allow it", Severity::kWarning,
                   cause};
  };
  for (const char * who : {"a", "b", "c"}) {
    teller_.tell(refused(who, "no permission"));
    teller_.tell(refused(who, ""));
  }
  EXPECT_EQ(lines().size(), 4U) << "one of the cause, and three that have none";
  EXPECT_THAT(lines()[0], testing::HasSubstr("What else of this process is refused for this"));
}

TEST_F(TellerTest, says_what_comes_up_while_the_engine_spins_from_a_thread_of_its_own)
{
  engine_->report({"early", "happened", 0, ""});
  EXPECT_THAT(lines(), ElementsAre());
  {
    const Teller::OwnThread own_thread(teller_, *engine_, {});
    EXPECT_TRUE(has_line("early: happened"));
    engine_->report({"late", "happened", 0, ""});
    EXPECT_TRUE(has_line("late: happened"));
    EXPECT_NE(writer_, std::this_thread::get_id());
  }
  EXPECT_THAT(lines(), ElementsAre("early: happened", "late: happened"));
}

TEST_F(TellerTest, says_the_rest_when_the_spin_ends)
{
  for (int i = 0; i < 100; ++i) {
    const std::string subject = std::to_string(i);
    {
      const Teller::OwnThread own_thread(teller_, *engine_, {});
      engine_->report({subject, "happened", 0, ""});
    }
    ASSERT_EQ(lines().back(), subject + ": happened");
  }
  EXPECT_EQ(lines().size(), 100U);
}

// sched_setaffinity() from outside does to a thread what a CPU does that goes offline and comes back.
TEST_F(TellerTest, says_that_a_thread_has_lost_its_cpus_and_gives_them_back)
{
  const rclrt_core::CpuSet all = platform_.usable_cpu_set();
  if (all.cpus().size() < 2) {
    GTEST_SKIP() << "one CPU";
  }
  std::atomic<rclrt_core::ThreadId> thread{0};
  std::shared_ptr<rclrt_core::Group> group;
  std::shared_ptr<rclrt_core::Callback> callback;
  ASSERT_TRUE(engine_->add_group({}, "", &group).ok());
  rclrt_core::CallbackOptions options;
  options.name = "/a/timer";
  options.attributes.cpu_affinity = rclrt_core::CpuSet({all.cpus().back()});
  options.run = [&](const rclrt_core::Job &) {
    thread = platform_.current_thread();
    return true;
  };
  const rclrt_core::CpuSet wanted = options.attributes.cpu_affinity;
  rclrt_core::TimerOptions timer;
  timer.period = 1ms;
  ASSERT_TRUE(engine_->add_timer(options, timer, group, &callback).ok());
  const auto has = [&](const rclrt_core::CpuSet & cpus) {
    rclrt_core::Attributes in_force;
    EXPECT_EQ(platform_.read_back(thread, &in_force), 0);
    return in_force.cpu_affinity == cpus;
  };
  std::thread spinner([this] { EXPECT_TRUE(engine_->engine().spin().ok()); });
  {
    const Teller::OwnThread own_thread(teller_, *engine_, {});
    while (thread == 0) {
      std::this_thread::sleep_for(1ms);
    }
    rclrt_core::Attributes other;
    other.cpu_affinity = all;
    EXPECT_EQ(platform_.apply(thread, other), 0);
    EXPECT_TRUE(comes_true([&] { return has(wanted); }));
  }
  engine_->engine().stop();
  spinner.join();
  const auto told = lines();
  EXPECT_THAT(
    told, testing::Contains(
            HasSubstr("allowed on CPUs " + all.to_string() + " and not on " + wanted.to_string())));
}

TEST_F(TellerTest, without_a_thread_says_what_is_new_when_it_is_asked)
{
  engine_->report({"a", "happened", 0, ""});
  teller_.tell_if_requested(*engine_);
  EXPECT_THAT(lines(), ElementsAre("a: happened"));
  engine_->report({"b", "happened", 0, ""});
  teller_.tell_if_requested(*engine_);
  EXPECT_THAT(lines(), ElementsAre("a: happened", "b: happened"));
}

TEST_F(TellerTest, updates_when_that_is_requested_until_an_update_fails)
{
  std::atomic<int> updates{0};
  Teller::Work work;
  work.update = [&] { return ++updates < 3; };
  Teller::OwnThread own_thread(teller_, *engine_, std::move(work));
  ASSERT_TRUE(own_thread.status().ok());
  for (int i = 1; i <= 3; ++i) {
    teller_.request(Teller::kUpdate);
    ASSERT_TRUE(comes_true([&] { return updates == i; }));
  }
  // The thread has ended: what is requested now stays so.
  own_thread.end();
  teller_.request(Teller::kUpdate);
  EXPECT_TRUE(teller_.is_requested(Teller::kUpdate));
  EXPECT_EQ(updates, 3);
}

/// Half a second goes by whenever somebody makes it so.
class SteppedPlatform : public rclrt_core::LinuxPlatform
{
public:
  rclrt_core::TimePoint now() noexcept override
  {
    return rclrt_core::TimePoint(steps_.load() * 500ms);
  }
  void step() { ++steps_; }

private:
  std::atomic<int> steps_{0};
};

/// The loss of a scheduler of deadlines is such a finding: nobody asks to have it told.
TEST_F(TellerTest, says_what_nobody_asked_for_although_updates_come_more_often_than_its_looks)
{
  SteppedPlatform platform;
  Teller teller(platform, write_, told_);
  ConfiguredEngineOptions options;
  options.engine.deadlines = std::make_shared<Unneeded>();
  std::unique_ptr<ConfiguredEngine> engine;
  ASSERT_TRUE(ConfiguredEngine::make(platform, options, &engine).ok());
  std::atomic<int> updates{0};
  std::size_t told_by_then = 0;
  Teller::Work work;
  work.update = [&] {
    platform.step();
    if (++updates == 2) {  // the first look of the thread is over
      engine->report({"a", "happened", 0, ""});
    }
    told_by_then = lines_.size();
    if (updates == 10) {
      return false;
    }
    teller.request(Teller::kUpdate);
    return true;
  };
  teller.request(Teller::kUpdate);
  Teller::OwnThread own_thread(teller, *engine, std::move(work));
  EXPECT_TRUE(comes_true([&] { return updates == 10; }));
  own_thread.end();
  EXPECT_EQ(told_by_then, 1U);
}

TEST_F(TellerTest, looks_again_when_it_was_told_to)
{
  std::atomic<int> looks{0};
  Teller::Work work;
  work.look = [&] { return ++looks < 3 ? platform_.now() : rclrt_core::kNever; };
  {
    const Teller::OwnThread own_thread(teller_, *engine_, std::move(work));
    EXPECT_TRUE(comes_true([&] { return looks >= 3; }));
    teller_.request();
    EXPECT_TRUE(comes_true([&] { return looks >= 4; })) << "before each sleep";
  }
}

}  // namespace
}  // namespace rclrt_front_end
