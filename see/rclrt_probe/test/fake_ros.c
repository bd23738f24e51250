/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * In place of rcl, rmw and tracetools, for tests that need no middleware: counts what reaches it. It lacks many of their
 * functions, as an unknown distribution may.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static atomic_long calls;

long fake_calls(void);
void ros_trace_rcl_node_init(const void *, const void *, const char *, const char *);
void ros_trace_rcl_timer_init(const void *, int64_t);
void ros_trace_rcl_subscription_init(
  const void *, const void *, const void *, const char *, size_t);
void ros_trace_rclcpp_timer_callback_added(const void *, const void *);
void ros_trace_rclcpp_timer_link_node(const void *, const void *);
void ros_trace_rclcpp_subscription_init(const void *, const void *);
void ros_trace_rclcpp_subscription_callback_added(const void *, const void *);
bool ros_trace_enabled_rclcpp_callback_register(void);
void ros_trace_do_rclcpp_callback_register(const void *, const char *);
void ros_trace_rmw_publisher_init(const void *, const uint8_t *);
void ros_trace_callback_start(const void *, bool);
void ros_trace_callback_end(const void *);
int rcl_wait(void *, int64_t);
int rcl_timer_call_with_info(void *, int64_t *);
int rcl_timer_get_period(const void *, int64_t *);
bool rmw_feature_supported(int);
int rmw_get_gid_for_publisher(const void *, uint8_t *);
int rmw_publish(const void *, const void *, void *);
int rmw_take_with_info(const void *, void *, bool *, void *, void *);

static void count(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

long fake_calls(void) { return atomic_load(&calls); }

void ros_trace_rcl_node_init(const void * a, const void * b, const char * c, const char * d)
{
  (void)a, (void)b, (void)c, (void)d;
  count();
}
void ros_trace_rcl_timer_init(const void * a, int64_t b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_rcl_subscription_init(
  const void * a, const void * b, const void * c, const char * d, size_t e)
{
  (void)a, (void)b, (void)c, (void)d, (void)e;
  count();
}
void ros_trace_rclcpp_timer_callback_added(const void * a, const void * b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_rclcpp_timer_link_node(const void * a, const void * b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_rclcpp_subscription_init(const void * a, const void * b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_rclcpp_subscription_callback_added(const void * a, const void * b)
{
  (void)a, (void)b;
  count();
}
/* Nobody traces: it is not to be called in steps then. */
bool ros_trace_enabled_rclcpp_callback_register(void) { return false; }
void ros_trace_do_rclcpp_callback_register(const void * a, const char * b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_rmw_publisher_init(const void * a, const uint8_t * b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_callback_start(const void * a, bool b)
{
  (void)a, (void)b;
  count();
}
void ros_trace_callback_end(const void * a)
{
  (void)a;
  count();
}

int rcl_wait(void * set, int64_t timeout)
{
  (void)set, (void)timeout;
  count();
  return 0;
}

static int64_t now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Due 1 ms ago. */
int rcl_timer_call_with_info(void * timer, int64_t * info)
{
  (void)timer;
  count();
  info[1] = now();
  info[0] = info[1] - 1000000;
  return 0;
}

bool rmw_feature_supported(int feature) { return feature == 0; }

int rcl_timer_get_period(const void * timer, int64_t * period)
{
  (void)timer;
  *period = 25000000;
  return 0;
}

static void put_gid(uint8_t * gid)
{
  for (int i = 0; i < 16; ++i) {
    gid[i] = (uint8_t)(i + 1);
  }
}

/* After the name of the implementation. */
int rmw_get_gid_for_publisher(const void * publisher, uint8_t * gid)
{
  (void)publisher;
  put_gid(gid + sizeof(void *));
  return 0;
}

static atomic_long published;

int rmw_publish(const void * publisher, const void * message, void * allocation)
{
  (void)publisher, (void)message, (void)allocation;
  count();
  atomic_fetch_add_explicit(&published, 1, memory_order_relaxed);
  return 0;
}

/* The message that was published last, of the publisher with the GID 1, 2, ... */
int rmw_take_with_info(
  const void * subscription, void * message, bool * taken, void * info, void * allocation)
{
  (void)subscription, (void)message, (void)allocation;
  count();
  int64_t * const words = info;
  memset(words, 0, 64);
  words[2] = atomic_load_explicit(&published, memory_order_relaxed);
  put_gid((uint8_t *)(words + 5));
  *taken = true;
  return 0;
}
