// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Jobs on the thread that brings their work: docs/decisions/0013-inline.md.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "engine_on_sim.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

using Lines = std::vector<std::string>;

/// Callbacks that write down where and when they begin and end, in microseconds.
struct Scene
{
  explicit Scene(EngineOptions options = {}, int cpus = 2)
  : sim(cpus), engine(sim, std::move(options))
  {
  }

  struct One
  {
    std::string name;
    Duration work;
    Duration bound = milliseconds(1);  // 0: not inline
    Attributes attributes{};
    std::string group{};  // empty: of its own
    std::function<void()> also{};
  };

  void add(const One & one)
  {
    std::shared_ptr<Group> & group = groups[one.group.empty() ? one.name : one.group];
    if (!group) {
      GroupOptions options;
      options.name = one.group.empty() ? one.name : one.group;
      ASSERT_TRUE(engine.add_group(options, &group).ok());
    }
    CallbackOptions options;
    options.name = one.name;
    options.depth = 100;
    options.attributes = one.attributes;
    options.inline_bound = one.bound;
    options.run = [this, one](const Job &) {
      const std::string where = sim.current_thread() == bringer ? " inline" : " queued";
      const auto now = [this] {
        return std::to_string(sim.now().time_since_epoch() / microseconds(1));
      };
      most = std::max(most, ++runs_now);
      const std::string from = now();
      if (one.also) {
        one.also();
      }
      sim.work(one.work);
      --runs_now;
      jobs.push_back(from + "-" + now() + " " + one.name + where);
      return true;
    };
    const Status added = engine.add_callback(std::move(options), group, &callbacks[one.name]);
    ASSERT_TRUE(added.ok()) << added.message();
  }

  void bring(const std::string & name, std::size_t count = 1)
  {
    const Delivery delivery(&has);
    engine.notify(*callbacks.at(name), count);
  }

  /// `script` on the thread that brings.
  void run(const std::function<void()> & script, Duration duration = milliseconds(50))
  {
    const Status status = sim.run([&] {
      std::unique_ptr<Thread> spinner;
      std::unique_ptr<Thread> middleware;
      start("spinner", {}, [this] { spun = engine.spin(); }, &spinner);
      start(
        "middleware", has,
        [&] {
          bringer = sim.current_thread();
          sim.sleep_until(TimePoint(milliseconds(1)));
          script();
        },
        &middleware);
      sim.sleep_until(TimePoint(duration));
      engine.stop();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(spun.ok()) << spun.message();
  }

  void start(
    const std::string & name, const Attributes & attributes, std::function<void()> body,
    std::unique_ptr<Thread> * thread)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    ASSERT_TRUE(sim.start_thread(options, std::move(body), {}, thread).ok());
  }

  CallbackStatistics statistics(const std::string & name)
  {
    return engine.statistics(*callbacks.at(name));
  }
  std::size_t findings_about(const std::string & text)
  {
    std::size_t count = 0;
    for (const Finding & finding : engine.findings()) {
      count += to_string(finding).find(text) != std::string::npos ? 1 : 0;
    }
    return count;
  }

  SimPlatform sim;
  Engine engine;
  Attributes has = fifo(98);
  std::map<std::string, std::shared_ptr<Group>> groups;
  std::map<std::string, std::shared_ptr<Callback>> callbacks;
  ThreadId bringer = 0;
  Lines jobs;
  int runs_now = 0;
  int most = 0;
  Status spun;
};

EngineOptions with_model(ExecutionModel model)
{
  EngineOptions options;
  options.model = model;
  return options;
}

// ---- When a job runs where its work arrives

TEST(Inline, a_job_runs_on_the_thread_that_brings_its_work_under_every_model)
{
  for (const ExecutionModel model :
       {ExecutionModel::kPool, ExecutionModel::kIsolated, ExecutionModel::kEvents}) {
    Scene scene(with_model(model));
    scene.add({"a", microseconds(100)});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline"})) << to_string(model);
    EXPECT_EQ(scene.statistics("a").inlined, 1U);
    EXPECT_EQ(scene.statistics("a").executed, 1U);
    EXPECT_EQ(scene.statistics("a").over_bound, 0U);
  }
}

TEST(Inline, a_callback_that_does_not_ask_for_it_is_queued)
{
  Scene scene;
  scene.add({"a", microseconds(100), Duration{0}});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued"}));
}

TEST(Inline, nothing_is_run_without_a_delivery_or_in_one_of_a_thread_that_may_run_nothing)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    scene.engine.notify(*scene.callbacks["a"]);
    scene.sim.sleep_for(milliseconds(1));
    const Delivery outer(&scene.has);
    const Delivery delivery(nullptr);
    scene.engine.notify(*scene.callbacks["a"]);
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued", "2000-2100 a queued"}));
}

