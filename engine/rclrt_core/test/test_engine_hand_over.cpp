// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What becomes of a thread that somebody is about to wake: who wants it sooner gets it sooner, with the
// urgency that is needed. And other things that two threads do to a third at once.

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

TEST(HandOver, an_urgent_job_gets_the_only_thread_although_its_waker_is_held_up)
{
  HeldUp scene(pool(2));
  scene.engine.add(scene.engine.fifo_callback("low", 1, 10));
  scene.engine.add(scene.engine.fifo_callback("high", 1, 90));
  scene.add_publisher([&] { scene.engine.notify("low"); });
  EXPECT_EQ(scene.run({{3, "high"}}), (Lines{"1-1-15 publisher", "3-3-4 high", "1-4-16 low"}));
}

/// Two callbacks of a reentrant group whose threads have fifo 90 from the start; from 0.5 ms on the OS grants
/// nothing any more, so that the publisher cannot be lent their urgency.
void add_first_and_second(EngineOnSim & engine, int work_ms)
{
  engine.group("reentrant", 2, {}, fifo(90));
  engine.add(engine.callback_options("first", milliseconds(1)), "reentrant");
  engine.add(engine.callback_options("second", milliseconds(work_ms)), "reentrant");
}

TEST(HandOver, a_thread_on_its_way_for_a_job_of_its_like_does_not_depend_on_who_was_to_wake_it)
{
  HeldUp scene(with_model(ExecutionModel::kIsolated));
  add_first_and_second(scene.engine, 1);
  scene.add_publisher([&] {
    scene.engine.sim.refuse({SchedulingPolicy::kFifo});
    scene.engine.notify("first");
  });
  // Twice: the second time it has slept in between, and is on the publisher's list still.
  EXPECT_EQ(
    scene.run({{3, "second"}, {7, "second"}}),
    (Lines{"1-1-17 publisher", "1-3-4 first", "3-4-5 second", "7-7-8 second"}));
}

TEST(HandOver, the_thread_of_an_isolated_group_is_had_in_the_same_way)
{
  EngineOptions options;
  options.model = ExecutionModel::kIsolated;
  HeldUp scene(options);
  scene.engine.add(scene.engine.fifo_callback("low", 1, 10), "group");
  scene.engine.add(scene.engine.fifo_callback("high", 1, 90), "group");
  scene.add_publisher([&] { scene.engine.notify("low"); });
  EXPECT_EQ(scene.run({{3, "high"}}), (Lines{"1-1-15 publisher", "3-3-4 high", "1-4-16 low"}));
}

TEST(HandOver, the_timer_thread_is_not_late_when_who_has_armed_another_timer_is_held_up)
{
  HeldUp scene({});
  TimerOptions every_5_ms;
  every_5_ms.period = milliseconds(5);
  scene.engine.add_timer(scene.engine.fifo_callback("tick", 1, 90), every_5_ms);
  TimerOptions later;
  later.period = milliseconds(3);
  later.one_shot = true;
  later.autostart = false;
  scene.engine.add_timer(scene.engine.fifo_callback("armed", 1, 80), later);
  scene.add_publisher(
    [&] { EXPECT_TRUE(scene.engine.engine.reset_timer(scene.engine.callbacks.at("armed")).ok()); });
  const Lines jobs = scene.run({});
  const Lines expected{"1-1-18 publisher", "4-4-5 armed", "5-5-6 tick", "10-10-11 tick"};
  ASSERT_GE(jobs.size(), expected.size());
  EXPECT_EQ(Lines(jobs.begin(), jobs.begin() + 4), expected);
}

