// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an event of a job costs, through the engine: at most two changes of attributes with the FIFO bands, made
// by the thread that has it. Who was sent for a job that another has taken comes when there is a CPU, finds
// nothing, and lets the next one up: one change more, by that thread.

#include <algorithm>
#include <map>
#include <set>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// Notes when attributes were changed, by whom, and which policies were asked for.
class RecordingSim final : public SimPlatform
{
public:
  explicit RecordingSim(int cpus) : SimPlatform(cpus) {}
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    ++changes[nanoseconds_of(now())][current_thread()];
    asked.insert(attributes.policy);
    return SimPlatform::apply(thread, attributes);
  }
  using Changes = std::map<int64_t, std::map<ThreadId, int>>;
  Changes changes;  ///< by instant and thread
  std::set<SchedulingPolicy> asked;
};

/// More jobs than CPUs: with deadlines in no order, some in one group, some that learn of their deadline on
/// the way. No two events lie at one instant.
class EventCosts : public ::testing::TestWithParam<ExecutionModel>
{
protected:
  static constexpr int kCpus = 2;
  static constexpr int kJobs = 60;

  EventCosts()
  : sim_(kCpus),
    engine_(
      sim_, EngineOnSim::with_fifo_bands(
              sim_,
              [] {
                EngineOptions options;
                options.model = GetParam();
                options.timer_thread = fifo(97);
                return options;
              }(),
              kCpus))
  {
  }

  /// By the thread that has it.
  void note_event()
  {
    const bool is_first = events_.emplace(nanoseconds_of(sim_.now()), sim_.current_thread()).second;
    EXPECT_TRUE(is_first) << "two at " << nanoseconds_of(sim_.now()) << " ns: choose other works";
  }

  void add(int i)
  {
    const std::string group_name = i % 4 == 0 ? "shared" : "group of " + std::to_string(i);
    std::shared_ptr<Group> & group = groups_[group_name];
    if (!group) {
      GroupOptions options;
      options.name = group_name;
      ASSERT_TRUE(engine_.add_group(options, &group).ok());
    }
    const bool learns = i % 5 == 3;
    const Duration work(1'500'000 + (i * i * 7) % 1000 * 1000 + (1 << (i % 10)));
    CallbackOptions options;
    options.name = "job " + std::to_string(i);
    options.attributes.policy = SchedulingPolicy::kExt;
    options.relative_deadline = milliseconds(learns ? 0 : 20 + (i * 7) % 12 * 5);
    options.run = [this, work, learns, i](const Job &) {
      sim_.work(work / 3);
      if (learns) {
        note_event();
        inherit_deadline(sim_.now() + milliseconds(1 + (i * 11) % 60));
      }
      sim_.work(work - work / 3);
      note_event();
      return true;
    };
    callbacks_.emplace_back();
    ASSERT_TRUE(engine_.add_callback(options, group, &callbacks_.back()).ok());
  }

  void run()
  {
    const auto body = [this] {
      std::unique_ptr<Thread> spinner;
      ThreadOptions options;
      options.attributes.policy = SchedulingPolicy::kOther;
      ASSERT_TRUE(
        sim_.start_thread(
              options, [this] { EXPECT_TRUE(engine_.spin().ok()); }, {}, &spinner)
          .ok());
      sim_.sleep_until(at_ms(10));
      sim_.changes.clear();
      for (std::size_t i = 0; i < callbacks_.size(); ++i) {
        sim_.sleep_until(at_ms(10 + static_cast<int64_t>(i)));
        note_event();
        engine_.notify(*callbacks_[i]);
      }
      sim_.sleep_until(at_ms(500));
      during_ = sim_.changes;
      engine_.stop();
      spinner->join();
    };
    const Status status = sim_.run(body);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  RecordingSim sim_;
  Engine engine_;
  std::map<std::string, std::shared_ptr<Group>> groups_;
  std::vector<std::shared_ptr<Callback>> callbacks_;
  std::map<int64_t, ThreadId> events_;  ///< a job came, learned of its deadline, or ended
  RecordingSim::Changes during_;
};

TEST_P(EventCosts, are_at_most_two_changes_of_attributes)
{
  for (int i = 0; i < kJobs; ++i) {
    add(i);
  }
  run();
  std::map<int, int> events_with;
  for (const auto & [instant, changes] : during_) {
    const auto event = events_.find(instant);
    ASSERT_NE(event, events_.end()) << "at " << instant << " ns nothing happened to a job";
    for (const auto & [thread, count] : changes) {
      EXPECT_LE(count, thread == event->second ? 2 : 1) << "at " << instant << " ns";
    }
    const auto own = changes.find(event->second);
    ++events_with[own != changes.end() ? own->second : 0];
  }
  std::size_t executed = 0;
  for (const auto & callback : callbacks_) {
    executed += engine_.statistics(*callback).executed;
  }
  EXPECT_EQ(executed, static_cast<std::size_t>(kJobs));
  EXPECT_GT(events_with[1], 5);
  EXPECT_GT(events_with[2], 5) << "or this was no test";
  EXPECT_EQ(events_with[0], 0) << "others change something only after one who has an event";
}

INSTANTIATE_TEST_SUITE_P(
  Models, EventCosts, ::testing::Values(ExecutionModel::kPool, ExecutionModel::kIsolated),
  [](const auto & model) { return model.param == ExecutionModel::kPool ? "pool" : "isolated"; });

TEST(EdfEvents, leave_the_class_of_a_thread_with_a_deadline_to_what_orders_deadlines)
{
  RecordingSim sim(2);
  EngineOptions options = EngineOnSim::with_fifo_bands(sim, {}, 2);
  options.timer_thread = fifo(97);
  Engine engine(sim, options);
  std::shared_ptr<Group> group;
  GroupOptions group_options;
  group_options.name = "group";
  ASSERT_TRUE(engine.add_group(group_options, &group).ok());
  bool has_run = false;
  CallbackOptions soon;
  soon.name = "soon";
  soon.attributes.policy = SchedulingPolicy::kExt;
  soon.attributes.cpu_affinity = CpuSet({1});  // for which the platform is asked
  soon.relative_deadline = milliseconds(5);
  soon.run = [&](const Job &) { return has_run = true; };
  std::shared_ptr<Callback> callback;
  ASSERT_TRUE(engine.add_callback(soon, group, &callback).ok());
  const Status run = sim.run([&] {
    std::unique_ptr<Thread> spinner;
    ASSERT_TRUE(
      sim.start_thread(
           {"spinner", 0, {}}, [&] { EXPECT_TRUE(engine.spin().ok()); }, {}, &spinner)
        .ok());
    sim.sleep_until(at_ms(1));
    engine.notify(*callback);
    sim.sleep_until(at_ms(10));
    engine.stop();
    spinner->join();
  });
  ASSERT_TRUE(run.ok()) << run.message();
  EXPECT_TRUE(has_run);
  EXPECT_EQ(sim.asked.count(SchedulingPolicy::kExt), 0u);
}

}  // namespace
}  // namespace rclrt_core
