// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// librclrt_carry: a library to preload, with which a program that knows nothing of rclrt hands deadlines on.
//
// - A message of a topic that RCLRT_CARRY names ("/scan=20,/imu/data=5": milliseconds) has its publication's time plus
//   so much as deadline.
// - What a thread publishes after it has taken a message has the deadline of that message: the earlier of the two,
//   until the thread takes another one, calls a timer or waits again.
//
// The deadlines lie beside the messages, in memory that the programs of this user share (DeadlineRing). The executors
// of rclrt find them there. Nothing that the program or the middleware does is changed: each function below does its
// work and calls the next definition. Nothing of ours takes a lock or calls the operating system, but for the clock,
// after the first publication: that one maps the memory, and belongs to the creation of a node.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "layouts.hpp"
#include "next.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "relative_deadlines.hpp"

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

using rclrt_core::DeadlineRing;
using rclrt_core::kNever;
using rclrt_core::TimePoint;
using rclrt_probe::Gid;
using rclrt_probe::kOk;
using rclrt_probe::MessageInfo;
using rclrt_probe::Next;
using PublisherId = DeadlineRing::PublisherId;

/// Of what this thread works on. Of its thread alone.
thread_local TimePoint inherited = kNever;

/// Made by the first publication of the process, and never destroyed: the program may publish while it ends.
struct Carrier
{
  rclrt_probe::RelativeDeadlines topics;
  DeadlineRing * table = nullptr;
};

Carrier * make() noexcept
{
  try {
    auto made = std::make_unique<Carrier>();
    const char * const text = std::getenv("RCLRT_CARRY");
    const std::string problem = made->topics.parse(text ? text : "");
    if (!problem.empty()) {
      std::fprintf(
        stderr, "rclrt_carry: RCLRT_CARRY: %s; no message gets a deadline by its topic\n",
        problem.c_str());
    }
    const rclrt_core::Status joined = DeadlineRing::join();
    if (!joined.ok()) {
      std::fprintf(
        stderr, "rclrt_carry: deadlines stay within this process: %s\n", joined.message().c_str());
    }
    made->table = DeadlineRing::of_process();
    return made.release();
  } catch (...) {
    return nullptr;
  }
}

const Carrier * carrier() noexcept
{
  static const Carrier * const here = make();
  return here;
}