TEST(Inline, a_publication_runs_nothing)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    const Publication publication;
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued"}));
}

TEST(Inline, a_job_that_brings_work_runs_none_of_it)
{
  Scene scene;
  scene.add({"b", microseconds(100)});
  scene.add({"a", microseconds(300), milliseconds(1), {}, "", [&] { scene.bring("b"); }});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 b queued", "1000-1300 a inline"}));
}

TEST(Inline, of_several_units_of_work_the_first_runs_and_the_others_are_queued)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] { scene.bring("a", 3); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline", "1100-1200 a queued", "1200-1300 a queued"}));
}

TEST(Inline, one_delivery_runs_one_job)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.add({"b", microseconds(100)});
  scene.run([&] {
    const Delivery delivery(&scene.has);
    scene.engine.notify(*scene.callbacks["a"]);
    scene.engine.notify(*scene.callbacks["b"]);
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline", "1000-1100 b queued"}));
}

// ---- When it is queued as ever

TEST(Inline, a_job_of_a_busy_group_is_queued)
{
  Scene scene;
  scene.add({"busy", milliseconds(2), Duration{0}, {}, "both"});
  scene.add({"a", microseconds(100), milliseconds(1), {}, "both"});
  scene.run([&] {
    scene.bring("busy");
    scene.sim.sleep_for(milliseconds(1));
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-3000 busy queued", "3000-3100 a queued"}));
}

TEST(Inline, a_job_is_queued_while_a_more_urgent_one_runs_and_not_while_a_less_urgent_one_does)
{
  for (const int other : {10, 60}) {
    Scene scene;
    scene.add({"other", milliseconds(2), Duration{0}, fifo(other)});
    scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
    scene.run([&] {
      scene.bring("other");
      scene.sim.sleep_for(milliseconds(1));
      scene.bring("a");
    });
    EXPECT_EQ(scene.statistics("a").inlined, other == 10 ? 1U : 0U);
  }
}

TEST(Inline, a_job_is_queued_while_a_more_urgent_one_waits_in_any_lane)
{
  for (const ExecutionModel model : {ExecutionModel::kPool, ExecutionModel::kIsolated}) {
    Scene scene(with_model(model), 1);
    scene.add({"urgent", microseconds(100), Duration{0}, fifo(60)});
    scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
    scene.run([&] {
      scene.bring("urgent");  // it waits: this thread has the only CPU
      scene.bring("a");
    });
    EXPECT_EQ(scene.jobs, (Lines{"1000-1100 urgent queued", "1100-1200 a queued"}))
      << to_string(model);
  }
}

TEST(Inline, a_job_of_equal_urgency_that_came_before_goes_first)
{
  Scene scene({}, 1);
  scene.add({"before", microseconds(100), Duration{0}, fifo(50)});
  scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
  scene.run([&] {
    scene.bring("before");
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 before queued", "1100-1200 a queued"}));
}

TEST(Inline, a_thread_that_is_less_urgent_than_the_callback_does_not_run_it)
{
  Scene scene;
  scene.has = fifo(40);
  scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued"}));
}

TEST(Inline, without_attributes_in_force_the_urgency_of_the_thread_does_not_matter)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kOff;
  Scene scene(options);
  scene.has = {};
  scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline"}));
}

TEST(Inline, a_callback_that_asks_for_cpus_or_a_budget_is_queued)
{
  Attributes cpus = fifo(50);
  cpus.cpu_affinity = CpuSet({1});
  Attributes budget;
  budget.policy = SchedulingPolicy::kDeadline;
  budget.runtime = milliseconds(1);
  budget.deadline = budget.period = milliseconds(10);
  for (const Attributes & attributes : {cpus, budget}) {
    Scene scene;
    scene.has = budget;
    scene.add({"a", microseconds(100), milliseconds(1), attributes});
    scene.has = fifo(98);
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(scene.statistics("a").inlined, 0U);
    EXPECT_EQ(scene.statistics("a").executed, 1U);
  }
}

TEST(Inline, only_one_job_runs_like_that_in_the_process)
{
  Scene scene({}, 4);
  EngineOptions options;
  Engine other(scene.sim, options);
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group({}, &group).ok());
  std::shared_ptr<Callback> callback;
  CallbackOptions of_other;
  of_other.name = "other";
  of_other.inline_bound = milliseconds(1);
  of_other.run = [&](const Job &) {
    scene.sim.work(milliseconds(1));
    return true;
  };
  ASSERT_TRUE(other.add_callback(of_other, group, &callback).ok());
  scene.add({"a", milliseconds(1)});
  scene.add({"b", milliseconds(1)});
  std::unique_ptr<Thread> spins;
  std::unique_ptr<Thread> second;
  scene.run([&] {
    scene.start("spins", {}, [&] { EXPECT_TRUE(other.spin().ok()); }, &spins);
    scene.sim.sleep_for(milliseconds(5));
    scene.start(
      "second", scene.has,
      [&] {
        scene.sim.sleep_for(microseconds(200));
        const Delivery delivery(&scene.has);
        other.notify(*callback);
        scene.engine.notify(*scene.callbacks["b"]);
      },
      &second);
    scene.bring("a");
    scene.sim.sleep_for(milliseconds(5));
    scene.bring("b");
    other.stop();
    second.reset();
    spins.reset();
  });
  EXPECT_EQ(scene.statistics("a").inlined, 1U);
  EXPECT_EQ(other.statistics(*callback).inlined, 0U);
  EXPECT_EQ(other.statistics(*callback).executed, 1U);
  EXPECT_EQ(scene.statistics("b").inlined, 1U) << "the first was queued, the second not";
  EXPECT_EQ(scene.statistics("b").executed, 2U);
}

// ---- It takes the place of a thread

TEST(Inline, an_executor_with_one_thread_runs_nothing_else_meanwhile_and_goes_on_afterwards)
{
  EngineOptions one = with_model(ExecutionModel::kPool);
  one.min_threads = one.max_threads = 1;
  for (const EngineOptions & options : {one, with_model(ExecutionModel::kEvents)}) {
    Scene scene(options);
    scene.add({"other", microseconds(100), Duration{0}});
    scene.add({"third", microseconds(100), Duration{0}});
    scene.add({"a", milliseconds(1), milliseconds(1), {}, "", [&] {
                 scene.engine.notify(*scene.callbacks["other"]);
                 scene.engine.notify(*scene.callbacks["third"]);
               }});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(
      scene.jobs,
      (Lines{"1000-2000 a inline", "2000-2100 other queued", "2100-2200 third queued"}));
    EXPECT_EQ(scene.most, 1);
  }
}

TEST(Inline, if_all_threads_have_something_to_do_the_job_is_queued)
{
  Scene scene(with_model(ExecutionModel::kEvents));
  scene.add({"busy", milliseconds(2), Duration{0}});
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    scene.bring("busy");
    scene.sim.sleep_for(milliseconds(1));
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-3000 busy queued", "3000-3100 a queued"}));
}

// ---- The bound

TEST(Inline, a_job_over_the_bound_counts_and_the_first_one_is_told)
{
  Scene scene;
  scene.add({"a", microseconds(1500)});
  scene.run([&] {
    for (int i = 0; i < 2; ++i) {
      scene.bring("a");
    }
  });
  EXPECT_EQ(scene.statistics("a").inlined, 2U);
  EXPECT_EQ(scene.statistics("a").over_bound, 2U);
  EXPECT_EQ(scene.findings_about("a: took 1500 us on the middleware's thread"), 1U);
}

TEST(Inline, a_callback_that_waits_exceeds_its_bound_although_it_uses_no_cpu)
{
  Scene scene;
  scene.add(
    {"a", Duration{0}, milliseconds(1), {}, "", [&] { scene.sim.sleep_for(milliseconds(2)); }});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.statistics("a").over_bound, 1U);
}

TEST(Inline, a_callback_that_often_exceeds_its_bound_is_queued_from_then_on_and_that_is_told)
{
  Scene scene;
  scene.add({"a", microseconds(1500)});
  scene.run([&] {
    for (int i = 0; i < 10; ++i) {
      scene.bring("a");
      scene.sim.sleep_for(milliseconds(3));
    }
  });
  EXPECT_EQ(scene.statistics("a").executed, 10U);
  EXPECT_EQ(scene.statistics("a").inlined, 5U);
  EXPECT_EQ(scene.findings_about("from now on it is queued"), 1U);
}

TEST(Inline, a_callback_that_exceeds_its_bound_once_in_a_while_stays_inline)
{
  Scene scene;
  int number = 0;
  scene.add({"a", microseconds(10), microseconds(20), {}, "", [&] {
               scene.sim.work(number++ % 100 == 0 ? microseconds(50) : microseconds(0));
             }});
  scene.run(
    [&] {
      for (int i = 0; i < 1000; ++i) {
        scene.bring("a");
      }
    },
    milliseconds(100));
  EXPECT_EQ(scene.statistics("a").over_bound, 10U);
  EXPECT_EQ(scene.statistics("a").inlined, 1000U);
}

// ---- The trace

TEST(Inline, the_record_of_the_job_names_the_thread_that_ran_it)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] { scene.bring("a"); });
  std::vector<uint32_t> threads;
  scene.engine.read_trace([&](const rclrt_job_record & record) {
    threads.push_back(record.thread);
    EXPECT_EQ(record.waited_for, RCLRT_WAITED_FOR_NOTHING);
  });
  EXPECT_EQ(threads, (std::vector<uint32_t>{static_cast<uint32_t>(scene.bringer)}));
}

