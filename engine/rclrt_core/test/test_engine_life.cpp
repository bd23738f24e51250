// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Coming, going, failing: registration errors, removal while running, exceptions, stop, deadlines.

#include <stdexcept>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

void expect_error(const Status & status, const std::string & part)
{
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(Registration, impossible_options_are_refused_with_the_reason)
{
  EngineOnSim engine;
  const auto group = engine.group("group");
  std::shared_ptr<Callback> callback;
  const auto try_with = [&](const std::function<void(CallbackOptions &)> & change) {
    CallbackOptions options = engine.callback_options("a", {});
    change(options);
    return engine.engine.add_callback(options, group, &callback);
  };
  expect_error(try_with([](auto & o) { o.name.clear(); }), "without a name");
  expect_error(try_with([](auto & o) { o.run = nullptr; }), "'a': nothing to run");
  expect_error(try_with([](auto & o) { o.depth = 0; }), "depth 0");
  expect_error(
    try_with([](auto & o) { o.queue_priority = 100; }), "queue_priority 100 is outside 1-99");
  expect_error(try_with([](auto & o) { o.attributes = fifo(0); }), "priority");
  expect_error(
    try_with([](auto & o) { o.attributes.cpu_affinity = CpuSet(std::vector<int>{7}); }), "7");
  expect_error(try_with([](auto & o) { o.relative_deadline = milliseconds(-1); }), "is negative");
  EXPECT_TRUE(try_with([](auto &) {}).ok());
  expect_error(try_with([](auto &) {}), "the name is taken");

  TimerOptions timer;
  timer.period = milliseconds(-1);
  expect_error(
    engine.engine.add_timer(engine.callback_options("t", {}), timer, group, &callback),
    "is negative");
  timer.period = milliseconds(1);
  timer.clock = 99;
  expect_error(
    engine.engine.add_timer(engine.callback_options("t", {}), timer, group, &callback),
    "unknown clock 99");

  EngineOnSim other;
  expect_error(
    other.engine.add_callback(engine.callback_options("b", {}), group, &callback),
    "not one of this engine");
  expect_error(engine.engine.cancel_timer(engine.callbacks["none"]), "not a timer");
}

TEST(Removal, a_removed_callback_never_starts_again_and_its_name_is_free)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    const auto callback = engine.add(engine.callback_options("a", milliseconds(5)), "group");
    engine.run(100, {{1, "a", 3}}, [&] {
      engine.until(3);
      EXPECT_EQ(engine.engine.remove(callback), 2u);
      EXPECT_EQ(engine.engine.remove(callback), 0u);
      engine.engine.notify(*callback);
      engine.until(50);
      EXPECT_EQ(engine.engine.statistics(*callback).executed, 1u);
      engine.add(engine.callback_options("a", milliseconds(5)), "group");
      engine.notify("a");
    });
    EXPECT_EQ(engine.statistics("a").executed, 1u) << to_string(execution_model);
  }
}

TEST(Removal, what_the_callback_holds_lives_until_its_run_has_ended)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    const auto resource = std::make_shared<int>(42);
    CallbackOptions options = engine.callback_options("a", {});
    engine.add(options, [&engine, held = resource] {
      engine.work(10);
      EXPECT_EQ(*held, 42);
    });
    options.run = nullptr;
    engine.run(100, {{1, "a"}}, [&] {
      engine.until(3);
      engine.remove("a");
      engine.callbacks.clear();
      EXPECT_EQ(resource.use_count(), 2);
      engine.until(20);
      EXPECT_EQ(resource.use_count(), 1);
    });
  }
}

TEST(Removal, a_callback_may_remove_itself)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    CallbackOptions options = engine.callback_options("a", {});
    engine.add(options, [&] { engine.remove("a"); });
    engine.run(20, {{1, "a", 3}});
    EXPECT_EQ(engine.statistics("a").executed, 1u);
  }
}

TEST(Exception, by_default_spin_ends_and_hands_it_out)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    CallbackOptions options = engine.callback_options("a", {});
    options.run = [](const Job &) -> bool { throw std::runtime_error("from the callback"); };
    engine.add(options);
    bool ended = false;
    engine.run(100, {{1, "a"}}, [&] {
      engine.until(2);
      ended = !engine.engine.is_spinning();
    });
    EXPECT_TRUE(ended);
    const std::exception_ptr exception = engine.engine.take_exception();
    ASSERT_TRUE(exception);
    EXPECT_THROW(std::rethrow_exception(exception), std::runtime_error);
    EXPECT_FALSE(engine.engine.take_exception());
    EXPECT_EQ(engine.statistics("a").exceptions, 1u);
  }
}

