// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "stage_logic.hpp"

namespace rclrt_reference_system
{
namespace
{

using rclrt_core::Duration;
using testing::ElementsAre;

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

}  // namespace
}  // namespace rclrt_reference_system
