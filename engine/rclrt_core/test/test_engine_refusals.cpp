// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the operating system refuses while the engine spins, in whole or in part.

#include <algorithm>
#include <cerrno>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// A machine whose CPU 1 may go offline: as on Linux, it is left out of what is asked for.
class CpuGoesOffline : public SimPlatform
{
public:
  using SimPlatform::SimPlatform;
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    if (!is_offline || !attributes.cpu_affinity.contains(1)) {
      return SimPlatform::apply(thread, attributes);
    }
    ++asked_for_the_cpu;
    Attributes possible = attributes;
    possible.cpu_affinity = CpuSet({0});
    const int error = SimPlatform::apply(thread, possible);
    return error != 0 ? error : kCpusLeftOut;
  }
  Finding explain(
    const std::string & subject, const Attributes & attributes, int error_number) override
  {
    ++explained;
    return SimPlatform::explain(subject, attributes, error_number);
  }
  bool is_offline = false;
  int asked_for_the_cpu = 0;
  int explained = 0;
};

/// "before" runs at 1 ms with fifo 20 on CPU 0; at 2 ms CPU 1 goes offline; at 3, 4 and 5 ms "job" is to run with
/// fifo 10 on `cpus`, which does it with `seen`; half a millisecond later "before" runs again, if `alternates`.
struct Offline : EngineOn<CpuGoesOffline>
{
  explicit Offline(EngineOptions options) : EngineOn(std::move(options), 2) {}

  void run(const std::vector<int> & cpus, bool alternates = false)
  {
    add("before", 20, {0}, [] {});
    add("job", 10, cpus, [this] { seen.push_back(in_force()); });
    EngineOn::run(10, {}, [&] {
      until(1);
      notify("before");
      until(2);
      sim.is_offline = true;
      for (int i = 3; i < 6; ++i) {
        until(i);
        notify("job");
        if (alternates) {
          sim.sleep_for(microseconds(500));
          notify("before");
        }
      }
      until(10);
      asked_for_the_cpu = sim.asked_for_the_cpu;
    });
  }
  void add(
    const std::string & name, int priority, const std::vector<int> & cpus,
    std::function<void()> body)
  {
    CallbackOptions options = fifo_callback(name, 0, priority);
    options.attributes.cpu_affinity = CpuSet(cpus);
    EngineOn::add(std::move(options), std::move(body));
  }
  std::vector<Finding> found() const
  {
    std::vector<Finding> found = engine.findings();
    const auto is_other = [](const Finding & finding) { return finding.error_number == 0; };
    found.erase(std::remove_if(found.begin(), found.end(), is_other), found.end());
    return found;
  }

  std::vector<Attributes> seen;
  int asked_for_the_cpu = 0;
};

TEST(CpusLeftOut, while_it_spins_leave_the_priority_and_are_told_once)
{
  for (const ExecutionModel model : kModels) {
    for (const std::vector<int> & cpus : {std::vector<int>{1}, std::vector<int>{0, 1}}) {
      EngineOptions options;
      options.model = model;
      options.max_threads = 1;  // the waker moves it, and it itself if it runs
      Offline scene(options);
      scene.run(cpus);
      SCOPED_TRACE(std::string(to_string(model)) + ", CPUs " + CpuSet(cpus).to_string());
      ASSERT_EQ(scene.seen.size(), 3u);
      for (const Attributes & seen : scene.seen) {
        EXPECT_EQ(seen.priority, 10);
        EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kFifo);
      }
      if (model == ExecutionModel::kIsolated) {
        continue;  // "job" has had its thread and its CPUs since before; nobody asks again
      }
      EXPECT_EQ(scene.seen.front().cpu_affinity, CpuSet({0}));
      EXPECT_EQ(scene.asked_for_the_cpu, 1) << "what is in force is not asked for again";
      const std::vector<Finding> found = scene.found();
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].subject, "job");
      EXPECT_EQ(found[0].error_number, kCpusLeftOut);
      EXPECT_NE(found[0].what.find(CpuSet(cpus).to_string()), std::string::npos) << found[0].what;
    }
  }
}

