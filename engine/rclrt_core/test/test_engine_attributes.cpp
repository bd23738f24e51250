// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Scheduling attributes: in force before user code runs, and a finding when the OS refuses.

#include <cerrno>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

struct Observed
{
  SchedulingPolicy scheduling_policy = SchedulingPolicy::kUnchanged;
  int priority = 0;
  std::vector<int> cpus;
};

/// A callback that notes what is in force on its own thread.
CallbackOptions observing(
  EngineOnSim & engine, const std::string & name, const Attributes & attributes, Observed * seen)
{
  CallbackOptions options = engine.callback_options(name, {});
  options.attributes = attributes;
  options.run = [&engine, seen](const Job &) {
    const Attributes in_force = engine.in_force();
    if (seen) {
      *seen = {in_force.scheduling_policy, in_force.priority, in_force.cpu_affinity.cpus()};
    }
    return true;
  };
  return options;
}

TEST(Attributes, are_in_force_before_the_first_callback_runs_under_every_model)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOptions options;
    options.model = execution_model;
    EngineOnSim engine(options, 2);
    Observed real_time;
    Observed plain;
    Attributes wanted = fifo(33);
    wanted.cpu_affinity = CpuSet(std::vector<int>{1});
    engine.add(observing(engine, "real-time", wanted, &real_time));
    engine.add(observing(engine, "plain", {}, &plain));
    engine.run(50, {{1, "real-time"}, {2, "plain"}, {3, "real-time"}, {4, "plain"}});
    EXPECT_EQ(real_time.scheduling_policy, SchedulingPolicy::kFifo);
    EXPECT_EQ(real_time.priority, 33);
    EXPECT_EQ(real_time.cpus, std::vector<int>{1});
    EXPECT_EQ(plain.scheduling_policy, SchedulingPolicy::kOther)
      << "nothing of the previous job is left";
    EXPECT_EQ(plain.cpus, (std::vector<int>{0, 1}));
  }
}

TEST(Attributes, of_the_group_apply_where_the_callback_has_none)
{
  EngineOnSim engine;
  engine.group("group", 1, {}, fifo(21));
  Observed seen;
  engine.add(observing(engine, "a", {}, &seen), "group");
  engine.run(20, {{1, "a"}});
  EXPECT_EQ(seen.priority, 21);
}

/// Counts the moves of threads to other CPUs by themselves, and those made while they hold a mutex.
class MovesWatched : public SimPlatform
{
public:
  using SimPlatform::SimPlatform;
  std::unique_ptr<Mutex> make_mutex() override
  {
    return std::make_unique<Counted>(SimPlatform::make_mutex());
  }
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    const bool is_away = attributes.cpu_affinity == CpuSet({1});
    if (leaves_out && (is_away || attributes.cpu_affinity == CpuSet({0, 1}))) {
      Attributes others = attributes;
      others.cpu_affinity = CpuSet({0});
      const int error = SimPlatform::apply(thread, others);
      return error != 0 ? error : kCpusLeftOut;
    }
    if (thread == current_thread() && !attributes.cpu_affinity.empty()) {
      if (refuses_moves && is_away) {
        return EINVAL;
      }
      ++moves;
      moves_with_a_mutex += Counted::held > 0 ? 1 : 0;
    }
    return SimPlatform::apply(thread, attributes);
  }
  bool refuses_moves = false;
  bool leaves_out = false;  // CPU 1, whoever asks for whom
  int moves = 0;
  int moves_with_a_mutex = 0;

private:
  struct Counted : Mutex
  {
    explicit Counted(std::unique_ptr<Mutex> counted) : mutex(std::move(counted)) {}
    void lock() noexcept override
    {
      mutex->lock();
      ++held;
    }
    void unlock() noexcept override
    {
      --held;
      mutex->unlock();
    }
    static inline thread_local int held = 0;
    const std::unique_ptr<Mutex> mutex;
  };
};

/// A pool of one thread with a callback for each of two CPUs. The second one comes while the first runs, or
/// `late`, when the thread sleeps.
struct TwoCpus : EngineOn<MovesWatched>
{
  TwoCpus() : EngineOn(pool(1), 2) {}

