// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "plan.hpp"
#include "rclrt_reference_system/scenario.hpp"
#include "stage_logic.hpp"

namespace rclrt_reference_system
{

namespace
{

using rclrt_core::Duration;
using testing::ElementsAre;
using namespace std::chrono_literals;

Message numbered(uint64_t sequence)
{
  Message message;
  message.sequence = sequence;
  message.published_ns = static_cast<int64_t>(sequence) * 10;
  return message;
}

class StageLogicTest : public testing::Test
{
protected:
  StageLogic make(NodeKind kind, std::size_t inputs, bool publishes = true, int root = -1)
  {
    StageLogic::Options options;
    options.kind = kind;
    options.inputs = inputs;
    options.root = root;
    options.is_sink = is_sink_;
    options.input_capacity.assign(inputs, 4);
    options.timer_capacity = 4;
    return StageLogic(
      options, BusyWork(1000.0),
      publishes ? [this](Message & message) { sent_.push_back(message); } : StageLogic::Publish());
  }

  std::vector<uint64_t> sent_numbers() const
  {
    std::vector<uint64_t> numbers;
    for (const Message & message : sent_) {
      numbers.push_back(message.sequence);
    }
    return numbers;
  }

  std::vector<Message> sent_;
  bool is_sink_ = false;
};

TEST_F(StageLogicTest, a_sensor_publishes_at_each_release)
{
  StageLogic sensor = make(NodeKind::kSensor, 0);
  sensor.on_timer(100, 110);
  sensor.on_timer(200, 205);
  EXPECT_THAT(sent_numbers(), ElementsAre(1, 2));
  EXPECT_EQ(sensor.published(), 2u);
  ASSERT_EQ(sensor.timer_log().size(), 2u);
  const JobSample & job = sensor.timer_log().begin()[1];
  EXPECT_EQ(job.release_ns, 200);
  EXPECT_EQ(job.start_ns, 205);
  EXPECT_GT(job.end_ns, 205);
  EXPECT_EQ(job.out_sequence, 2u);
  EXPECT_EQ(job.in_sequence, 0u);
}

TEST_F(StageLogicTest, a_transform_publishes_for_each_input)
{
  StageLogic transform = make(NodeKind::kTransform, 1);
  transform.on_message(0, numbered(7), 100, 110);
  transform.on_message(0, numbered(9), 200, 210);
  EXPECT_THAT(sent_numbers(), ElementsAre(1, 2));
  const JobSample & job = transform.input_log(0).begin()[1];
  EXPECT_EQ(job.in_sequence, 9u);
  EXPECT_EQ(job.sent_ns, 90);
  EXPECT_EQ(job.release_ns, 200);
  EXPECT_EQ(job.start_ns, 210);
  EXPECT_EQ(job.out_sequence, 2u);
}

TEST_F(StageLogicTest, a_fusion_waits_for_a_new_sample_of_every_input_and_forgets_them)
{
  StageLogic fusion = make(NodeKind::kFusion, 2);
  fusion.on_message(0, numbered(1), 1, 2);
  fusion.on_message(0, numbered(2), 3, 4);
  EXPECT_TRUE(sent_.empty());
  fusion.on_message(1, numbered(1), 5, 6);
  EXPECT_THAT(sent_numbers(), ElementsAre(1));
  fusion.on_message(1, numbered(2), 7, 8);
  EXPECT_THAT(sent_numbers(), ElementsAre(1)) << "the sample of input 0 was used up";
  fusion.on_message(0, numbered(3), 9, 10);
  EXPECT_THAT(sent_numbers(), ElementsAre(1, 2));
  EXPECT_EQ(fusion.input_log(0).begin()[0].out_sequence, 0u) << "it only stored the sample";
  EXPECT_EQ(fusion.input_log(1).begin()[0].out_sequence, 1u);
}

TEST_F(StageLogicTest, a_cyclic_node_works_by_its_timer_only_also_without_inputs)
{
  StageLogic cyclic = make(NodeKind::kCyclic, 2);
  cyclic.on_message(0, numbered(1), 1, 2);
  cyclic.on_message(1, numbered(1), 3, 4);
  EXPECT_TRUE(sent_.empty());
  cyclic.on_timer(10, 11);
  cyclic.on_timer(20, 21);
  EXPECT_THAT(sent_numbers(), ElementsAre(1, 2));
}

TEST_F(StageLogicTest, a_command_and_a_timer_publish_nothing)
{
  make(NodeKind::kCommand, 1, false).on_message(0, numbered(1), 1, 2);
  make(NodeKind::kTimer, 0, false).on_timer(1, 2);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(StageLogicTest, a_root_stamps_its_data_and_the_first_receiver_says_when_it_came)
{
  StageLogic root = make(NodeKind::kSensor, 0, true, 1);
  root.on_timer(100, 110);
  EXPECT_EQ(sent_[0].origins[1].sequence, 1u);
  EXPECT_GT(sent_[0].origins[1].published_ns, 0);
  EXPECT_EQ(sent_[0].origins[1].received_ns, 0);
  EXPECT_EQ(sent_[0].origins[0].sequence, 0u);

  StageLogic first = make(NodeKind::kTransform, 1);
  first.on_message(0, Message(sent_[0]), 500, 510);
  EXPECT_EQ(sent_[1].origins[1].received_ns, 500);
  StageLogic second = make(NodeKind::kTransform, 1);
  second.on_message(0, Message(sent_[1]), 900, 910);
  EXPECT_EQ(sent_[2].origins[1].received_ns, 500) << "later receivers leave it alone";
}

TEST_F(StageLogicTest, fused_data_has_the_origins_of_all_inputs_and_the_older_of_the_same)
{
  Message left;
  left.origins[0].sequence = 5;
  left.origins[0].received_ns = 50;
  left.origins[1].sequence = 3;
  left.origins[1].received_ns = 30;
  Message right;
  right.origins[0].sequence = 4;
  right.origins[0].received_ns = 40;
  right.origins[2].sequence = 9;
  right.origins[2].received_ns = 90;
  StageLogic fusion = make(NodeKind::kFusion, 2);
  fusion.on_message(0, left, 100, 100);
  fusion.on_message(1, right, 100, 100);
  const Origins & origins = sent_[0].origins;
  EXPECT_EQ(origins[0].received_ns, 40) << "the older of two is the one that limits";
  EXPECT_EQ(origins[1].received_ns, 30);
  EXPECT_EQ(origins[2].received_ns, 90);

  fusion.on_message(0, Message(), 200, 200);
  fusion.on_message(1, Message(), 200, 200);
  EXPECT_EQ(sent_[1].origins[0].sequence, 0u) << "origins of earlier data must not stick";
}

TEST_F(StageLogicTest, the_sink_keeps_a_sample_for_each_piece_of_hot_path_data_it_works_on)
{
  is_sink_ = true;
  StageLogic sink = make(NodeKind::kTransform, 1);
  Message hot;
  hot.origins[0].sequence = 7;
  hot.origins[0].received_ns = 20;
  sink.on_message(0, hot, 100, 110);
  sink.on_message(0, Message(), 200, 210);
  ASSERT_EQ(sink.hot_path_log().size(), 1u) << "data of no root is none of the hot path's";
  const HotPathSample & sample = *sink.hot_path_log().begin();
  EXPECT_EQ(sample.origins[0].sequence, 7u);
  EXPECT_EQ(sample.origins[0].received_ns, 20);
  EXPECT_EQ(sample.start_ns, 110);
  EXPECT_GT(sample.end_ns, 110);
}

TEST_F(StageLogicTest, a_full_log_counts_what_it_could_not_keep)
{
  StageLogic sensor = make(NodeKind::kSensor, 0);
  for (int i = 0; i < 7; ++i) {
    sensor.on_timer(i, i);
  }
  EXPECT_EQ(sensor.timer_log().size(), 4u);
  EXPECT_EQ(sensor.timer_log().lost(), 3u);
}

class AutowarePlan : public testing::Test
{
protected:
  void SetUp() override
  {
    const std::string file = std::string(RCLRT_SCENARIOS) + "/autoware_reference_system.yaml";
    const rclrt_core::Status status = load_scenario(file, 2, &scenario_);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::map<std::string, PlannedCallback> plan(PolicyChoice policy)
  {
    const rclrt_core::Status status = make_plan(scenario_, policy, &plan_);
    EXPECT_TRUE(status.ok()) << status.message();
    std::map<std::string, PlannedCallback> by_name;
    for (const PlannedCallback & callback : plan_.callbacks) {
      by_name[callback.name] = callback;
    }
    return by_name;
  }

  Scenario scenario_;
  Plan plan_;
};

TEST_F(AutowarePlan, has_a_callback_for_each_timer_and_each_input)
{
  // 7 timers (6 sensors and the planner); inputs: 9 transforms, 5 x 2 fusions, 6 of the planner,
  // 2 of the intersection, 2 commands.
  EXPECT_EQ(plan(PolicyChoice::kFifo).size(), 7u + 9 + 10 + 6 + 2 + 2);
  for (const PlannedCallback & callback : plan_.callbacks) {
    EXPECT_EQ(callback.priority, 0) << callback.name;
  }
}

TEST_F(AutowarePlan, critical_path_is_four_callbacks_because_the_transformers_run_at_once)
{
  plan(PolicyChoice::kRateMonotonic);
  EXPECT_EQ(plan_.critical_path_work, Duration(4 * 1930us));
  EXPECT_EQ(plan_.hot_path_work, Duration(5 * 1930us));
  EXPECT_EQ(plan_.hot_path_deadline, Duration(100ms));
}

TEST_F(AutowarePlan, finds_the_callbacks_of_the_hot_path_and_no_others)
{
  std::vector<std::string> hot;
  for (const auto & [name, callback] : plan(PolicyChoice::kRateMonotonic)) {
    if (callback.on_hot_path) {
      hot.push_back(name);
    }
  }
  EXPECT_THAT(
    hot, testing::UnorderedElementsAre(
           "FrontLidarDriver", "RearLidarDriver", "PointsTransformerFront<FrontLidarDriver",
           "PointsTransformerRear<RearLidarDriver", "PointCloudFusion<PointsTransformerFront",
           "PointCloudFusion<PointsTransformerRear", "RayGroundFilter<PointCloudFusion",
           "EuclideanClusterDetector<RayGroundFilter",
           "ObjectCollisionEstimator<EuclideanClusterDetector"));
}

TEST_F(AutowarePlan, rates_follow_the_slowest_input)
{
  auto callbacks = plan(PolicyChoice::kFifo);
  EXPECT_NEAR(callbacks["VoxelGridDownsampler<PointCloudFusion"].rate_hz, 10, 1e-9);
  EXPECT_NEAR(callbacks["Lanelet2GlobalPlanner<Visualizer"].rate_hz, 1000.0 / 60, 1e-9);
  EXPECT_NEAR(callbacks["ParkingPlanner<Lanelet2MapLoader"].rate_hz, 1000.0 / 120, 1e-9);
  EXPECT_NEAR(callbacks["VehicleInterface<BehaviorPlanner"].rate_hz, 10, 1e-9);
}

TEST_F(AutowarePlan, rate_monotonic_ranks_sensors_by_period_and_inherits_downstream)
{
  auto c = plan(PolicyChoice::kRateMonotonic);
  const int ms25 = c["EuclideanClusterSettings"].priority;
  const int ms60 = c["Visualizer"].priority;
  const int ms100 = c["FrontLidarDriver"].priority;
  const int ms120 = c["PointCloudMap"].priority;
  EXPECT_GT(ms25, ms60);
  EXPECT_GT(ms60, ms100);
  EXPECT_GT(ms100, ms120);
  EXPECT_GE(ms120, kLowestPriority);
  EXPECT_LE(ms25, kHighestPriority);
  EXPECT_EQ(c["RearLidarDriver"].priority, ms100);
  EXPECT_EQ(c["BehaviorPlanner"].priority, ms100);
  EXPECT_EQ(c["ObjectCollisionEstimator<EuclideanClusterDetector"].priority, ms100);
  EXPECT_EQ(c["PointCloudMapLoader<PointCloudMap"].priority, ms120);
  EXPECT_EQ(c["NDTLocalizer<PointCloudMapLoader"].priority, ms120) << "by what triggers it";
  EXPECT_EQ(c["NDTLocalizer<VoxelGridDownsampler"].priority, ms100);
  EXPECT_EQ(c["Lanelet2MapLoader<Lanelet2GlobalPlanner"].priority, ms60);
  EXPECT_EQ(c["IntersectionOutput<EuclideanIntersection"].priority, ms25);
  EXPECT_EQ(c["EuclideanClusterDetector<RayGroundFilter"].priority, ms100);
  EXPECT_EQ(c["VehicleInterface<BehaviorPlanner"].priority, ms100)
    << "a cyclic node passes on its timer's priority, not its inputs'";
}

TEST_F(AutowarePlan, hot_path_highest_lifts_the_hot_path_and_nothing_downstream_of_it)
{
  auto rm = plan(PolicyChoice::kRateMonotonic);
  for (const auto & [name, callback] : plan(PolicyChoice::kHotPathHighest)) {
    const int expected = callback.on_hot_path ? kHotPathPriority : rm[name].priority;
    EXPECT_EQ(callback.priority, expected) << name;
  }
}

TEST_F(AutowarePlan, deadlines_are_the_periods_of_timers_and_inherited_by_the_rest)
{
  for (const auto & [name, callback] : plan(PolicyChoice::kEdf)) {
    EXPECT_EQ(callback.deadline, callback.period) << name;
    EXPECT_EQ(callback.priority, 0) << name;
  }
}

TEST(Plan, deadline_monotonic_ranks_by_deadline_and_given_priorities_stay)
{
  Scenario scenario;
  const rclrt_core::Status loaded = parse_scenario(
    "schema: 1\nname: x\nnodes:\n"
    "- {name: A, kind: sensor, period_ms: 10, deadline_ms: 9, output: a}\n"
    "- {name: B, kind: sensor, period_ms: 20, deadline_ms: 5, output: b}\n"
    "- {name: C, kind: transform, input: a, output: c, priority: 77}\n"
    "- {name: D, kind: command, input: c}\n",
    "x", 2, &scenario);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  Plan plan;
  ASSERT_TRUE(make_plan(scenario, PolicyChoice::kDeadlineMonotonic, &plan).ok());
  EXPECT_LT(plan.callbacks[0].priority, plan.callbacks[1].priority);
  EXPECT_EQ(plan.callbacks[2].priority, 77);
  EXPECT_EQ(plan.callbacks[3].priority, 77) << "inherited downstream";
  ASSERT_TRUE(make_plan(scenario, PolicyChoice::kRateMonotonic, &plan).ok());
  EXPECT_GT(plan.callbacks[0].priority, plan.callbacks[1].priority);
}

}  // namespace

}  // namespace rclrt_reference_system
