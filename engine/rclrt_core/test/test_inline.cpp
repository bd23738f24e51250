// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Jobs on the thread that brings their work: docs/decisions/engine.md#13-inline.

#include <random>
#include <stdexcept>

#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

/// Callbacks that write down where and when they begin and end, in microseconds.
struct InlineScene : EngineOnSim
{
  explicit InlineScene(EngineOptions options = {}, int cpus = 2)
  : EngineOnSim(std::move(options), cpus)
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
    CallbackOptions options;
    options.name = one.name;
    options.depth = 100;
    options.attributes = one.attributes;
    options.inline_bound = one.bound;
    const auto body = [this, one] {
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
      done.push_back(from + "-" + now() + " " + one.name + where);
    };
    EngineOnSim::add(std::move(options), body, one.group);
  }

  void bring(const std::string & name, std::size_t count = 1)
  {
    Delivery delivery(&has);
    notify(name, count, &delivery);
  }

  /// `script` on the thread that brings.
  void run(const std::function<void()> & script, int64_t duration_ms = 50)
  {
    EngineOnSim::run(duration_ms, {}, [&] {
      middleware = nullptr;
      start(
        "brings", has,
        [&] {
          bringer = sim.current_thread();
          until(1);
          script();
        },
        &middleware);
      until(duration_ms);
      engine.stop();
      middleware.reset();
    });
    EXPECT_TRUE(spin_status.ok()) << spin_status.message();
  }

  Attributes has = fifo(98);
  ThreadId bringer = 0;
  std::unique_ptr<Thread> middleware;
  Lines done;
  int runs_now = 0;
  int most = 0;
};

// ---- When a job runs where its work arrives

TEST(Inline, a_job_runs_on_the_thread_that_brings_its_work_under_every_model)
{
  for (const ExecutionModel model : kModels) {
    InlineScene scene(with_model(model));
    scene.add({"a", microseconds(100)});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(scene.done, (Lines{"1000-1100 a inline"})) << to_string(model);
    EXPECT_EQ(scene.statistics("a").inlined, 1U);
    EXPECT_EQ(scene.statistics("a").executed, 1U);
    EXPECT_EQ(scene.statistics("a").over_bound, 0U);
  }
}

/// `callbacks`: NAME WORK_US PRIORITY (0: none), then perhaps: inline; in GROUP. `brought`: their names, or "later".
void expect_run(
  const std::string & promise, const std::string & machine, const std::string & callbacks,
  const std::string & brought, const std::string & done, const Attributes & has = fifo(98))
{
  SCOPED_TRACE(promise);
  Machine place(machine);
  place.options.attributes_mode =
    has == Attributes() ? AttributesMode::kOff : AttributesMode::kPrefer;
  InlineScene scene(place.options, place.cpus);
  scene.has = has;
  for (std::istringstream & words : parts_of(callbacks)) {
    InlineScene::One one{next<std::string>(words), microseconds(next<int64_t>(words)), Duration{0}};
    const auto priority = next<int>(words);
    one.attributes = priority > 0 ? fifo(priority) : Attributes();
    for (std::string word; words >> word;) {
      one.bound = word == "inline" ? Duration(milliseconds(1)) : one.bound;
      one.group = word == "in" ? next<std::string>(words) : one.group;
    }
    scene.add(one);
  }
  scene.run([&] {
    for (std::istringstream & words : parts_of(brought)) {
      const auto name = next<std::string>(words);
      name == "later" ? scene.sim.sleep_for(milliseconds(1)) : scene.bring(name);
    }
  });
  std::string seen;
  for (const std::string & job : scene.done) {
    seen += (seen.empty() ? "" : ", ") + job;
  }
  EXPECT_EQ(seen, done);
}

TEST(Inline, a_job_is_queued_where_something_stands_against_it)
{
  expect_run("it does not ask for it", "cpus 2", "a 100 0", "a", "1000-1100 a queued");
  expect_run(
    "its group is busy", "cpus 2", "busy 2000 0 in g, a 100 0 inline in g", "busy, later, a",
    "1000-3000 busy queued, 3000-3100 a queued");
  expect_run(
    "all threads have something to do", "priority_events, cpus 2", "busy 2000 0, a 100 0 inline",
    "busy, later, a", "1000-3000 busy queued, 3000-3100 a queued");
  for (const char * model : {"preemptive", "isolated"}) {
    // The thread that brings has the only CPU.
    expect_run(
      "a more urgent one waits in any lane", model, "urgent 100 60, a 100 50 inline", "urgent, a",
      "1000-1100 urgent queued, 1100-1200 a queued");
  }
  expect_run(
    "one of equal urgency came before", "", "before 100 50, a 100 50 inline", "before, a",
    "1000-1100 before queued, 1100-1200 a queued");
  expect_run(
    "the thread is less urgent than the callback", "cpus 2", "a 100 50 inline", "a",
    "1000-1100 a queued", fifo(40));
  expect_run(
    "not if attributes are not in force", "cpus 2", "a 100 50 inline", "a", "1000-1100 a inline",
    Attributes());
}