  void run()
  {
    for (const int cpu : {0, 1}) {
      CallbackOptions options = fifo_callback("on " + std::to_string(cpu), 0, 10);
      options.attributes.cpu_affinity = cpu == 0 && leaves_out ? CpuSet() : CpuSet({cpu});
      add(std::move(options), [this] {
        ran_on.push_back(sim.current_cpu());
        ran_with.push_back(in_force().scheduling_policy);
        work(2);
      });
    }
    EngineOn::run(leaves_out ? 15 : 10, {}, [&] {
      until(1);
      notify("on 0");
      until(2);
      sim.refuses_moves = refuses;
      sim.leaves_out = leaves_out;
      until(late ? 5 : 2);
      notify("on 1");
      if (leaves_out) {
        until(10);
        notify("on 0");
      }
    });
  }

  bool refuses = false;
  bool leaves_out = false;
  bool late = false;
  std::vector<int> ran_on;
  std::vector<SchedulingPolicy> ran_with;
};

// It may have to wait for the other CPU, and everybody would wait with it.
TEST(Attributes, a_thread_that_moves_to_another_cpu_holds_no_lock)
{
  TwoCpus t;
  t.run();
  EXPECT_EQ(t.ran_on, (std::vector<int>{0, 1}));
  EXPECT_GE(t.sim.moves, 1);
  EXPECT_EQ(t.sim.moves_with_a_mutex, 0);
}

TEST(Refusal, of_cpus_leaves_the_priority_and_is_told)
{
  TwoCpus t;
  t.refuses = true;
  t.run();
  EXPECT_EQ(
    t.ran_with, (std::vector<SchedulingPolicy>{SchedulingPolicy::kFifo, SchedulingPolicy::kFifo}));
  const std::vector<Finding> findings = t.engine.findings();
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding & finding) {
    return finding.subject == "on 1" && finding.error_number == EINVAL;
  }));
}

// Told by the thread itself, though the one that wakes it may have asked for it. "on 0" has no CPUs of its own
// here, so all that are there are what it asked for.
TEST(Refusal, of_a_cpu_that_has_gone_leaves_the_priority_and_is_told_of_who_asked_for_it)
{
  for (const bool late : {false, true}) {
    TwoCpus t;
    t.leaves_out = true;
    t.late = late;
    t.run();
    EXPECT_EQ(t.ran_on.size(), 3U) << late;
    EXPECT_EQ(t.ran_with, std::vector<SchedulingPolicy>(3, SchedulingPolicy::kFifo)) << late;
    std::string told;
    for (const Finding & finding : t.engine.findings()) {
      told += finding.error_number == kCpusLeftOut ? finding.subject + "; " : "";
    }
    EXPECT_EQ(told, "on 1; ") << late;
  }
}

TEST(Inline, a_callback_with_attributes_that_runs_without_them_is_a_finding)
{
  EngineOnSim engine;
  engine.add(observing(engine, "plain", {}, nullptr));
  Observed seen;
  engine.add(observing(engine, "urgent", fifo(10), &seen));
  const auto told = [&] {
    const std::vector<Finding> findings = engine.engine.findings();
    return std::count_if(findings.begin(), findings.end(), [](const Finding & finding) {
      return finding.subject == "urgent" && finding.fix == "Attributes are in force under spin().";
    });
  };
  engine.on_sim([&] {
    engine.notify("plain");
    EXPECT_TRUE(engine.engine.run_one(at_ms(0)));
    EXPECT_EQ(told(), 0);
    for (int i = 0; i < 2; ++i) {
      engine.notify("urgent");
      EXPECT_TRUE(engine.engine.run_one(at_ms(0)));
      EXPECT_EQ(told(), 1) << "once";
    }
  });
}

TEST(Attributes, the_thread_that_spins_gets_its_own_back)
{
  EngineOnSim engine(with_model(ExecutionModel::kPriorityEvents));
  Observed seen;
  engine.add(observing(engine, "a", fifo(50), &seen));
  engine.on_sim([&] {
    std::unique_ptr<Thread> spinner;
    Attributes own;
    own.scheduling_policy = SchedulingPolicy::kOther;
    own.nice = 5;
    engine.start(
      "spinner", own,
      [&] {
        EXPECT_TRUE(engine.engine.spin().ok());
        const Attributes after = engine.in_force();
        EXPECT_EQ(after.scheduling_policy, SchedulingPolicy::kOther);
        EXPECT_EQ(after.nice, 5);
      },
      &spinner);
    engine.until(1);
    engine.notify("a");
    engine.until(5);
    engine.engine.stop();
    spinner->join();
  });
  EXPECT_EQ(seen.priority, 50);
}