int64_t now_ns(clockid_t clock) noexcept
{
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void carry(
  const rclrt_probe::PublisherHandle & publisher, int64_t stamp, const void * caller) noexcept
{
  // Before Jazzy there is no such argument: then it is whatever was in a register.
  constexpr int64_t kClockIsSet = 10'000'000'000;
  const int64_t away = stamp - now_ns(CLOCK_REALTIME);
  const Carrier * const here = carrier();
  if (!here || !here->table || away < -kClockIsSet || away > kClockIsSet) {
    return;
  }
  TimePoint deadline = inherited;
  const int64_t relative = publisher.topic_name ? here->topics.of(publisher.topic_name) : 0;
  if (relative > 0) {
    deadline = std::min(deadline, rclrt_core::time_point_of(now_ns(CLOCK_MONOTONIC) + relative));
  }
  if (deadline == kNever) {
    return;
  }
  static Next<int(const void *, Gid *)> get_gid("rmw_get_gid_for_publisher");
  Gid gid{};
  auto * const ask = get_gid.get(caller);
  if (!ask || ask(&publisher, &gid) != kOk) {
    return;
  }
  PublisherId id{};
  std::memcpy(id.data(), gid.data, id.size());
  const auto number = static_cast<uint64_t>(stamp);
  // An executor of ours in this program knows better.
  if (!here->table->find(id, number)) {
    here->table->put(id, number, deadline);
  }
}

void take_over(const MessageInfo & info) noexcept
{
  inherited = kNever;
  const Carrier * const here = carrier();
  if (here && here->table) {
    PublisherId id{};
    static_assert(sizeof(info.gid) == sizeof(id), "a GID");
    std::memcpy(id.data(), info.gid, id.size());
    inherited =
      here->table->find(id, static_cast<uint64_t>(info.source_timestamp)).value_or(kNever);
  }
}

template <typename... ArgumentsT>
int call(Next<int(ArgumentsT...)> & next, const void * caller, ArgumentsT... arguments) noexcept
{
  auto * const real = next.get(caller);
  return real ? real(arguments...) : 1;  // RMW_RET_ERROR: the program could not have been linked
}

using Take = int(const void *, void *, bool *, MessageInfo *, void *);

int take(
  Next<Take> & next, const void * caller, const void * subscription, void * message,
  bool * is_taken, MessageInfo * info, void * allocation)
{
  const int result = call(next, caller, subscription, message, is_taken, info, allocation);
  if (result == kOk && is_taken && *is_taken && info) {
    take_over(*info);
  }
  return result;
}

Next<void(const void *, const void *, int64_t)> next_point("ros_trace_rmw_publish");
Next<Take> next_take("rmw_take_with_info");
Next<Take> next_take_serialized("rmw_take_serialized_message_with_info");
Next<Take> next_take_loaned("rmw_take_loaned_message_with_info");
Next<int(const void *, void *, void *, bool *)> next_take_request("rmw_take_request");
Next<int(const void *, void *, void *, bool *)> next_take_response("rmw_take_response");
Next<int(void *, int64_t)> next_wait("rcl_wait");
Next<int(void *)> next_timer("rcl_timer_call");
Next<int(void *, void *)> next_timer_with_info("rcl_timer_call_with_info");

}  // namespace

RCLRT_EXPORT void ros_trace_rmw_publish(const void * publisher, const void * message, int64_t stamp)
{
  const void * const caller = __builtin_return_address(0);
  if (publisher) {
    carry(*static_cast<const rclrt_probe::PublisherHandle *>(publisher), stamp, caller);
  }
  if (auto * const next = next_point.get(caller)) {
    next(publisher, message, stamp);
  }
}

RCLRT_EXPORT int rmw_take_with_info(
  const void * subscription, void * message, bool * is_taken, MessageInfo * info, void * allocation)
{
  return take(
    next_take, __builtin_return_address(0), subscription, message, is_taken, info, allocation);
}

RCLRT_EXPORT int rmw_take_serialized_message_with_info(
  const void * subscription, void * message, bool * is_taken, MessageInfo * info, void * allocation)
{
  return take(
    next_take_serialized, __builtin_return_address(0), subscription, message, is_taken, info,
    allocation);
}

RCLRT_EXPORT int rmw_take_loaned_message_with_info(
  const void * subscription, void * message, bool * is_taken, MessageInfo * info, void * allocation)
{
  return take(
    next_take_loaned, __builtin_return_address(0), subscription, message, is_taken, info,
    allocation);
}

// What begins with these has no deadline of a message.

RCLRT_EXPORT int rmw_take_request(
  const void * service, void * header, void * request, bool * is_taken)
{
  inherited = kNever;
  return call(next_take_request, __builtin_return_address(0), service, header, request, is_taken);
}

RCLRT_EXPORT int rmw_take_response(
  const void * client, void * header, void * response, bool * is_taken)
{
  inherited = kNever;
  return call(next_take_response, __builtin_return_address(0), client, header, response, is_taken);
}

RCLRT_EXPORT int rcl_wait(void * wait_set, int64_t timeout)
{
  inherited = kNever;
  return call(next_wait, __builtin_return_address(0), wait_set, timeout);
}

RCLRT_EXPORT int rcl_timer_call(void * timer)
{
  inherited = kNever;
  return call(next_timer, __builtin_return_address(0), timer);
}

RCLRT_EXPORT int rcl_timer_call_with_info(void * timer, void * info)
{
  inherited = kNever;
  return call(next_timer_with_info, __builtin_return_address(0), timer, info);
}
