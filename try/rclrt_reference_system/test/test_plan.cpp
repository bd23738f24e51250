// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "plan.hpp"
#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{
namespace
{

using namespace std::chrono_literals;
using rclrt_core::Duration;

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