TEST(Attributes, can_be_changed_while_spinning_from_the_next_job_on)
{
  EngineOnSim engine;
  Observed seen;
  engine.add(observing(engine, "a", fifo(10), &seen));
  engine.run(20, {{1, "a"}, {5, "a"}}, [&] {
    engine.until(3);
    EXPECT_EQ(seen.priority, 10);
    EXPECT_TRUE(engine.engine.set_attributes(engine.callbacks.at("a"), fifo(77)).ok());
    EXPECT_FALSE(engine.engine.set_attributes(engine.callbacks.at("a"), fifo(100)).ok());
  });
  EXPECT_EQ(seen.priority, 77);
}

void run_on_an_urgent_thread(EngineOnSim & engine, const std::function<void()> & script)
{
  engine.spinner = fifo(50);
  engine.run(20, {}, [&] {
    engine.until(1);
    script();
  });
}

TEST(Attributes, of_the_thread_that_spins_are_nobodys_own)
{
  EngineOnSim engine;
  std::map<std::string, int> priorities;
  std::map<std::string, Observed> seen;
  const auto add = [&](const std::string & name) {
    CallbackOptions options = observing(engine, name, {}, &seen[name]);
    options.run = [&priorities, name, observe = options.run](const Job & job) {
      priorities[name] = job.priority;
      return observe(job);
    };
    engine.add(options);
  };
  add("before");
  run_on_an_urgent_thread(engine, [&] {
    add("while it spins");
    for (const auto & [name, callback] : engine.callbacks) {
      EXPECT_EQ(engine.engine.attributes(*callback), Attributes()) << name;
      engine.engine.notify(*callback);
    }
  });
  EXPECT_EQ(priorities, (std::map<std::string, int>{{"before", 0}, {"while it spins", 0}}));
  for (const auto & [name, observed] : seen) {
    EXPECT_EQ(observed.scheduling_policy, SchedulingPolicy::kFifo) << name;
    EXPECT_EQ(observed.priority, 50) << name;
  }
}

TEST(Attributes, of_the_thread_that_spins_are_raised_by_who_publishes)
{
  EngineOnSim engine;
  Observed seen;
  CallbackOptions sink = observing(engine, "sink", {}, &seen);
  sink.inherit_priority = true;
  engine.add(sink);
  engine.add(engine.fifo_callback("publisher", 0, 80), [&] { engine.notify("sink"); });
  run_on_an_urgent_thread(engine, [&] { engine.notify("publisher"); });
  EXPECT_EQ(seen.priority, 80);
}

TEST(Attributes, that_are_changed_change_the_rank_of_a_job_that_waits)
{
  EngineOnSim engine(with_model(ExecutionModel::kPriorityEvents));
  const auto add = [&engine](const std::string & name, int priority) {
    engine.add(engine.fifo_callback(name, 5, priority));
  };
  add("busy", 90);
  add("a", 10);
  add("b", 20);
  const Lines jobs = engine.run(50, {{1, "busy"}, {2, "a"}, {2, "b"}}, [&] {
    engine.until(3);
    EXPECT_TRUE(engine.engine.set_attributes(engine.callbacks.at("a"), fifo(77)).ok());
  });
  EXPECT_EQ(jobs, (Lines{"1-1-6 busy", "2-6-11 a", "2-11-16 b"}));
}

TEST(TimerThread, attributes_can_be_changed_before_and_while_it_runs)
{
  EngineOnSim engine;
  Attributes impossible = fifo(100);
  EXPECT_FALSE(engine.engine.set_timer_thread(impossible).ok());
  EXPECT_TRUE(engine.engine.set_timer_thread(fifo(41)).ok());
  engine.run(20, {}, [&] {
    engine.until(1);
    EXPECT_EQ(engine.engine.threads().front().in_force.priority, 41);
    EXPECT_TRUE(engine.engine.set_timer_thread(fifo(42)).ok());
    EXPECT_EQ(engine.engine.threads().front().in_force.priority, 42);
  });
}