TEST(HandOver, threads_that_are_held_end_with_the_spin)
{
  // The stop comes at 10, while the publisher still has the thread on its list that runs "second".
  EngineOnSim engine(with_model(ExecutionModel::kIsolated));
  add_first_and_second(engine, 8);
  engine.add(engine.fifo_callback("publisher", 0, 20), [&] {
    engine.sim.refuse({SchedulingPolicy::kFifo});
    const Publication batch;
    engine.notify("first");
    engine.work(30);
  });
  EXPECT_EQ(
    engine.run(10, {{1, "publisher"}, {3, "second"}}),
    (Lines{"1-1-40 publisher", "1-3-4 first", "3-4-12 second"}));
}

TEST(HandOver, a_deadline_of_a_job_that_is_over_does_not_count_for_a_thread_on_its_way)
{
  // Both threads have run ext callbacks. One runs "late", the other is on its way for "plain", with nothing
  // but the class of its last job: that is not enough for "soon".
  EngineOptions options = pool(2);
  EngineOnSim engine(1, options);
  engine.add(engine.ext_callback("early 1", 20, 2));
  engine.add(engine.ext_callback("early 2", 5, 1));
  engine.add(engine.ext_callback("late", 90, 10));
  engine.add(engine.ext_callback("soon", 6, 1));
  engine.add(engine.callback_options("plain", milliseconds(1)));
  EXPECT_EQ(
    engine.run(60, {{0, "early 1"}, {1, "early 2"}, {5, "late"}, {6, "plain"}, {7, "soon"}}),
    (Lines{"0-0-3 early 1", "1-1-2 early 2", "5-5-16 late", "7-7-8 soon", "6-8-17 plain"}));
}

/// Somebody changes the attributes of the timer thread while that puts its first ones in force.
class InterruptedPlatform : public SimPlatform
{
public:
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    if (attributes.priority == 40 && meanwhile) {
      meanwhile();
    }
    return SimPlatform::apply(thread, attributes);
  }
  std::function<void()> meanwhile;
};

TEST(TimerThread, has_the_attributes_that_were_asked_for_last_also_if_it_was_just_starting)
{
  InterruptedPlatform sim;
  EngineOptions options;
  options.timer_thread = fifo(40);
  options.attributes_mode = AttributesMode::kPrefer;
  Engine engine(sim, options);
  int probed = 0;
  std::unique_ptr<Thread> other;
  sim.meanwhile = [&] {
    // The first one to ask is the trial before any thread starts.
    if (++probed == 2) {
      ThreadOptions urgent;
      urgent.attributes = fifo(99);
      const auto body = [&] { EXPECT_TRUE(engine.set_timer_thread(fifo(60)).ok()); };
      EXPECT_TRUE(sim.start_thread(urgent, body, {}, &other).ok());
      sim.work(milliseconds(1));  // it comes in between
    }
  };
  int priority = 0;
  const Status run = sim.run([&] {
    std::unique_ptr<Thread> spinner;
    ThreadOptions plain;
    plain.attributes.scheduling_policy = SchedulingPolicy::kOther;
    ASSERT_TRUE(
      sim.start_thread(plain, [&] { EXPECT_TRUE(engine.spin().ok()); }, {}, &spinner).ok());
    sim.sleep_for(milliseconds(5));
    for (const ThreadReport & thread : engine.threads()) {
      priority = thread.name == "rclrt timers" ? thread.in_force.priority : priority;
    }
    engine.stop();
    spinner->join();
    other->join();
  });
  EXPECT_TRUE(run.ok()) << run.message();
  EXPECT_GE(probed, 2);
  EXPECT_EQ(priority, 60);
}

