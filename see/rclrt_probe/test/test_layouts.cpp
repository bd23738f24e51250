// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The structures of the ROS 2 at hand are as the probe takes them to be.

#include <gtest/gtest.h>
#include <rcl/timer.h>
#include <rcl/wait.h>
#include <rmw/types.h>

#include <cstddef>

#include "layouts.hpp"

namespace rclrt_probe
{
namespace
{

TEST(Layouts, TheInfoOfAMessage)
{
  EXPECT_EQ(
    offsetof(MessageInfo, source_timestamp), offsetof(rmw_message_info_t, source_timestamp));
  EXPECT_EQ(
    offsetof(MessageInfo, received_timestamp), offsetof(rmw_message_info_t, received_timestamp));
  EXPECT_EQ(
    offsetof(MessageInfo, publication_sequence_number),
    offsetof(rmw_message_info_t, publication_sequence_number));
  EXPECT_EQ(
    offsetof(MessageInfo, gid),
    offsetof(rmw_message_info_t, publisher_gid) + offsetof(rmw_gid_t, data));
  EXPECT_GE(sizeof(Gid), sizeof(rmw_gid_t));
  EXPECT_EQ(offsetof(Gid, data), offsetof(rmw_gid_t, data));
}

TEST(Layouts, ASubscription)
{
  EXPECT_EQ(offsetof(Subscription, topic_name), offsetof(rmw_subscription_t, topic_name));
}

TEST(Layouts, APublisher)
{
  EXPECT_EQ(offsetof(PublisherHandle, topic_name), offsetof(rmw_publisher_t, topic_name));
}

TEST(Layouts, AClientAndTheInfoOfItsRequests)
{
  EXPECT_EQ(offsetof(ClientHandle, service_name), offsetof(rmw_client_t, service_name));
  EXPECT_EQ(sizeof(RequestId), sizeof(rmw_request_id_t));
  EXPECT_EQ(offsetof(RequestId, client), offsetof(rmw_request_id_t, writer_guid));
  EXPECT_EQ(offsetof(RequestId, number), offsetof(rmw_request_id_t, sequence_number));
  EXPECT_EQ(sizeof(ServiceInfo), sizeof(rmw_service_info_t));
  EXPECT_EQ(
    offsetof(ServiceInfo, source_timestamp), offsetof(rmw_service_info_t, source_timestamp));
  EXPECT_EQ(offsetof(ServiceInfo, request), offsetof(rmw_service_info_t, request_id));
}

TEST(Layouts, TheInfoOfATimerCall)
{
  EXPECT_EQ(sizeof(TimerCallInfo), sizeof(rcl_timer_call_info_t));
  EXPECT_EQ(
    offsetof(TimerCallInfo, expected_call_time),
    offsetof(rcl_timer_call_info_t, expected_call_time));
}

TEST(Layouts, AWaitSet)
{
  EXPECT_EQ(offsetof(WaitSet, subscriptions), offsetof(rcl_wait_set_t, subscriptions));
  EXPECT_EQ(
    offsetof(WaitSet, subscriptions) + offsetof(WaitSet::Places, count),
    offsetof(rcl_wait_set_t, size_of_subscriptions));
  EXPECT_EQ(offsetof(WaitSet, timers), offsetof(rcl_wait_set_t, timers));
  EXPECT_EQ(offsetof(WaitSet, clients), offsetof(rcl_wait_set_t, clients));
  EXPECT_EQ(offsetof(WaitSet, services), offsetof(rcl_wait_set_t, services));
}

}  // namespace
}  // namespace rclrt_probe