// ---- Beginning and end

TEST(Inline, nothing_is_inline_before_spinning_and_after_it)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.bringer = 1;
  scene.bring("a");
  EXPECT_EQ(scene.statistics("a").inlined, 0U);
  scene.run([&] {}, milliseconds(5));
  scene.bring("a");
  EXPECT_EQ(scene.statistics("a").inlined, 0U);
  EXPECT_EQ(scene.statistics("a").executed, 1U);
}

TEST(Inline, the_end_of_spinning_waits_for_the_job)
{
  for (const ExecutionModel model : {ExecutionModel::kPool, ExecutionModel::kEvents}) {
    Scene scene(with_model(model));
    bool has_ended = false;
    scene.add({"a", milliseconds(3), milliseconds(1), {}, "", [&] { scene.engine.stop(); }});
    scene.add({"b", milliseconds(3)});
    const Status status = scene.sim.run([&] {
      std::unique_ptr<Thread> spinner;
      std::unique_ptr<Thread> middleware;
      scene.start(
        "spinner", {},
        [&] {
          EXPECT_TRUE(scene.engine.spin().ok());
          has_ended = scene.jobs.size() == 1;
        },
        &spinner);
      scene.start(
        "middleware", scene.has,
        [&] {
          scene.bringer = scene.sim.current_thread();
          scene.sim.sleep_until(at_ms(1));
          scene.bring("a");
          scene.bring("b");
        },
        &middleware);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(has_ended) << to_string(model);
    EXPECT_EQ(scene.jobs, (Lines{"1000-4000 a inline"}));
  }
}

TEST(Inline, who_waits_for_the_callback_to_be_idle_waits_for_the_job)
{
  Scene scene;
  scene.add({"a", milliseconds(3)});
  std::unique_ptr<Thread> remover;
  int64_t removed_at_ms = 0;
  scene.run([&] {
    scene.start(
      "remover", fifo(97),
      [&] {
        scene.sim.sleep_for(milliseconds(1));
        scene.engine.remove(scene.callbacks["a"]);
        EXPECT_TRUE(scene.engine.wait_until_idle(scene.callbacks["a"]));
        removed_at_ms = scene.sim.now().time_since_epoch() / milliseconds(1);
      },
      &remover);
    scene.bring("a");
    remover.reset();
  });
  EXPECT_EQ(removed_at_ms, 4);
}

TEST(Inline, what_the_callback_throws_stops_the_engine_and_does_not_reach_the_thread)
{
  Scene scene;
  scene.add({"a", Duration{0}, milliseconds(1), {}, "", [] { throw std::runtime_error("no"); }});
  bool went_on = false;
  scene.run([&] {
    scene.bring("a");
    went_on = true;
  });
  EXPECT_TRUE(went_on);
  EXPECT_NE(scene.engine.take_exception(), nullptr);
  EXPECT_EQ(scene.statistics("a").exceptions, 1U);
}

// ---- Bad input

TEST(Inline, timers_reentrant_groups_and_negative_bounds_are_errors_that_say_so)
{
  SimPlatform sim;
  Engine engine(sim, {});
  GroupOptions reentrant;
  reentrant.name = "many";
  reentrant.parallelism = 2;
  std::shared_ptr<Group> many;
  std::shared_ptr<Group> one;
  ASSERT_TRUE(engine.add_group(reentrant, &many).ok());
  ASSERT_TRUE(engine.add_group({}, &one).ok());
  CallbackOptions options;
  options.name = "a";
  options.run = [](const Job &) { return true; };
  options.inline_bound = milliseconds(1);
  std::shared_ptr<Callback> callback;
  EXPECT_NE(
    engine.add_timer(options, {}, one, &callback).message().find("it cannot be inline"),
    std::string::npos);
  EXPECT_NE(
    engine.add_callback(options, many, &callback).message().find("'many' is reentrant"),
    std::string::npos);
  options.inline_bound = Duration{-1};
  EXPECT_NE(
    engine.add_callback(options, one, &callback).message().find("is negative"), std::string::npos);
}

// ---- Many at once

TEST(Inline, random_systems_run_every_job_once_and_keep_groups_and_places)
{
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::minstd_rand random(seed + 1);
    const auto below = [&random](unsigned limit) { return random() % limit; };
    EngineOptions options;
    options.model = static_cast<ExecutionModel>(below(3));
    options.max_threads = 1 + below(3);
    options.min_threads = 1;
    const std::size_t places = options.model == ExecutionModel::kPool     ? options.max_threads
                               : options.model == ExecutionModel::kEvents ? 1
                                                                          : 4;
    Scene scene(options, static_cast<int>(1 + below(3)));
    std::map<std::string, int> in_group;
    const std::size_t count = 2 + below(5);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string group = "group " + std::to_string(below(4));
      const Duration work = microseconds(below(900));
      scene.add(
        {"c" + std::to_string(i), Duration{0}, milliseconds(below(2) == 0 ? 0 : 2),
         fifo(static_cast<int>(1 + below(50))), group, [&scene, &in_group, group, work] {
           EXPECT_EQ(in_group[group]++, 0) << "another job of the group runs";
           scene.sim.work(work);
           --in_group[group];
         }});
    }
    uint64_t brought = 0;
    std::unique_ptr<Thread> second;
    const auto bring_some = [&] {
      for (int i = 0; i < 50; ++i) {
        scene.bring("c" + std::to_string(below(static_cast<unsigned>(count))));
        ++brought;
        scene.sim.sleep_for(microseconds(below(700)));
      }
    };
    scene.run(
      [&] {
        scene.start("second", scene.has, bring_some, &second);
        bring_some();
        second.reset();
      },
      milliseconds(500));
    EXPECT_EQ(scene.jobs.size(), brought) << "seed " << seed;
    EXPECT_LE(scene.most, static_cast<int>(places)) << "seed " << seed;
  }
}