/// FifoBands of one process, which also counts what is asked of it.
class WatchedBands final : public DeadlineScheduler
{
public:
  WatchedBands(Platform & platform, int cpus)
  {
    FifoBandsOptions options;
    options.runners = static_cast<std::size_t>(cpus);
    EXPECT_TRUE(FifoBands::make(platform, options, &bands_).ok());
  }
  const char * name() const noexcept override { return "watched"; }
  Attributes above() const noexcept override { return bands_->above(); }
  Status enter(Slot * slot) override { return bands_->enter(slot); }
  void leave(Slot slot) noexcept override { bands_->leave(slot); }
  int start(Slot slot, TimePoint deadline) noexcept override
  {
    deadlines_[slot] = deadline;
    return bands_->start(slot, deadline);
  }
  void stop(Slot slot) noexcept override
  {
    deadlines_.erase(slot);
    bands_->stop(slot);
  }
  void forget(Slot slot) noexcept override { bands_->forget(slot); }
  void give_way() noexcept override { on_give_way(); }
  /// The deadlines of all threads that have one now.
  std::multiset<TimePoint> deadlines() const
  {
    std::multiset<TimePoint> all;
    for (const auto & [slot, deadline] : deadlines_) {
      all.insert(deadline);
    }
    return all;
  }
  std::vector<Finding> findings() const override { return {}; }

  std::function<void()> on_give_way;

private:
  std::shared_ptr<FifoBands> bands_;
  std::map<Slot, TimePoint> deadlines_;  // on the simulated platform one thread runs at a time
};

/// An engine whose threads are asked to give way is seen not to hold its lock then.
struct GivesWay : EngineOnSim
{
  explicit GivesWay(std::size_t threads, int cpus = 1)
  : EngineOnSim(pool(threads, &edf_policy()), cpus),
    bands(std::make_shared<WatchedBands>(sim, cpus))
  {
    EXPECT_TRUE(engine.set_deadline_scheduler(bands).ok());
    bands->on_give_way = [this] {
      ++given_way;
      engine.statistics(*callbacks.begin()->second);  // for which it needs the lock
    };
  }

  void add(const std::string & name, int64_t deadline_ms, std::function<void()> body)
  {
    EngineOnSim::add(ext_callback(name, deadline_ms, 0), std::move(body));
  }
  /// Releases it once, and calls `then` at once.
  void run(const std::string & first, const std::function<void()> & then = [] {})
  {
    EngineOnSim::run(25, {}, [&] {
      until(5);
      notify(first);
      then();
    });
  }
  void note() { seen.push_back(given_way); }

  const std::shared_ptr<WatchedBands> bands;
  int given_way = 0;
  std::vector<int> seen;  // `given_way` when a callback noted it
};

TEST(GiveWay, is_asked_of_a_thread_whose_deadline_has_become_later_and_without_the_lock)
{
  GivesWay t(1);
  t.add("learns", 0, [&] {
    inherit_deadline(at_ms(20));  // earlier than none
    t.note();
    inherit_deadline(at_ms(40));  // later
    t.note();
    t.notify("next");
  });
  t.add("next", 80, [&] { t.note(); });
  t.run("learns");
  // The one thread takes "next" without having slept, at a later deadline.
  EXPECT_EQ(t.seen, (std::vector<int>{0, 1, 2}));
}

TEST(GiveWay, is_asked_of_a_publisher_that_has_given_back_an_earlier_deadline)
{
  GivesWay t(2);
  t.add("early", 20, [] {});
  t.add("late", 80, [&] {
    {
      const Publication publication;
      t.notify("early");
      t.note();
    }
    t.note();
  });
  t.run("late");
  EXPECT_EQ(t.seen, (std::vector<int>{0, 1}));
}

TEST(HandOver, a_thread_on_its_way_does_not_keep_the_deadline_of_a_job_that_another_has_taken)
{
  for (const bool has_later : {false, true}) {
    GivesWay t(2, 2);
    t.add("first", 90, [&] { t.work(2); });
    t.add("urgent", 10, [&] { t.work(8); });
    t.add("later", 40, [] {});
    std::multiset<TimePoint> before;
    std::multiset<TimePoint> after;
    t.run("first", [&] {
      t.work(1);
      const Publication publication;  // until it ends nobody wakes the thread that is to come
      t.notify("urgent");
      if (has_later) {
        t.notify("later");
      }
      before = t.bands->deadlines();
      t.work(3);  // meanwhile the thread of "first" takes "urgent"
      after = t.bands->deadlines();
    });
    // Released at 5, 6 and 6 ms.
    EXPECT_EQ(before, (std::multiset<TimePoint>{at_ms(16), at_ms(95)}));
    EXPECT_EQ(after, (std::multiset<TimePoint>{at_ms(16), has_later ? at_ms(46) : kNever}));
  }
}

