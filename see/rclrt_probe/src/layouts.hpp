// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What of the structures of rcl and rmw is looked at. Not their headers: this library meets whatever ROS 2 the program
/// brings. These fields have lain there since Galactic, of the wait set since Dashing; a test compares them with the
/// headers of the ROS 2 at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rclrt_probe
{

constexpr std::size_t kGidSize = 16;
constexpr int kOk = 0;  // RCL_RET_OK, RMW_RET_OK

struct MessageInfo  // rmw_message_info_t
{
  int64_t source_timestamp;
  int64_t received_timestamp;
  uint64_t publication_sequence_number;
  uint64_t reception_sequence_number;
  const char * implementation_identifier;
  uint8_t gid[kGidSize];
};

struct Subscription  // rmw_subscription_t
{
  const char * implementation_identifier;
  void * data;
  const char * topic_name;
};

struct PublisherHandle  // rmw_publisher_t
{
  const char * implementation_identifier;
  void * data;
  const char * topic_name;
};

struct ClientHandle  // rmw_client_t
{
  const char * implementation_identifier;
  void * data;
  const char * service_name;
};

struct RequestId  // rmw_request_id_t
{
  uint8_t client[kGidSize];
  int64_t number;
};

struct ServiceInfo  // rmw_service_info_t
{
  int64_t source_timestamp;
  int64_t received_timestamp;
  RequestId request;
};

struct Gid  // rmw_gid_t, with room for the 24 bytes that it had before Iron
{
  const char * implementation_identifier;
  uint8_t data[24];
};

struct TimerCallInfo  // rcl_timer_call_info_t
{
  int64_t expected_call_time;
  int64_t actual_call_time;
};

struct WaitSet  // rcl_wait_set_t
{
  struct Places
  {
    const void * const * first;
    std::size_t count;
  };
  Places subscriptions;
  Places guard_conditions;
  Places timers;
  Places clients;
  Places services;
};

}  // namespace rclrt_probe