TEST(Inline, on_real_threads_every_job_runs_once_while_spinning_begins_and_ends)
{
  LinuxPlatform platform;
  Engine engine(platform, {});
  std::shared_ptr<Callback> callbacks[3];
  std::atomic<int> inside[3] = {};
  uint64_t plain[3] = {};  // guarded by the group alone
  for (int i = 0; i < 3; ++i) {
    GroupOptions group_options;
    group_options.name = "group " + std::to_string(i);
    std::shared_ptr<Group> group;
    ASSERT_TRUE(engine.add_group(group_options, &group).ok());
    CallbackOptions options;
    options.name = "callback " + std::to_string(i);
    options.depth = 1'000'000;
    options.inline_bound = i == 2 ? Duration{0} : Duration(std::chrono::hours(1));
    options.run = [&, i](const Job &) {
      EXPECT_EQ(inside[i].fetch_add(1), 0);
      ++plain[i];
      inside[i].fetch_sub(1);
      return true;
    };
    ASSERT_TRUE(engine.add_callback(options, group, &callbacks[i]).ok());
  }
  std::atomic<bool> done{false};
  std::thread spinner([&] {
    while (!done) {
      EXPECT_TRUE(engine.spin().ok());
    }
  });
  constexpr int kEach = 3000;
  std::vector<std::thread> bringers;
  for (int i = 0; i < 3; ++i) {
    bringers.emplace_back([&, i] {
      const Attributes none;
      for (int n = 0; n < kEach; ++n) {
        const Delivery delivery(&none);
        engine.notify(*callbacks[(i + n) % 3]);
        if (n % 500 == 0) {
          engine.stop();  // in the middle of whatever it does
        }
      }
    });
  }
  for (std::thread & bringer : bringers) {
    bringer.join();
  }
  const auto executed = [&] {
    uint64_t all = 0;
    for (const auto & callback : callbacks) {
      all += engine.statistics(*callback).executed;
    }
    return all;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (executed() < uint64_t{3} * kEach && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(executed(), uint64_t{3} * kEach);
  done = true;
  engine.stop();
  spinner.join();
  EXPECT_EQ(plain[0] + plain[1] + plain[2], uint64_t{3} * kEach);
}

}  // namespace
}  // namespace rclrt_core