/// Four CPUs and threads, and callbacks in groups of their own. They are released together once a millisecond, so that the
/// engine learns how long their jobs take; then once more, while strangers keep all CPUs. Of each callback one job takes
/// long, as one that loses its CPU.
struct Burst
{
  using Change = std::function<void(CallbackOptions &)>;
  explicit Burst(
    Duration work, const Change & change = [](CallbackOptions &) {})
  : engine(pool(4), 4)
  {
    for (const std::string & name : names) {
      CallbackOptions options = engine.callback_options(name, work);
      change(options);
      engine.add(options, [this, name, work] {
        engine.sim.work(++jobs[name] == 55 ? Duration(microseconds(900)) : work);
      });
    }
  }
  /// How many threads the last release wakes by itself.
  int64_t wakes()
  {
    std::vector<Arrival> arrivals;
    for (int64_t ms = 1; ms <= 60; ++ms) {
      for (const std::string & name : names) {
        arrivals.push_back({ms == 60 ? 70 : ms, name});
      }
    }
    int64_t woken = 0;
    engine.run(90, arrivals, [&] {
      std::vector<std::unique_ptr<Thread>> strangers;
      for (int cpu = 0; cpu < 4; ++cpu) {
        strangers.push_back(engine.stranger(97, 69, 5));
      }
      engine.sim.sleep_until(at_ms(70) - microseconds(1));
      woken -= engine.sim.counts().wake;
      engine.sim.sleep_until(at_ms(70) + microseconds(1));
      woken += engine.sim.counts().wake;
      for (const auto & stranger : strangers) {
        stranger->join();
      }
    });
    engine.records();
    ran = std::count_if(engine.ran.begin(), engine.ran.end(), [](const auto & job) {
      return job.release_ns == 70'000'000;
    });
    return woken;
  }

  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
  EngineOnSim engine;
  std::map<std::string, int> jobs;
  int64_t ran = 0;
};

TEST(ShortJobs, wake_one_thread_at_a_time)
{
  EXPECT_EQ(Burst(microseconds(30)).wakes(), 4);
  const std::vector<Burst::Change> changes{
    [](CallbackOptions &) {},
    [](CallbackOptions & options) {
      options.attributes.scheduling_policy = SchedulingPolicy::kOther;
    },
    [](CallbackOptions & options) { options.attributes.cpu_affinity = CpuSet({0, 1, 2}); },
    [](CallbackOptions & options) { options.queue_priority = 5; },
    [](CallbackOptions & options) { options.relative_deadline = milliseconds(5); }};
  for (const Burst::Change & change : changes) {
    Burst tiny(microseconds(2), change);
    EXPECT_EQ(tiny.wakes(), 1);
    EXPECT_EQ(tiny.ran, 6);
  }
  const auto with_budget = [](CallbackOptions & options) { options.budget = budget(1, 10); };
  EXPECT_EQ(Burst(microseconds(2), with_budget).wakes(), 4);
}

TEST(ShortJobs, wait_for_no_job_that_takes_long_this_time)
{
  Burst burst(microseconds(2));
  for (const char * name : {"x", "y", "z"}) {
    burst.engine.add(burst.engine.callback_options(name, {}), [&] {
      const bool is_long = burst.engine.sim.now() >= at_ms(60);
      burst.engine.sim.work(is_long ? Duration(milliseconds(10)) : microseconds(1));
    });
  }
  std::vector<Arrival> arrivals;
  for (int64_t ms = 1; ms <= 60; ++ms) {
    for (const char * name : {"x", "y", "z", "a"}) {
      arrivals.push_back({ms, name});
    }
  }
  const Lines lines = burst.engine.run(90, arrivals);
  const auto last = std::find(lines.begin(), lines.end(), "60-60-70 x");
  EXPECT_EQ(
    std::set<std::string>(last, lines.end()),
    (std::set<std::string>{"60-60-70 x", "60-60-70 y", "60-60-70 z", "60-60-60.002 a"}));
}