TEST(Inline, the_first_of_several_units_of_work_runs_and_none_within_a_publication)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    scene.bring("a", 3);
    scene.until(2);
    const Publication publication;
    scene.bring("a");
  });
  EXPECT_EQ(
    scene.done,
    (Lines{
      "1000-1100 a inline", "1100-1200 a queued", "1200-1300 a queued", "2000-2100 a queued"}));
}

TEST(Inline, a_job_that_brings_work_runs_none_of_it_on_whichever_thread_it_is)
{
  for (const bool is_inline : {true, false}) {
    InlineScene scene;
    scene.add({"b", microseconds(100)});
    scene.add(
      {"a", microseconds(300), milliseconds(is_inline ? 1 : 0), {}, "", [&] { scene.bring("b"); }});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(
      scene.done,
      (Lines{
        "1000-1100 b queued", std::string("1000-1300 a ") + (is_inline ? "inline" : "queued")}));
    EXPECT_EQ(scene.statistics("b").inlined, 0U);
  }
}

TEST(Inline, nothing_is_run_without_a_delivery_or_in_one_of_a_thread_that_may_run_nothing)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    scene.notify("a");
    scene.sim.sleep_for(milliseconds(1));
    Delivery delivery(nullptr);
    scene.notify("a", 1, &delivery);
  });
  EXPECT_EQ(scene.done, (Lines{"1000-1100 a queued", "2000-2100 a queued"}));
}

TEST(Inline, one_delivery_runs_one_job)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.add({"b", microseconds(100)});
  scene.run([&] {
    Delivery delivery(&scene.has);
    scene.notify("a", 1, &delivery);
    scene.notify("b", 1, &delivery);
  });
  EXPECT_EQ(scene.done, (Lines{"1000-1100 a inline", "1000-1100 b queued"}));
}

TEST(Inline, a_job_is_queued_while_a_more_urgent_one_runs_and_not_while_a_less_urgent_one_does)
{
  for (const int other : {10, 60}) {
    InlineScene scene;
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

TEST(Inline, a_callback_that_asks_for_cpus_or_a_budget_is_queued)
{
  Attributes cpus = fifo(50);
  cpus.cpu_affinity = CpuSet({1});
  Attributes budget;
  budget.policy = SchedulingPolicy::kDeadline;
  budget.runtime = milliseconds(1);
  budget.deadline = budget.period = milliseconds(10);
  for (const Attributes & attributes : {cpus, budget}) {
    InlineScene scene;
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
  InlineScene scene({}, 4);
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
        Delivery delivery(&scene.has);
        other.notify(*callback, 1, &delivery);
        scene.notify("b", 1, &delivery);
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
  EngineOptions one = with_model(ExecutionModel::kPreemptive);
  one.max_threads = 1;
  for (const EngineOptions & options : {one, with_model(ExecutionModel::kPriorityEvents)}) {
    InlineScene scene(options);
    scene.add({"other", microseconds(100), Duration{0}});
    scene.add({"third", microseconds(100), Duration{0}});
    scene.add({"a", milliseconds(1), milliseconds(1), {}, "", [&] {
                 scene.notify("other");
                 scene.notify("third");
               }});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(
      scene.done,
      (Lines{"1000-2000 a inline", "2000-2100 other queued", "2100-2200 third queued"}));
    EXPECT_EQ(scene.most, 1);
    ASSERT_EQ(scene.ran.size(), 3u);
    for (const rclrt_job_record & record : scene.ran) {
      const bool is_inline = record.callback == scene.callbacks["a"]->id();
      EXPECT_EQ(record.waited_for, is_inline ? RCLRT_WAITED_FOR_NOTHING : RCLRT_WAITED_FOR_THREAD);
    }
  }
}

// ---- What becomes of it: the bound, the trace, the end

TEST(InlineJobs, a_job_over_the_bound_counts_and_the_first_one_is_told)
{
  InlineScene scene;
  scene.add({"a", microseconds(1500)});
  scene.run([&] {
    for (int i = 0; i < 2; ++i) {
      scene.bring("a");
    }
  });
  EXPECT_EQ(scene.statistics("a").inlined, 2U);
  EXPECT_EQ(scene.statistics("a").over_bound, 2U);
  EXPECT_EQ(scene.findings_with({"a: took 1500 us on the middleware's thread"}), 1);
}

TEST(InlineJobs, a_callback_that_waits_exceeds_its_bound_although_it_uses_no_cpu)
{
  InlineScene scene;
  scene.add(
    {"a", Duration{0}, milliseconds(1), {}, "", [&] { scene.sim.sleep_for(milliseconds(2)); }});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.statistics("a").over_bound, 1U);
}

TEST(InlineJobs, a_job_that_was_preempted_is_not_to_blame_whether_it_is_traced_or_not)
{
  for (const std::size_t trace_capacity : {1024, 0}) {
    EngineOptions options;
    options.trace_capacity = trace_capacity;
    InlineScene scene(options, 1);
    scene.add({"a", microseconds(900)});
    std::unique_ptr<Thread> other;
    scene.run([&] {
      scene.start(
        "other", fifo(99),
        [&] {
          scene.sim.sleep_for(microseconds(500));
          scene.sim.work(milliseconds(3));
        },
        &other);
      scene.bring("a");
      other.reset();
    });
    EXPECT_EQ(scene.done, (Lines{"1000-4900 a inline"}));
    EXPECT_EQ(scene.statistics("a").over_bound, 0U) << trace_capacity;
  }
}

TEST(InlineJobs, a_callback_that_often_exceeds_its_bound_is_queued_from_then_on_and_that_is_told)
{
  InlineScene scene;
  scene.add({"a", microseconds(1500)});
  scene.run([&] {
    for (int i = 0; i < 10; ++i) {
      scene.bring("a");
      scene.sim.sleep_for(milliseconds(3));
    }
  });
  EXPECT_EQ(scene.statistics("a").executed, 10U);
  EXPECT_EQ(scene.statistics("a").inlined, 5U);
  EXPECT_EQ(scene.findings_with({"from now on it is queued"}), 1);
}

TEST(InlineJobs, a_callback_that_exceeds_its_bound_once_in_a_while_stays_inline)
{
  InlineScene scene;
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
    100);
  EXPECT_EQ(scene.statistics("a").over_bound, 10U);
  EXPECT_EQ(scene.statistics("a").inlined, 1000U);
}

TEST(InlineJobs, the_record_of_the_job_names_the_thread_that_ran_it)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] { scene.bring("a"); });
  ASSERT_EQ(scene.ran.size(), 1u);
  EXPECT_EQ(scene.ran[0].thread, static_cast<uint32_t>(scene.bringer));
  EXPECT_EQ(scene.ran[0].waited_for, RCLRT_WAITED_FOR_NOTHING);
}