TEST(Exception, a_handler_may_let_the_engine_go_on)
{
  std::string seen;
  EngineOptions options;
  options.on_exception = [&](const Callback & callback, std::exception_ptr exception) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception & e) {
      seen += callback.name() + ": " + e.what() + "\n";
    }
    return ExceptionAction::kContinue;
  };
  EngineOnSim engine(options);
  CallbackOptions throwing = engine.callback_options("a", {});
  throwing.run = [](const Job &) -> bool { throw std::runtime_error("oops"); };
  engine.add(throwing);
  engine.run(100, {{1, "a"}, {2, "a"}});
  EXPECT_EQ(seen, "a: oops\na: oops\n");
  EXPECT_FALSE(engine.engine.take_exception());
}

TEST(Removal, a_callback_that_runs_another_engine_still_runs_in_its_own)
{
  EngineOnSim outer;
  Engine inner(outer.sim, {});
  std::shared_ptr<Group> group;
  ASSERT_TRUE(inner.add_group({}, &group).ok());
  bool runs_here = false;
  CallbackOptions asks = outer.callback_options("asks", {});
  asks.run = [&](const Job &) {
    runs_here = outer.engine.runs_here();
    return true;
  };
  std::shared_ptr<Callback> callback;
  ASSERT_TRUE(inner.add_callback(asks, group, &callback).ok());
  CallbackOptions spins = outer.callback_options("spins", {});
  outer.add(spins, [&] {
    inner.notify(*callback);
    EXPECT_TRUE(inner.run_one(outer.sim.now()));
  });
  outer.run(20, {{1, "spins"}});
  EXPECT_TRUE(runs_here);
}

TEST(Stop, from_inside_a_callback_ends_spin_after_it)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    CallbackOptions options = engine.callback_options("a", {});
    engine.add(options, [&] {
      engine.engine.stop();
      engine.work(5);
    });
    engine.run(100, {{1, "a", 2}}, [&] {
      engine.until(5);
      EXPECT_TRUE(engine.engine.is_spinning());
      engine.until(7);
      EXPECT_FALSE(engine.engine.is_spinning());
    });
    EXPECT_EQ(engine.statistics("a").executed, 1u);  // the second still waits
  }
}

TEST(Stop, leaves_no_thread_behind_and_spin_can_start_again)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    engine.add(engine.callback_options("a", milliseconds(1)));
    engine.on_sim([&] {
      for (int round = 0; round < 3; ++round) {
        std::unique_ptr<Thread> spinner;
        engine.start("spinner", {}, [&] { EXPECT_TRUE(engine.engine.spin().ok()); }, &spinner);
        engine.sim.sleep_for(milliseconds(1));
        engine.notify("a");
        engine.sim.sleep_for(milliseconds(5));
        expect_error(engine.engine.spin(), "already spinning");
        engine.engine.stop();
        spinner->join();
        EXPECT_TRUE(engine.engine.threads().empty());
      }
    });
    EXPECT_EQ(engine.statistics("a").executed, 3u);
    EXPECT_EQ(engine.records().size(), 3u);  // the trace outlives the threads
  }
}

TEST(Stop, of_a_spin_is_not_taken_back)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    engine.run(20, {}, [&] {
      engine.until(1);
      engine.engine.stop();
      engine.engine.clear_stop();
      engine.until(2);
      EXPECT_FALSE(engine.engine.is_spinning()) << to_string(execution_model);
    });
  }
}

TEST(Stop, before_a_spin_ends_it_at_once_unless_it_is_taken_back)
{
  EngineOnSim engine;
  engine.on_sim([&] {
    for (const bool is_taken_back : {false, true}) {
      engine.engine.stop();
      if (is_taken_back) {
        engine.engine.clear_stop();
      }
      std::unique_ptr<Thread> spinner;
      engine.start("spinner", {}, [&] { EXPECT_TRUE(engine.engine.spin().ok()); }, &spinner);
      engine.sim.sleep_for(milliseconds(1));
      EXPECT_EQ(engine.engine.is_spinning(), is_taken_back);
      engine.engine.stop();
      spinner->join();
      engine.engine.clear_stop();
    }
  });
}

