// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for the tracepoints that rcl and rmw call. Pointers are only compared, never followed, but for names and
// GIDs: what an older ROS 2 passes besides may be missing here.

#include "carry.hpp"
#include "stand_in.hpp"

using rclrt_core::CallbackKind;
using rclrt_probe::hash_of;
using rclrt_probe::Point;
using rclrt_probe::Probe;
using rclrt_probe::Publisher;
using rclrt_probe::Release;
using rclrt_probe::thread;

namespace
{

/// A request or a response was taken.
void taken(Probe & probe, const void * handle, uint64_t publisher, int64_t number) noexcept
{
  thread().goes_on(probe);
  Release release;
  release.callback = probe.inventory.find_middleware(handle);
  if (!release.callback) {
    probe.seen.note(Point::kUnknownEntity);
    return;
  }
  release.cause = RCLRT_CAUSE_MESSAGE;
  release.publisher = publisher;
  release.message = static_cast<uint64_t>(number);
  thread().released(probe, release);
}

}  // namespace

RCLRT_POINT(
  rcl_node_init,
  (const void * node, const void * middleware, const char * name, const char * name_space),
  (node, middleware, name, name_space))
{
  static_cast<void>(middleware);
  probe.seen.note(Point::kNode);
  probe.inventory.add_node(node, name, name_space);
}

RCLRT_POINT(
  rcl_subscription_init,
  (const void * handle, const void * node, const void * middleware, const char * topic,
   size_t depth),
  (handle, node, middleware, topic, depth))
{
  static_cast<void>(depth);
  probe.seen.note(Point::kEntity);
  probe.inventory.add(CallbackKind::kSubscription, handle, middleware, node, topic ? topic : "");
}

RCLRT_POINT(
  rcl_service_init,
  (const void * handle, const void * node, const void * middleware, const char * service),
  (handle, node, middleware, service))
{
  probe.seen.note(Point::kEntity);
  probe.inventory.add(CallbackKind::kService, handle, middleware, node, service ? service : "");
}

RCLRT_POINT(
  rcl_client_init,
  (const void * handle, const void * node, const void * middleware, const char * service),
  (handle, node, middleware, service))
{
  probe.seen.note(Point::kEntity);
  probe.inventory.add(CallbackKind::kClient, handle, middleware, node, service ? service : "");
}

RCLRT_POINT(rcl_timer_init, (const void * handle, int64_t period), (handle, period))
{
  probe.seen.note(Point::kEntity);
  probe.inventory.add(CallbackKind::kTimer, handle, nullptr, nullptr, "", period);
}

RCLRT_POINT(rmw_publisher_init, (const void * middleware, const uint8_t * gid), (middleware, gid))
{
  probe.seen.note(Point::kPublisher);
  probe.inventory.add_publisher(middleware, gid);
}

RCLRT_POINT(
  rcl_publisher_init,
  (const void * handle, const void * node, const void * middleware, const char * topic,
   size_t depth),
  (handle, node, middleware, topic, depth))
{
  static_cast<void>(handle);
  static_cast<void>(topic);
  static_cast<void>(depth);
  probe.inventory.set_node_of_publisher(middleware, node);
}

RCLRT_POINT(rmw_client_init, (const void * middleware, const uint8_t * gid), (middleware, gid))
{
  probe.inventory.add_client_gid(middleware, gid);
}
RCLRT_POINT_IN_STEPS(
  rmw_client_init, (const void * middleware, const uint8_t * gid), (middleware, gid))

static rclrt_probe::Next<void(const void *, const void *, int64_t)> next_rmw_publish(
  "ros_trace_rmw_publish");

extern "C" __attribute__((visibility("default"))) void ros_trace_rmw_publish(
  const void * middleware, const void * message, int64_t timestamp)
{
  const void * const caller = __builtin_return_address(0);
  Probe * const probe = rclrt_probe::probe();
  if (probe && rclrt_probe::is_about_now(timestamp)) {
    probe->is_stamped.store(true, std::memory_order_relaxed);
    thread().source_timestamp = timestamp;  // for the stand-in of rmw_publish() around this call
  }
  rclrt_probe::carry_to(middleware, caller, timestamp);
  if (auto * const next = next_rmw_publish.get(caller)) {
    next(middleware, message, timestamp);
  }
}

RCLRT_POINT(
  rmw_send_request, (const void * middleware, const void * request, int64_t number),
  (middleware, request, number))
{
  static_cast<void>(request);
  const Publisher * const client = probe.inventory.find_client(middleware);
  if (client && client->hash != 0) {
    thread().published(probe, client->hash, static_cast<uint64_t>(number), rclrt_probe::now_ns());
  }
}

RCLRT_POINT(
  rmw_take_request,
  (const void * middleware, const void * request, const uint8_t * client, int64_t number,
   bool is_taken),
  (middleware, request, client, number, is_taken))
{
  static_cast<void>(request);
  if (is_taken) {
    taken(probe, middleware, hash_of(client, false), number);
  } else {
    thread().goes_on(probe);
  }
}

RCLRT_POINT(
  rmw_send_response,
  (const void * middleware, const void * response, const uint8_t * client, int64_t number,
   int64_t timestamp),
  (middleware, response, client, number, timestamp))
{
  static_cast<void>(middleware);
  static_cast<void>(response);
  static_cast<void>(timestamp);
  thread().published(
    probe, hash_of(client, true), static_cast<uint64_t>(number), rclrt_probe::now_ns());
}

RCLRT_POINT(
  rmw_take_response,
  (const void * middleware, const void * response, int64_t number, int64_t timestamp,
   bool is_taken),
  (middleware, response, number, timestamp, is_taken))
{
  static_cast<void>(response);
  static_cast<void>(timestamp);
  if (!is_taken) {
    thread().goes_on(probe);
    return;
  }
  const Publisher * const client = probe.inventory.find_client(middleware);
  taken(probe, middleware, client ? client->answers : 0, number);
}