TEST(InlineJobs, nothing_is_inline_before_spinning_and_after_it)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.bringer = 1;
  scene.bring("a");
  EXPECT_EQ(scene.statistics("a").inlined, 0U);
  scene.run([&] {}, 5);
  scene.bring("a");
  EXPECT_EQ(scene.statistics("a").inlined, 0U);
  EXPECT_EQ(scene.statistics("a").executed, 1U);
}

TEST(InlineJobs, the_end_of_spinning_waits_for_the_job)
{
  for (const ExecutionModel model :
       {ExecutionModel::kPreemptive, ExecutionModel::kPriorityEvents}) {
    InlineScene scene(with_model(model));
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
          has_ended = scene.done.size() == 1;
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
    EXPECT_EQ(scene.done, (Lines{"1000-4000 a inline"}));
  }
}

TEST(InlineJobs, the_job_may_ask_the_engine_for_everything_while_the_end_of_spinning_waits_for_it)
{
  InlineScene scene;
  std::size_t callbacks = 0;
  const auto ask = [&] {
    scene.engine.stop();
    scene.sim.sleep_for(milliseconds(1));  // the thread that spins waits by now
    callbacks = scene.engine.callbacks().size();
  };
  scene.add({"a", Duration{0}, milliseconds(2), {}, "", ask});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(callbacks, 1U);
  EXPECT_EQ(scene.done, (Lines{"1000-2000 a inline"}));
}

TEST(InlineJobs, what_the_callback_throws_stops_the_engine_and_does_not_reach_the_thread)
{
  InlineScene scene;
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

TEST(InlineJobs, timers_reentrant_groups_and_negative_bounds_are_errors_that_say_so)
{
  EngineOnSim engine;
  engine.group("many", 2);
  CallbackOptions options = engine.callback_options("a", {});
  options.inline_bound = milliseconds(1);
  std::shared_ptr<Callback> callback;
  const Status timer = engine.engine.add_timer(options, {}, engine.group("one"), &callback);
  EXPECT_NE(timer.message().find("it cannot be inline"), std::string::npos);
  EXPECT_NE(engine.refusal(options, "many").find("'many' is reentrant"), std::string::npos);
  options.inline_bound = Duration{-1};
  EXPECT_NE(engine.refusal(options, "one").find("is negative"), std::string::npos);
}

TEST(InlineJobs, random_systems_run_every_job_once_and_keep_groups_and_places)
{
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::minstd_rand random(seed + 1);
    const auto below = [&random](unsigned limit) { return random() % limit; };
    EngineOptions options;
    options.model = static_cast<ExecutionModel>(below(3));
    options.max_threads = 1 + below(3);
    const std::size_t places = options.model == ExecutionModel::kPreemptive ? options.max_threads
                               : options.model == ExecutionModel::kPriorityEvents ? 1
                                                                                  : 4;
    InlineScene scene(options, static_cast<int>(1 + below(3)));
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
      500);
    EXPECT_EQ(scene.done.size(), brought) << "seed " << seed;
    EXPECT_LE(scene.most, static_cast<int>(places)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rclrt_core