TEST(Engine, may_be_destroyed_with_jobs_waiting_and_callbacks_still_held)
{
  SimPlatform sim;
  std::vector<std::shared_ptr<Callback>> held;
  {
    Engine engine(sim, {});
    std::shared_ptr<Group> group;
    ASSERT_TRUE(engine.add_group({}, &group).ok());
    for (int i = 0; i < 3; ++i) {
      CallbackOptions options;
      options.name = std::to_string(i);
      options.run = [](const Job &) { return true; };
      std::shared_ptr<Callback> callback;
      ASSERT_TRUE(engine.add_timer(options, {}, group, &callback).ok());
      engine.notify(*callback);
      if (i > 0) {
        held.push_back(callback);
      }
    }
  }
  EXPECT_EQ(held.back()->name(), "2");
}

TEST(Deadline, is_the_nominal_release_plus_the_relative_deadline)
{
  EngineOnSim engine;
  CallbackOptions options = engine.callback_options("timer", milliseconds(6));
  options.relative_deadline = milliseconds(5);
  engine.add_timer(options, every_ms(10));
  engine.add(engine.fifo_callback("blocker", 4, 90));
  engine.run(25, {{8, "blocker"}});
  std::vector<int64_t> deadlines;
  for (const rclrt_job_record & record : engine.ran) {
    if (engine.name_of(record.callback) == "timer") {
      deadlines.push_back(record.deadline_ns);
    }
  }
  EXPECT_EQ(deadlines, (std::vector<int64_t>{15000000, 25000000}));
  EXPECT_EQ(engine.statistics("timer").deadline_misses, 2u);
}

TEST(Deadline, is_not_missed_by_a_job_that_finds_nothing_to_do)
{
  EngineOnSim engine;
  CallbackOptions options = engine.callback_options("empty", {});
  options.relative_deadline = milliseconds(1);
  options.run = [&](const Job &) {
    engine.work(5);
    return false;
  };
  engine.add(options);
  engine.run(20, {{0, "empty"}});
  EXPECT_EQ(engine.statistics("empty").empty, 1u);
  EXPECT_EQ(engine.statistics("empty").deadline_misses, 0u);
  EXPECT_EQ(engine.statistics("empty").max_response, Duration::zero());
}

TEST(Deadline, travels_with_the_job_to_what_it_publishes_to)
{
  EngineOnSim engine;
  CallbackOptions sink = engine.callback_options("sink", milliseconds(1));
  CallbackOptions middle = engine.callback_options("middle", {});
  middle.run = [&](const Job &) {
    engine.work(1);
    engine.notify("sink");
    return true;
  };
  CallbackOptions source = engine.callback_options("source", {});
  source.relative_deadline = milliseconds(50);
  source.run = [&](const Job & job) {
    EXPECT_EQ(current_job()->sequence, job.sequence);
    engine.work(1);
    engine.notify("middle");
    return true;
  };
  engine.add(sink);
  engine.add(middle);
  engine.add(source);
  engine.on_sim([&] {
    engine.until(7);
    engine.notify("source");
    while (engine.engine.run_one(engine.sim.now())) {
    }
    engine.notify("sink");  // from outside: nothing to inherit
    EXPECT_TRUE(engine.engine.run_one(engine.sim.now()));
    EXPECT_EQ(current_job(), nullptr);
  });
  std::vector<int64_t> deadlines;
  for (const rclrt_job_record & record : engine.records()) {
    deadlines.push_back(record.deadline_ns);
  }
  EXPECT_EQ(
    deadlines, (std::vector<int64_t>{57000000, 57000000, 57000000, RCLRT_TRACE_NO_DEADLINE}));
}

