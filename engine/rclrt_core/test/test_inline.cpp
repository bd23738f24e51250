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
    if (notify(name, count, &has)) {
      engine.run_inline();
    }
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
    ASSERT_EQ(scene.ran.size(), 1u);
    EXPECT_EQ(scene.ran[0].thread, static_cast<uint32_t>(scene.bringer));
    EXPECT_EQ(scene.ran[0].waited_for, RCLRT_WAITED_FOR_NOTHING);
  }
}

/// `callbacks`: NAME WORK_US PRIORITY (0: none), then perhaps: inline; in GROUP. `brought`: their names, perhaps with a
/// count; "later": a millisecond passes.
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
      std::size_t count = 0;
      words >> count;
      name == "later" ? scene.sim.sleep_for(milliseconds(1))
                      : scene.bring(name, std::max<std::size_t>(count, 1));
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
  expect_run(
    "a more urgent one runs", "cpus 2", "other 2000 60, a 100 50 inline", "other, later, a",
    "2000-2100 a queued, 1000-3000 other queued");
  expect_run(
    "not if a less urgent one runs", "cpus 2", "other 2000 10, a 100 50 inline", "other, later, a",
    "2000-2100 a inline, 1000-3000 other queued");
  expect_run(
    "it is not the first of what is brought at once", "cpus 2", "a 100 0 inline", "a 3",
    "1000-1100 a inline, 1100-1200 a queued, 1200-1300 a queued");
}

TEST(Inline, nothing_is_bound_in_a_publication_nor_to_a_thread_that_runs_no_jobs)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    {
      const Publication publication;
      scene.bring("a");
    }
    scene.until(2);
    EXPECT_FALSE(scene.notify("a"));
  });
  EXPECT_EQ(scene.done, (Lines{"1000-1100 a queued", "2000-2100 a queued"}));
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

TEST(Inline, one_job_is_bound_at_a_time)
{
  InlineScene scene;
  scene.add({"a", microseconds(100)});
  scene.add({"b", microseconds(100)});
  scene.run([&] {
    EXPECT_TRUE(scene.notify("a", 1, &scene.has));
    EXPECT_FALSE(scene.notify("b", 1, &scene.has));
    scene.engine.run_inline();
  });
  EXPECT_EQ(scene.done, (Lines{"1000-1100 a inline", "1000-1100 b queued"}));
}

TEST(Inline, a_callback_that_asks_for_cpus_or_a_budget_is_queued)
{
  Attributes cpus = fifo(50);
  cpus.cpu_affinity = CpuSet({1});
  for (const Attributes & attributes : {cpus, os_deadline()}) {
    InlineScene scene;
    scene.add({"a", microseconds(100), milliseconds(1), attributes});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(scene.statistics("a").inlined, 0U);
    EXPECT_EQ(scene.statistics("a").executed, 1U);
  }
}

TEST(Inline, only_one_job_runs_like_that_in_the_process)
{
  InlineScene scene({}, 4);
  Engine other(scene.sim, {});
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group({}, &group).ok());
  std::shared_ptr<Callback> callback;
  CallbackOptions of_other = scene.callback_options("other", milliseconds(1));
  of_other.inline_bound = milliseconds(1);
  ASSERT_TRUE(other.add_callback(of_other, group, &callback).ok());
  scene.add({"a", milliseconds(1)});
  scene.add({"b", milliseconds(1)});
  std::unique_ptr<Thread> spins;
  std::unique_ptr<Thread> second;
  scene.run([&] {
    spins = scene.stranger({}, [&] { EXPECT_TRUE(other.spin().ok()); });
    scene.sim.sleep_for(milliseconds(5));
    second = scene.stranger(scene.has, [&] {
      scene.sim.sleep_for(microseconds(200));
      EXPECT_FALSE(other.notify(*callback, 1, &scene.has));
      EXPECT_FALSE(scene.notify("b", 1, &scene.has));
    });
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
  for (const EngineOptions & options : {pool(1), with_model(ExecutionModel::kPriorityEvents)}) {
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

TEST(InlineJobs, a_job_that_was_preempted_is_not_to_blame_whether_it_is_traced_or_not)
{
  for (const std::size_t trace_capacity : {1024, 0}) {
    EngineOptions options;
    options.trace_capacity = trace_capacity;
    InlineScene scene(options, 1);
    scene.add({"a", microseconds(900)});
    std::unique_ptr<Thread> other;
    scene.run([&] {
      other = scene.stranger(fifo(99), [&] {
        scene.sim.sleep_for(microseconds(500));
        scene.work(3);
      });
      scene.bring("a");
      other.reset();
    });
    EXPECT_EQ(scene.done, (Lines{"1000-4900 a inline"}));
    EXPECT_EQ(scene.statistics("a").over_bound, 0U) << trace_capacity;
  }
}

TEST(InlineJobs, that_exceed_their_bound_are_counted_and_told_and_queued_if_they_often_do)
{
  const struct
  {
    const char * promise;
    int jobs;
    std::function<void(SimPlatform &, int)> work;  // of the job of this number; the bound is 1 ms
    uint64_t over_bound, inlined;
    int told, told_of_the_queue;
  } cases[] = {
    {"the first one is told", 2, [](auto & sim, int) { sim.work(microseconds(1500)); }, 2, 2, 1, 0},
    {"to wait counts, although it uses no CPU", 1,
     [](auto & sim, int) { sim.sleep_for(milliseconds(2)); }, 1, 1, 1, 0},
    {"often: queued from then on", 10, [](auto & sim, int) { sim.work(microseconds(1500)); }, 5, 5,
     2, 1},
    {"once in a while: it stays inline", 1000,
     [](auto & sim, int job) { sim.work(microseconds(job % 100 == 0 ? 1200 : 10)); }, 10, 1000, 1,
     0}};
  for (const auto & c : cases) {
    SCOPED_TRACE(c.promise);
    InlineScene scene;
    int number = 0;
    scene.add({"a", Duration{0}, milliseconds(1), {}, "", [&] { c.work(scene.sim, number++); }});
    scene.run(
      [&] {
        for (int i = 0; i < c.jobs; ++i) {
          scene.bring("a");
          scene.sim.sleep_for(milliseconds(c.jobs == 10 ? 3 : 0));
        }
      },
      100);
    EXPECT_EQ(scene.statistics("a").over_bound, c.over_bound);
    EXPECT_EQ(scene.statistics("a").inlined, c.inlined);
    EXPECT_EQ(scene.statistics("a").executed, static_cast<uint64_t>(c.jobs));
    EXPECT_EQ(scene.findings_with({"a: took ", "us on the middleware's thread"}), c.told);
    EXPECT_EQ(scene.findings_with({"from now on it is queued"}), c.told_of_the_queue);
  }
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
    scene.on_sim([&] {
      const auto spinner = scene.stranger({}, [&] {
        EXPECT_TRUE(scene.engine.spin().ok());
        has_ended = scene.done.size() == 1;
      });
      const auto middleware = scene.stranger(scene.has, [&] {
        scene.bringer = scene.sim.current_thread();
        scene.until(1);
        scene.bring("a");
        scene.bring("b");
      });
    });
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