/// Four CPUs, and six callbacks in groups of their own. Once a millisecond a thread releases one after the other, three
/// microseconds apart; each takes eight. The first one takes 20 ms in the burst of `late`.
struct Stream
{
  explicit Stream(const Burst::Change & change = {}, EngineOptions of_engine = pool(8))
  : engine(std::move(of_engine), 4)
  {
    for (const std::string & name : names) {
      CallbackOptions options = engine.callback_options(name, {});
      if (change) {
        change(options);
      }
      engine.add(options, [this, is_first = name == "a"] {
        const TimePoint now = engine.sim.now();
        const bool is_late = is_first && now >= late && now < late + milliseconds(1);
        engine.sim.work(is_late ? Duration(milliseconds(20)) : microseconds(8));
      });
    }
  }
  /// Returns how many wake-ups the last of so many bursts took by then; `last` follows.
  int64_t wakes(int64_t bursts, const std::function<void()> & last = {})
  {
    int64_t woken = 0;
    lines = engine.run(bursts + 40, {}, [&] {
      for (int64_t ms = 1; ms <= bursts; ++ms) {
        engine.until(ms);
        woken = -engine.sim.counts().wake;
        for (const std::string & name : names) {
          engine.notify(name);
          engine.sim.work(microseconds(3));
        }
      }
      engine.sim.sleep_until(at_ms(bursts) + microseconds(500));
      woken += engine.sim.counts().wake;
      if (last) {
        last();
      }
    });
    return woken;
  }

  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
  EngineOnSim engine;
  TimePoint late = kNever;
  Lines lines;
};

TEST(ShortJobs, that_ask_for_nothing_are_left_to_a_thread_that_runs_one)
{
  const std::vector<std::pair<int64_t, Burst::Change>> rows{
    {1, [](CallbackOptions &) {}},
    {1, [](CallbackOptions & options) { options.attributes.cpu_affinity = CpuSet({1, 2, 3}); }},
    {6,
     [cpu = 0](CallbackOptions & options) mutable {
       options.attributes.cpu_affinity = CpuSet({cpu = cpu % 3 + 1});
     }},
    {6, [](CallbackOptions & options) { options.attributes = fifo(5); }},
    {6, [](CallbackOptions & options) { options.queue_priority = 5; }},
    {6, [](CallbackOptions & options) { options.relative_deadline = milliseconds(5); }}};
  for (const auto & row : rows) {
    EXPECT_EQ(Stream(row.second).wakes(260), row.first);
  }
  EXPECT_EQ(Stream().wakes(250), 6);  // not long enough
  Stream under_fifo;
  under_fifo.engine.spinner = fifo(5);
  EXPECT_EQ(under_fifo.wakes(260), 6);
}