TEST(InheritedPriority, a_subscription_gets_the_highest_of_those_who_publish_to_it)
{
  EngineOnSim engine;
  CallbackOptions sink = engine.fifo_callback("sink", 5, 1);
  sink.inherit_priority = true;
  std::vector<int> priorities;
  sink.run = [&](const Job & job) {
    priorities.push_back(job.priority);
    engine.work(5);
    return true;
  };
  engine.add(sink);
  CallbackOptions publisher = engine.callback_options("publisher", {});
  publisher.run = [&](const Job &) {
    engine.notify("sink");
    return true;
  };
  for (const int priority : {10, 30}) {
    publisher.name = "publisher " + std::to_string(priority);
    publisher.attributes = fifo(priority);
    engine.add(publisher);
  }
  engine.add(engine.fifo_callback("rival", 5, 20));
  EXPECT_EQ(
    engine.run(
      100, {{1, "publisher 10"},
            {2, "rival"},
            {21, "publisher 30"},
            {22, "rival"},
            {41, "publisher 10"},
            {42, "rival"}}),
    (Lines{
      "1-1-1 publisher 10", "1-1-11 sink", "2-2-7 rival",             // below it
      "21-21-21 publisher 30", "21-21-26 sink", "22-26-31 rival",     // above it
      "41-41-51 publisher 10", "41-41-46 sink", "42-46-51 rival"}));  // and stays so
  EXPECT_EQ(priorities, (std::vector<int>{10, 30, 30}));
}

TEST(Trace, a_ring_keeps_the_newest_records_and_counts_the_others)
{
  struct Case
  {
    std::size_t capacity;
    std::size_t kept;
    uint64_t dropped;
  };
  // A power of two, less the one that may be half written.
  for (const Case & c :
       {Case{1, 1, 9}, Case{2, 1, 9}, Case{3, 3, 7}, Case{4, 3, 7}, Case{5, 7, 3}}) {
    EngineOptions options;
    options.trace_capacity = c.capacity;
    options.max_threads = 1;
    EngineOnSim engine(options);
    engine.add(engine.callback_options("a", milliseconds(1)));
    EXPECT_EQ(engine.run(100, {{1, "a", 10}}).size(), c.kept) << c.capacity;
    EXPECT_EQ(engine.engine.trace_source().dropped, c.dropped) << c.capacity;
  }
}

TEST(Trace, nothing_is_recorded_without_room_for_records)
{
  EngineOptions options;
  options.trace_capacity = 0;
  EngineOnSim engine(options);
  engine.add(engine.callback_options("a", milliseconds(1)));
  EXPECT_EQ(engine.run(100, {{1, "a", 10}}), Lines{});
  EXPECT_EQ(engine.engine.statistics(*engine.callbacks.at("a")).executed, 10u);
  EXPECT_EQ(engine.engine.trace_source().dropped, 0u);
}

/// Notes whether somebody waits for one mutex while they hold another.
class NestingWatched : public SimPlatform
{
public:
  std::unique_ptr<Mutex> make_mutex() override
  {
    return std::make_unique<Watched>(SimPlatform::make_mutex());
  }
  struct Watched : Mutex
  {
    explicit Watched(std::unique_ptr<Mutex> watched) : mutex(std::move(watched)) {}
    void lock() noexcept override
    {
      deepest = std::max(deepest, ++held);
      mutex->lock();
    }
    void unlock() noexcept override
    {
      --held;
      mutex->unlock();
    }
    static inline int held = 0;
    static inline int deepest = 0;
    const std::unique_ptr<Mutex> mutex;
  };
};

TEST(Trace, to_ask_what_was_dropped_does_not_hold_up_the_engine_for_who_reads)
{
  NestingWatched sim;
  Engine engine(sim, {});
  NestingWatched::Watched::deepest = 0;
  EXPECT_EQ(engine.trace_source().dropped, 0u);
  EXPECT_EQ(NestingWatched::Watched::deepest, 1);
}

TEST(Trace, records_preemptions_and_the_cpu)
{
  EngineOnSim engine({}, 2);
  engine.add(engine.on_cpu(1, engine.fifo_callback("low", 10, 10)));
  engine.add(engine.on_cpu(1, engine.fifo_callback("high", 1, 20)));
  engine.run(30, {{1, "low"}, {3, "high"}, {5, "high"}});
  ASSERT_EQ(engine.ran.size(), 3u);
  EXPECT_EQ(engine.ran[0].preemptions, 2);
  EXPECT_EQ(engine.ran[0].cpu, 1);
  EXPECT_EQ(engine.ran[1].preemptions, 0);
  EXPECT_EQ(engine.ran[0].outcome, RCLRT_JOB_DONE);
}

}  // namespace
}  // namespace rclrt_core
