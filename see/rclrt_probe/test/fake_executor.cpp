// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A node with a timer and a subscription, and an executor, that call what rclcpp and rcl call: linked to fake_ros.c.

#include "fake_executor.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
void ros_trace_rcl_node_init(const void *, const void *, const char *, const char *);
void ros_trace_rcl_timer_init(const void *, int64_t);
void ros_trace_rcl_subscription_init(
  const void *, const void *, const void *, const char *, size_t);
void ros_trace_rclcpp_timer_callback_added(const void *, const void *);
void ros_trace_rclcpp_timer_link_node(const void *, const void *);
void ros_trace_rclcpp_subscription_init(const void *, const void *);
void ros_trace_rclcpp_subscription_callback_added(const void *, const void *);
bool ros_trace_enabled_rclcpp_callback_register();
void ros_trace_do_rclcpp_callback_register(const void *, const char *);
void ros_trace_rmw_publisher_init(const void *, const uint8_t *);
void ros_trace_callback_start(const void *, bool);
void ros_trace_callback_end(const void *);
int rcl_wait(void *, int64_t);
int rcl_timer_call_with_info(void *, int64_t *);
int rmw_publish(const void *, const void *, void *);
int rmw_take_with_info(const void *, void *, bool *, void *, void *);
}

namespace
{

const char node = 0;
char timer = 0;
const char timer_callback = 0;
const char subscription = 0;
const struct
{
  const char * implementation;
  void * data;
  const char * topic;
} subscription_in_rmw = {"fake", nullptr, "/topic"};  // rmw_subscription_t
const char subscription_object = 0;
const char subscription_callback = 0;
const char publisher = 0;
struct
{
  void * words[16];
} wait_set;

/// Whether this distribution has the point: all but the one named by the environment.
bool has(const char * point)
{
  static const char * const without = std::getenv("FAKE_WITHOUT");
  return !without || std::strcmp(without, point) != 0;
}

void register_symbol(const void * callback, const char * symbol)
{
  if (has("rclcpp_callback_register") && ros_trace_enabled_rclcpp_callback_register()) {
    ros_trace_do_rclcpp_callback_register(callback, symbol);
  }
}

}  // namespace

extern "C" void fake_setup()
{
  if (has("rcl_node_init")) {
    ros_trace_rcl_node_init(&node, nullptr, "fake", "/robot");
  }
  if (has("rcl_timer_init")) {
    ros_trace_rcl_timer_init(&timer, 10'000'000);
  }
  if (has("rclcpp_timer_callback_added")) {
    ros_trace_rclcpp_timer_callback_added(&timer, &timer_callback);
  }
  register_symbol(&timer_callback, "Fake::on_timer()");
  if (has("rclcpp_timer_link_node")) {
    ros_trace_rclcpp_timer_link_node(&timer, &node);
  }
  const uint8_t gid[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  if (has("rmw_publisher_init")) {
    ros_trace_rmw_publisher_init(&publisher, gid);
  }
  if (has("rcl_subscription_init")) {
    ros_trace_rcl_subscription_init(&subscription, &node, &subscription_in_rmw, "/topic", 10);
  }
  if (has("rclcpp_subscription_init")) {
    ros_trace_rclcpp_subscription_init(&subscription, &subscription_object);
  }
  if (has("rclcpp_subscription_callback_added")) {
    ros_trace_rclcpp_subscription_callback_added(&subscription_object, &subscription_callback);
  }
  register_symbol(&subscription_callback, "Fake::on_message(Message)");
}

extern "C" void fake_wait()
{
  if (has("rcl_wait")) {
    rcl_wait(&wait_set, 0);
  }
}

extern "C" void fake_timer_job()
{
  int64_t info[2];
  if (has("rcl_timer_call_with_info")) {
    rcl_timer_call_with_info(&timer, info);
  }
  if (has("callback_start")) {
    ros_trace_callback_start(&timer_callback, false);
  }
  if (has("callback_end")) {
    ros_trace_callback_end(&timer_callback);
  }
}

extern "C" void fake_bare_job()
{
  ros_trace_callback_start(&timer_callback, false);
  ros_trace_callback_end(&timer_callback);
}

extern "C" void fake_publish() { rmw_publish(&publisher, nullptr, nullptr); }

extern "C" void fake_message_job()
{
  bool is_taken = false;
  int64_t info[8];
  if (has("rmw_take_with_info")) {
    rmw_take_with_info(&subscription_in_rmw, nullptr, &is_taken, info, nullptr);
  }
  if (has("callback_start")) {
    ros_trace_callback_start(&subscription_callback, false);
  }
  if (has("callback_end")) {
    ros_trace_callback_end(&subscription_callback);
  }
}

extern "C" void fake_take()
{
  bool is_taken = false;
  int64_t info[8];
  rmw_take_with_info(&subscription_in_rmw, nullptr, &is_taken, info, nullptr);
}

// As rcl and rclcpp do that were built without tracepoints.
extern "C" void fake_silent_take()
{
  static const struct
  {
    const char * implementation;
    void * data;
    const char * topic;
  } silent = {"fake", nullptr, "/silent"};
  bool is_taken = false;
  int64_t info[8];
  rmw_take_with_info(&silent, nullptr, &is_taken, info, nullptr);
}

extern "C" void fake_silent_jobs()
{
  fake_wait();
  int64_t times[2];
  rcl_timer_call_with_info(&timer, times);
  fake_publish();
  fake_silent_take();
  fake_wait();
}

extern "C" void fake_driven_timer(bool runs)
{
  static char driver = 0;
  fake_wait();
  int64_t times[2];
  rcl_timer_call_with_info(&driver, times);
  if (runs) {
    ros_trace_callback_start(&timer_callback, false);
    ros_trace_callback_end(&timer_callback);
  }
  fake_wait();
}

extern "C" void fake_unknown()
{
  ros_trace_callback_start(&node, false);
  ros_trace_callback_end(&node);
  ros_trace_callback_start(nullptr, true);
  ros_trace_callback_end(nullptr);
  ros_trace_rcl_node_init(nullptr, nullptr, nullptr, nullptr);
}