TEST(ShortJobs, that_are_left_to_a_thread_do_not_wait_for_it_when_it_is_held_up)
{
  // When the second job of the burst begins, in ms: the timer thread looks within 10 ms.
  const auto begins = [](const Lines & lines) {
    const auto is_it = [](const std::string & line) {
      return line.rfind("300.003-", 0) == 0 && line.back() == 'b';
    };
    return std::stod(std::find_if(lines.begin(), lines.end(), is_it)->substr(8));
  };
  const auto add_timer = [](Stream & stream) {  // a thread covers it from 301 on
    stream.engine.add_timer(stream.engine.callback_options("tick", {}), every_ms(15));
  };
  const auto notify = [](Stream & stream) { stream.engine.notify("b"); };
  EngineOptions looking = pool(8);
  looking.waiting.kind = Waiting::kAdaptive;  // without the alarm of the timer thread
  using Step = std::function<void(Stream &)>;
  const std::vector<std::tuple<double, EngineOptions, Step, Step>> rows{
    {306.006, pool(8), {}, {}},
    {306.006, pool(8), add_timer, {}},
    {300.5, pool(8), {}, notify},
    {300.003, looking, {}, {}}};
  for (const auto & [expected, options, before, after] : rows) {
    Stream stream({}, options);
    stream.late = at_ms(300);
    if (before) {
      before(stream);
    }
    stream.wakes(300, [&, then = after] { then ? then(stream) : void(); });
    EXPECT_EQ(begins(stream.lines), expected);
  }
  // Then none is left to a job of that callback.
  Stream stream;
  stream.late = at_ms(300);
  EXPECT_EQ(stream.wakes(322), 2);
}

TEST(ShortJobs, get_all_cpus_where_one_does_not_suffice)
{
  EngineOnSim engine(pool(8), 2);
  for (const char * name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    CallbackOptions options = engine.callback_options(name, microseconds(9));
    options.depth = 1;
    engine.add(options);
  }
  // 81 us of work in 65 us.
  engine.run(200, {}, [&] {
    for (TimePoint time = at_ms(1); time < at_ms(190); time += microseconds(65)) {
      engine.sim.sleep_until(time);
      for (const auto & entry : engine.callbacks) {
        engine.notify(entry.first);
      }
    }
  });
  for (const auto & entry : engine.callbacks) {
    EXPECT_EQ(engine.engine.statistics(*entry.second).dropped, 0U) << entry.first;
  }
}

TEST(ShortJobs, do_not_wait_for_more_urgent_ones_while_a_cpu_is_idle)
{
  EngineOnSim engine(pool(8), 4);
  CallbackOptions urgent = engine.callback_options("urgent", {});
  urgent.attributes = fifo(50);
  engine.add(urgent, [&] {
    engine.sim.work(microseconds(100));
    if (engine.sim.now() < at_ms(150)) {
      engine.notify("urgent");
    }
  });
  engine.add(engine.callback_options("short", microseconds(2)));
  std::vector<Arrival> arrivals;
  for (int64_t ms = 1; ms <= 60; ++ms) {
    arrivals.push_back({ms, "short"});
  }
  arrivals.insert(arrivals.end(), {{81, "urgent", 2}, {82, "short", 3}});
  const Lines lines = engine.run(200, arrivals);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "82-82-82.002 short"), 1);
}

TEST(DeadlineSchedulerWhileSpinning, may_be_given_if_there_was_none)
{
  EngineOptions options;
  options.policy = &edf_policy();
  EngineOnSim engine(options);
  engine.add(engine.callback_options("plain", milliseconds(1)));
  std::shared_ptr<FifoBands> bands;
  FifoBandsOptions bands_options;
  bands_options.runners = 1;
  ASSERT_TRUE(FifoBands::make(engine.sim, bands_options, &bands).ok());
  // All threads have slept before; then two callbacks come that only the new scheduler can order.
  const Lines jobs = engine.run(50, {{1, "plain"}, {10, "late"}, {11, "soon"}}, [&] {
    engine.until(5);
    EXPECT_TRUE(engine.engine.set_deadline_scheduler(bands).ok());
    EXPECT_FALSE(engine.engine.set_deadline_scheduler(nullptr).ok());
    engine.add(engine.ext_callback("late", 40, 5));
    engine.add(engine.ext_callback("soon", 10, 2));
  });
  EXPECT_EQ(jobs, (Lines{"1-1-2 plain", "10-10-17 late", "11-11-13 soon"}));
  EXPECT_TRUE(engine.engine.findings().empty());
}

}  // namespace
}  // namespace rclrt_core