TEST(Refusal, is_a_finding_that_names_the_callback_and_it_runs_all_the_same)
{
  EngineOnSim engine;
  engine.sim.refuse({SchedulingPolicy::kFifo});
  Observed seen;
  engine.add(observing(engine, "a", fifo(10), &seen));
  SimPlatform::Counts warm;
  SimPlatform::Counts after;
  engine.run(50, {}, [&] {
    engine.until(1);
    engine.notify("a");
    engine.until(5);
    warm = engine.sim.counts();
    engine.notify("a");
    engine.until(10);
    after = engine.sim.counts();
  });
  EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kOther);
  EXPECT_EQ(engine.statistics("a").executed, 2u);
  EXPECT_EQ(after.apply, warm.apply) << "what was refused is not asked for again";
  bool found = false;
  for (const Finding & finding : engine.engine.findings()) {
    found |= finding.subject == "a" && finding.error_number == EPERM && !finding.fix.empty();
  }
  EXPECT_TRUE(found);
}

TEST(Refusal, leaves_nothing_of_what_the_thread_had_before)
{
  EngineOnSim engine(with_model(ExecutionModel::kPriorityEvents), 2);
  Observed first;
  Observed refused;
  engine.add(observing(engine, "first", fifo(90), &first));
  engine.run(50, {}, [&] {
    engine.until(1);
    engine.sim.refuse({SchedulingPolicy::kRoundRobin});
    Attributes wanted = fifo(10);
    wanted.scheduling_policy = SchedulingPolicy::kRoundRobin;
    wanted.cpu_affinity = CpuSet(std::vector<int>{1});
    engine.add(observing(engine, "refused", wanted, &refused));
    engine.notify("first");
    engine.sim.sleep_for(milliseconds(1));
    engine.notify("refused");
    engine.sim.sleep_for(milliseconds(1));
  });
  EXPECT_EQ(first.priority, 90);
  EXPECT_EQ(engine.engine.findings().size(), 1u);
  EXPECT_EQ(refused.scheduling_policy, SchedulingPolicy::kOther);
  EXPECT_EQ(refused.cpus, (std::vector<int>{0, 1}));
}

TEST(Refusal, while_spinning_is_found_at_the_first_job_and_told_once)
{
  EngineOnSim engine;
  Observed seen;
  engine.run(50, {}, [&] {
    engine.until(1);
    engine.sim.refuse({SchedulingPolicy::kFifo});
    engine.add(observing(engine, "late", fifo(10), &seen));
    for (int i = 0; i < 3; ++i) {
      engine.notify("late");
      engine.sim.sleep_for(milliseconds(1));
    }
  });
  EXPECT_EQ(engine.statistics("late").executed, 3u);
  int found = 0;
  for (const Finding & finding : engine.engine.findings()) {
    found += finding.subject == "late" ? 1 : 0;
  }
  EXPECT_EQ(found, 1);
}

TEST(Refusal, fails_spin_when_attributes_are_required)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kRequire;
  EngineOnSim engine(options);
  engine.sim.refuse({SchedulingPolicy::kFifo});
  Observed seen;
  engine.add(observing(engine, "a", fifo(10), &seen));
  engine.run(20, {{1, "a"}});
  EXPECT_FALSE(engine.spin_status.ok());
  EXPECT_EQ(engine.statistics("a").executed, 0u);
}

TEST(Off, never_asks_the_operating_system)
{
  for (const ExecutionModel model : kModels) {
    EngineOptions options;
    options.model = model;
    options.attributes_mode = AttributesMode::kOff;
    EngineOnSim engine(options);
    Observed seen;
    engine.add(observing(engine, "a", fifo(10), &seen));
    CallbackOptions timer = engine.fifo_callback("b", 1, 20);
    TimerOptions every_5_ms;
    every_5_ms.period = milliseconds(5);
    engine.add_timer(std::move(timer), every_5_ms);
    std::vector<ThreadReport> threads;
    engine.run(20, {{1, "a"}}, [&] {
      engine.until(10);
      EXPECT_TRUE(engine.engine.set_attributes(engine.callbacks.at("a"), fifo(30)).ok());
      EXPECT_TRUE(engine.engine.set_timer_thread(fifo(96)).ok());
      threads = engine.engine.threads();
    });
    EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kOther);
    EXPECT_EQ(engine.statistics("b").executed, 3u);
    EXPECT_EQ(engine.sim.counts().apply, 0) << to_string(model);
    EXPECT_FALSE(threads.empty());
    for (const ThreadReport & thread : threads) {
      // Not what they were started with, either.
      EXPECT_EQ(thread.in_force.scheduling_policy, SchedulingPolicy::kOther) << thread.name;
    }
    EXPECT_TRUE(engine.engine.findings().empty());
  }
}

}  // namespace
}  // namespace rclrt_core
