// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/middleware.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/policy.hpp"
#include "rclrt_core/sim_platform.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_front_end/sent_message.hpp"
#include "rclrt_front_end/teller.hpp"
#include "rclrt_watch/statuses.hpp"

namespace
{

/// How many more times this thread gets memory.
thread_local int granted = std::numeric_limits<int>::max();
/// How often threads have got some. Relaxed: of simulated threads one runs at a time.
std::atomic<int64_t> allocations{0};

}  // namespace

#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)

void * operator new(std::size_t size)
{
  void * const memory = granted > 0 ? std::malloc(size) : nullptr;
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  --granted;
  allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

#endif

namespace rclrt_front_end
{
namespace
{

using testing::HasSubstr;

TEST(Middleware, knows_its_threads_by_whole_names_or_by_beginnings)
{
  const Middleware fast = Middleware::of("rmw_fastrtps_cpp");
  EXPECT_TRUE(fast.owns_thread("dds.udp.7413"));
  EXPECT_FALSE(fast.owns_thread("recv"));
  EXPECT_FALSE(fast.owns_thread("my_dds.udp"));
  EXPECT_FALSE(fast.owns_thread("dds.asyn.0.1")) << "it waits for locks without sleeping";
  const Middleware cyclone = Middleware::of("rmw_cyclonedds_cpp");
  for (const char * name : {"recv", "recvUC", "recvMC", "tev", "dq.user", "dq.builtins", "gc"}) {
    EXPECT_TRUE(cyclone.owns_thread(name)) << name;
  }
  for (const char * name : {"dds.udp.7413", "receiver", "gcc", "dq", ""}) {
    EXPECT_FALSE(cyclone.owns_thread(name)) << name;
  }
}

TEST(Middleware, that_is_not_in_the_table_owns_no_thread)
{
  const Middleware stranger = Middleware::of("rmw_stranger_cpp");
  EXPECT_FALSE(stranger.is_known);
  EXPECT_EQ(stranger.rmw, "rmw_stranger_cpp");
  EXPECT_FALSE(stranger.owns_thread("dds.udp.7413"));
  EXPECT_EQ(stranger.reception_stamp, ReceptionStamp::kUnknown);
}

TEST(Middleware, runs_callbacks_on_its_threads_only_if_its_locks_were_tested)
{
  EXPECT_TRUE(Middleware::of("rmw_fastrtps_cpp").may_run_callbacks);
  for (const char * rmw : {"rmw_cyclonedds_cpp", "rmw_zenoh_cpp", "rmw_stranger_cpp", ""}) {
    EXPECT_FALSE(Middleware::of(rmw).may_run_callbacks) << rmw;
  }
}

TEST(Middleware, tells_stamps_if_it_calls_the_tracepoint_whatever_its_name)
{
  for (const char * name : {"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp", "rmw_stranger_cpp"}) {
    EXPECT_TRUE(Middleware::of(name, true).tells_stamps) << name;
    EXPECT_FALSE(Middleware::of(name, false).tells_stamps) << name;
  }
}

std::string findings_with(
  const Middleware & middleware, const rclrt_core::Policy & policy, int priority = 0)
{
  rclrt_core::SimPlatform sim;
  ConfiguredEngineOptions options;
  options.engine.policy = &policy;
  options.middleware = middleware;
  std::unique_ptr<ConfiguredEngine> engine;
  EXPECT_TRUE(ConfiguredEngine::make(sim, options, &engine).ok());
  std::shared_ptr<rclrt_core::Group> group;
  EXPECT_TRUE(engine->add_group({}, "", &group).ok());
  rclrt_core::CallbackOptions callback;
  callback.name = "/a/timer/x";
  callback.run = [](const rclrt_core::Job &) { return true; };
  if (priority > 0) {
    callback.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
    callback.attributes.priority = priority;
  }
  std::shared_ptr<rclrt_core::Callback> added;
  EXPECT_TRUE(engine->add_callback(callback, group, &added).ok());
  EXPECT_TRUE(engine->begin_spin([](const rclrt_core::Finding &) {}).ok());
  engine->end_spin();
  std::string text;
  for (const rclrt_core::Finding & finding : engine->findings()) {
    text += to_string(finding) + "\n";
  }
  return text;
}

TEST(Middleware, that_carries_no_deadlines_is_a_finding_where_there_are_deadlines_only)
{
  const auto fast = [](bool tells) { return Middleware::of("rmw_fastrtps_cpp", tells); };
  EXPECT_THAT(
    findings_with(fast(false), rclrt_core::edf_policy()),
    HasSubstr("do not reach other processes: rmw_fastrtps_cpp does not say the source time"));
  EXPECT_EQ(findings_with(fast(false), rclrt_core::first_come_policy()), "");
  EXPECT_EQ(findings_with(fast(true), rclrt_core::edf_policy()), "");
  EXPECT_THAT(
    findings_with(Middleware::of("rmw_cyclonedds_cpp"), rclrt_core::edf_policy()),
    HasSubstr("do not reach other processes: rmw_cyclonedds_cpp gives a publisher another id"));
  EXPECT_EQ(findings_with(Middleware::of("", false), rclrt_core::edf_policy()), "")
    << "no middleware, no messages";
}

TEST(Middleware, that_publishes_by_threads_that_are_not_raised_is_a_finding)
{
  const auto said = [](const char * mode, int priority) {
    setenv("RMW_FASTRTPS_PUBLICATION_MODE", mode, 1);
    const Middleware middleware = Middleware::of("rmw_fastrtps_cpp");
    unsetenv("RMW_FASTRTPS_PUBLICATION_MODE");
    return findings_with(middleware, rclrt_core::first_come_policy(), priority);
  };
  EXPECT_THAT(said("ASYNCHRONOUS", 30), HasSubstr("Unset RMW_FASTRTPS_PUBLICATION_MODE"));
  EXPECT_THAT(said("ASYNCHRONOUS", 0), Not(HasSubstr("PUBLICATION_MODE")));
  EXPECT_THAT(said("SYNCHRONOUS", 30), Not(HasSubstr("PUBLICATION_MODE")));
}

TEST(Middleware, calls_a_function_if_a_library_that_is_loaded_does)
{
  EXPECT_TRUE(is_called_by_a_library("pthread_create") || is_called_by_a_library("malloc"));
  EXPECT_FALSE(is_called_by_a_library("a_function_that_nobody_calls"));
}

// ---- What /diagnostics says about a callback.

TEST(Statuses, warn_of_a_callback_in_the_second_in_which_something_went_wrong)
{
  using rclrt_core::CallbackStatistics;
  struct Row
  {
    uint64_t CallbackStatistics::* what;
    const char * message;
    std::optional<std::pair<std::size_t, const char *>> value;
    uint64_t CallbackStatistics::* cause = nullptr;  ///< goes before it
    const char * cause_says = "";
  };
  for (const Row & row : std::vector<Row>{
         {&CallbackStatistics::over_budget,
          "needed more than its budget in 3 periods",
          {{6, "over_budget"}},
          &CallbackStatistics::dropped,
          "dropped"},
         {&CallbackStatistics::deadline_misses,
          "ended after its deadline 3 times",
          {},
          &CallbackStatistics::over_budget,
          "budget"}}) {
    std::map<std::string, CallbackStatistics> callbacks;
    std::map<std::string, CallbackStatistics> last;
    const auto status = [&] { return rclrt_watch::statuses_of(callbacks, &last).at(0); };
    CallbackStatistics & of = callbacks["/a/timer/1ms"];
    of.executed = 5;
    EXPECT_EQ(status().level, DiagnosticLevel::kOk);
    of.*row.what = 3;
    const DiagnosticStatus wrong = status();
    EXPECT_EQ(wrong.level, DiagnosticLevel::kWarn);
    EXPECT_EQ(wrong.message, row.message);
    if (row.value) {
      EXPECT_EQ(
        wrong.values.at(row.value->first),
        (std::pair<std::string, std::string>(row.value->second, "3")));
    }
    EXPECT_EQ(status().level, DiagnosticLevel::kOk) << "nothing new";
    of.*row.what = 4;
    EXPECT_EQ(status().level, DiagnosticLevel::kWarn);
    if (row.cause != nullptr) {
      of.*row.what = 5;
      of.*row.cause = 1;
      EXPECT_NE(status().message.find(row.cause_says), std::string::npos);
    }
  }
}

TEST(Statuses, of_a_callback_that_came_again_begin_anew)
{
  std::map<std::string, rclrt_core::CallbackStatistics> last;
  std::map<std::string, rclrt_core::CallbackStatistics> callbacks;
  callbacks["a"].over_budget = 9;
  rclrt_watch::statuses_of(callbacks, &last);
  callbacks["a"].over_budget = 0;
  EXPECT_EQ(rclrt_watch::statuses_of(callbacks, &last).at(0).level, DiagnosticLevel::kOk);
  EXPECT_TRUE(rclrt_watch::statuses_of({}, &last).empty());
  EXPECT_TRUE(last.empty()) << "what is gone is forgotten";
}

/// Sections of locks and allocations in ten seconds of an executor that tells all it can. One callback has run; the others,
/// each in a group of its own, do nothing.
std::vector<int64_t> cost_of_idleness(int callbacks)
{
  const std::string folder = testing::TempDir() + "/idle." + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/file.yaml") << "/**: {ros__parameters: {rclrt: {diagnostics: true}}}";
  ConfiguredEngineOptions options;
  options.configuration_file = folder + "/file.yaml";
  options.trace.directory = folder;
  options.publish_diagnostics = [](const auto & statuses) {
    EXPECT_LE(statuses.size(), 1u);
    return rclrt_core::Status();
  };
  rclrt_core::SimPlatform sim;
  std::vector<int64_t> cost;
  const rclrt_core::Status status = sim.run([&] {
    std::unique_ptr<ConfiguredEngine> engine;
    ASSERT_TRUE(ConfiguredEngine::make(sim, options, &engine).ok());
    std::shared_ptr<rclrt_core::Callback> last;
    for (int i = 0; i < callbacks; ++i) {
      std::shared_ptr<rclrt_core::Group> group;
      ASSERT_TRUE(engine->add_group({}, "", &group).ok());
      rclrt_core::CallbackOptions callback;
      callback.name = "/node/waitable/a_callback_with_a_name_of_usual_length_" + std::to_string(i);
      callback.run = [](const rclrt_core::Job &) { return true; };
      ASSERT_TRUE(engine->add_callback(callback, group, &last).ok());
    }
    Told told;
    Teller teller(sim, [](rclrt_core::Severity, const std::string &) {}, told);
    const Teller::OwnThread own_thread(teller, *engine, {});
    std::unique_ptr<rclrt_core::Thread> spins;
    ASSERT_TRUE(
      sim.start_thread({}, [&] { EXPECT_TRUE(engine->engine().spin().ok()); }, {}, &spins).ok());
    sim.sleep_for(std::chrono::seconds(1));
    engine->engine().notify(*last);
    sim.sleep_for(std::chrono::seconds(2));
    const std::vector<int64_t> before = {sim.counts().lock, allocations.load()};
    sim.sleep_for(std::chrono::seconds(10));
    cost = {sim.counts().lock - before[0], allocations.load() - before[1]};
    engine->engine().stop();
    spins->join();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  std::filesystem::remove_all(folder);
  return cost;
}

// Both executors have as many threads as they may.
TEST(Executor, that_has_nothing_to_do_costs_the_same_with_hundred_and_with_thousand_callbacks)
{
  EXPECT_EQ(cost_of_idleness(1000), cost_of_idleness(100));
}

TEST(LocalPublishers, are_the_same_object_for_the_same_topic)
{
  const LocalPublishers first = local_publishers("/topic");
  EXPECT_EQ(local_publishers_or_null("/topic"), first);
  EXPECT_NE(local_publishers_or_null("/other"), first);
  {
    const PublisherHere here("/topic");
    EXPECT_EQ(*first, 1);
  }
  EXPECT_EQ(*first, 0);
}

// The middleware's functions are called through C: an exception would end the process.
TEST(LocalPublishers, are_none_without_memory_and_there_once_there_is_some)
{
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
  GTEST_SKIP() << "an allocator that refuses cannot coexist with a sanitizer's";
#endif
  int refusals = 0;
  for (int allowed = 0;; ++allowed) {
    granted = allowed;
    const LocalPublishers publishers =
      local_publishers_or_null("/a_topic_whose_name_needs_memory_of_its_own");
    granted = std::numeric_limits<int>::max();
    if (publishers) {
      EXPECT_EQ(*publishers, 0);
      break;
    }
    ++refusals;
    ASSERT_LT(refusals, 10);
  }
  EXPECT_GE(refusals, 2) << "the name, the entry, the number";
}

}  // namespace
}  // namespace rclrt_front_end