TEST(Cpus, that_a_thread_has_lost_are_told_once_and_given_back_as_soon_as_they_can_be_had)
{
  Offline scene(with_model(ExecutionModel::kIsolated));
  ThreadId thread = 0;
  scene.add("job", 10, {1}, [&] { thread = scene.sim.current_thread(); });
  const auto cpus = [&] {
    Attributes in_force;
    EXPECT_EQ(scene.sim.read_back(thread, &in_force), 0);
    return in_force.cpu_affinity;
  };
  const Lines told = {"is allowed on CPUs 0 and not on 1 any more"};
  scene.EngineOn::run(2, {}, [&] {
    scene.until(1);
    scene.notify("job");
    scene.until(2);
    EXPECT_EQ(cpus(), CpuSet({1}));
    Attributes moved;
    moved.cpu_affinity = CpuSet({0});
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(scene.sim.apply(thread, moved), 0);
      scene.sim.is_offline = true;
      scene.engine.keep_cpus();
      EXPECT_EQ(scene.sim.asked_for_the_cpu, 3 * time) << "it may be on its way";
      for (int look = 0; look < 3; ++look) {
        scene.engine.keep_cpus();
      }
      EXPECT_EQ(cpus(), CpuSet({0}));
      scene.sim.is_offline = false;
      scene.engine.keep_cpus();
      EXPECT_EQ(cpus(), CpuSet({1}));
      scene.engine.keep_cpus();
      EXPECT_EQ(scene.findings_with(told), 1);
    }
  });
}

TEST(CpusLeftOut, are_not_explained_again_although_they_are_asked_for_again)
{
  Offline scene(pool(1));
  scene.run({1}, true);
  EXPECT_EQ(scene.asked_for_the_cpu, 3);
  EXPECT_EQ(scene.sim.explained, 1);
  EXPECT_EQ(scene.found().size(), 1U);
}

TEST(CpusLeftOut, of_a_job_are_not_told_of_the_next_one_that_the_thread_runs)
{
  Offline scene(pool(1));
  scene.sim.is_offline = true;
  scene.run({0});
  EXPECT_TRUE(scene.found().empty());
}

// "high" is released while the thread asks the OS for what "refused" asks for.
TEST(Refusal, of_a_job_is_told_and_remembered_although_another_lends_it_urgency)
{
  EngineOnSim engine;
  engine.sim.set_locks({true, true});
  std::vector<int> priorities;
  CallbackOptions refused = engine.fifo_callback("refused", 0, 40);
  refused.attributes.scheduling_policy = SchedulingPolicy::kRoundRobin;
  engine.add(
    refused,
    [&] {
      const Attributes in_force = engine.in_force();
      priorities.push_back(in_force.priority);
    },
    "group");
  engine.add(engine.fifo_callback("high", 1, 50), "group");
  CallbackOptions another = engine.fifo_callback("another", 0, 41);
  another.attributes.scheduling_policy = SchedulingPolicy::kRoundRobin;
  engine.add(std::move(another));
  bool is_armed = false;
  std::unique_ptr<Thread> notifier;
  engine.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
    if (is_armed && point == SimPlatform::Point::kApply && thread.rfind("rclrt worker", 0) == 0) {
      is_armed = false;
      const auto body = [&] { engine.notify("high"); };
      engine.start("notifier", fifo(98), body, &notifier);
    }
  });
  SimPlatform::Counts warm;
  SimPlatform::Counts after;
  engine.run(50, {}, [&] {
    engine.until(1);
    engine.sim.refuse({SchedulingPolicy::kRoundRobin});
    is_armed = true;
    engine.notify("refused");
    engine.until(5);
    engine.notify("refused");
    engine.notify("another");
    engine.until(10);
    warm = engine.sim.counts();
    engine.notify("refused");
    engine.until(15);
    after = engine.sim.counts();
    notifier->join();
  });
  EXPECT_FALSE(is_armed);
  EXPECT_EQ(priorities, (std::vector<int>{50, 0, 0})) << "what waits lends all the same";
  EXPECT_EQ(after.apply, warm.apply) << "what was refused is not asked for again";
  const std::vector<Finding> findings = engine.engine.findings();
  for (const std::string subject : {"refused", "another"}) {
    EXPECT_EQ(
      std::count_if(
        findings.begin(), findings.end(),
        [&subject](const Finding & finding) {
          return finding.subject == subject && finding.error_number == EPERM;
        }),
      1)
      << subject;
  }
}

}  // namespace
}  // namespace rclrt_core
