// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A program that knows nothing of rclrt hands deadlines on, if RCLRT_CARRY is set.
//
// - A message of a topic that RCLRT_CARRY names ("/scan=20,/imu/data=5": milliseconds) has its publication's time plus
//   so much as deadline, and so has a request to a service that it names.
// - What a thread publishes, asks or replies after it has taken a message has the deadline of that message: the earlier
//   of the two, until the thread takes another one, calls a timer or waits again. Requests and replies are messages
//   here, so all that an action sends and takes is.
//
// The deadlines lie beside the messages, in memory that the programs of this user share (DeadlineRing). The executors
// of rclrt find them there. Nothing that the program or the middleware does is changed: each function below does its
// work and calls the next definition. Nothing of ours takes a lock or calls the operating system, but for the clock,
// after the first publication: that one maps the memory, and belongs to the creation of a node.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "carry.hpp"
#include "layouts.hpp"
#include "next.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "relative_deadlines.hpp"
#include "thread.hpp"

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

using rclrt_core::DeadlineRing;
using rclrt_core::kNever;
using rclrt_core::TimePoint;
using rclrt_probe::ClientHandle;
using rclrt_probe::Gid;
using rclrt_probe::kOk;
using rclrt_probe::MessageInfo;
using rclrt_probe::Next;
using rclrt_probe::RequestId;
using rclrt_probe::ServiceInfo;
using PublisherId = DeadlineRing::PublisherId;

/// The deadline of what this thread works on. No other thread sees it.
thread_local TimePoint inherited = kNever;

/// Made by the first publication or request of the process, and never destroyed: the program may publish while it ends.
struct Carrier
{
  rclrt_probe::RelativeDeadlines topics;
  DeadlineRing * table = nullptr;
};

Carrier * make() noexcept
{
  const char * const text = std::getenv("RCLRT_CARRY");
  if (!text) {
    return nullptr;
  }
  try {
    auto made = std::make_unique<Carrier>();
    const std::string problem = made->topics.parse(text);
    if (!problem.empty()) {
      std::fprintf(
        stderr, "rclrt_run: RCLRT_CARRY: %s; no message gets a deadline by its topic\n",
        problem.c_str());
    }
    const rclrt_core::Status joined = DeadlineRing::join();
    if (!joined.ok()) {
      std::fprintf(
        stderr, "rclrt_run: deadlines stay within this process: %s\n", joined.message().c_str());
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

PublisherId id_of(const uint8_t (&gid)[rclrt_probe::kGidSize]) noexcept
{
  PublisherId id{};
  static_assert(sizeof(gid) == sizeof(id), "a GID");
  std::memcpy(id.data(), gid, id.size());
  return id;
}

/// What this thread works on has it, or so long after now what is named.
TimePoint deadline_of_next(const Carrier & here, const char * name) noexcept
{
  const int64_t relative = name ? here.topics.of(name) : 0;
  if (relative <= 0) {
    return inherited;
  }
  return std::min(inherited, rclrt_core::time_point_of(rclrt_probe::now_ns() + relative));
}

/// Null if the client's requests cannot be known again: there is no table, or no such function (before Iron).
DeadlineRing * table_of(const void * client, PublisherId * id, const void * caller) noexcept
{
  static Next<int(const void *, Gid *)> get_gid("rmw_get_gid_for_client");
  const Carrier * const here = carrier();
  Gid gid{};
  auto * const ask = here && here->table && client ? get_gid.get(caller) : nullptr;
  if (!ask || ask(client, &gid) != kOk) {
    return nullptr;
  }
  std::memcpy(id->data(), gid.data, id->size());
  return here->table;
}

template <typename... ArgumentsT>
int call(Next<int(ArgumentsT...)> & next, const void * caller, ArgumentsT... arguments) noexcept
{
  auto * const real = next.get(caller);
  return real ? real(arguments...) : 1;  // RMW_RET_ERROR: the program could not have been linked
}

Next<int(const ClientHandle *, const void *, int64_t *)> next_send_request("rmw_send_request");
Next<int(const void *, RequestId *, void *)> next_send_response("rmw_send_response");
Next<int(const void *, ServiceInfo *, void *, bool *)> next_take_request("rmw_take_request");
Next<int(const void *, ServiceInfo *, void *, bool *)> next_take_response("rmw_take_response");
Next<int(void *)> next_timer("rcl_timer_call");

}  // namespace

namespace rclrt_probe
{

bool is_about_now(int64_t stamp) noexcept
{
  constexpr int64_t kClockIsSet = 10'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t away = stamp - (now.tv_sec * 1'000'000'000 + now.tv_nsec);
  return -kClockIsSet <= away && away <= kClockIsSet;
}

void carry_to(const void * publisher, const void * caller, int64_t stamp) noexcept
{
  // The first one tells for all.
  static const bool is_stamped = is_about_now(stamp);
  const Carrier * const here = publisher ? carrier() : nullptr;
  if (!here || !here->table || !is_stamped) {
    return;
  }
  const TimePoint deadline =
    deadline_of_next(*here, static_cast<const PublisherHandle *>(publisher)->topic_name);
  if (deadline == kNever) {
    return;
  }
  static Next<int(const void *, Gid *)> get_gid("rmw_get_gid_for_publisher");
  Gid gid{};
  auto * const ask = get_gid.get(caller);
  if (!ask || ask(publisher, &gid) != kOk) {
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

void carry_from(const MessageInfo & info) noexcept
{
  inherited = kNever;
  const Carrier * const here = carrier();
  if (here && here->table) {
    const auto stamp = static_cast<uint64_t>(info.source_timestamp);
    inherited = here->table->find(id_of(info.gid), stamp).value_or(kNever);
  }
}

void carry_nothing() noexcept { inherited = kNever; }

}  // namespace rclrt_probe

RCLRT_EXPORT int rmw_send_request(
  const ClientHandle * client, const void * request, int64_t * number)
{
  const void * const caller = __builtin_return_address(0);
  PublisherId id{};
  DeadlineRing * const table = table_of(client, &id, caller);
  const TimePoint deadline =
    table ? deadline_of_next(*carrier(), client->service_name) : rclrt_core::kNever;
  const rclrt_core::SentRequest sent(table, id, deadline);
  const int result = call(next_send_request, caller, client, request, number);
  // An executor of ours in this program knows better: it has stated its own after ours, and before this.
  if (result == kOk && number && !rclrt_core::deadline_of_request(table, id, *number, 0)) {
    sent.is_sent(*number);
  }
  return result;
}

RCLRT_EXPORT int rmw_send_response(const void * service, RequestId * request, void * response)
{
  const Carrier * const here = inherited == kNever || !request ? nullptr : carrier();
  if (here) {
    rclrt_core::state_deadline_of_reply(
      here->table, id_of(request->client), request->number, inherited);
  }
  return call(next_send_response, __builtin_return_address(0), service, request, response);
}

RCLRT_EXPORT int rmw_take_request(
  const void * service, ServiceInfo * info, void * request, bool * is_taken)
{
  inherited = kNever;
  const int result =
    call(next_take_request, __builtin_return_address(0), service, info, request, is_taken);
  const Carrier * const here = result == kOk && info && is_taken && *is_taken ? carrier() : nullptr;
  if (here) {
    inherited =
      rclrt_core::deadline_of_request(
        here->table, id_of(info->request.client), info->request.number, info->source_timestamp)
        .value_or(kNever);
  }
  return result;
}

RCLRT_EXPORT int rmw_take_response(
  const void * client, ServiceInfo * info, void * response, bool * is_taken)
{
  inherited = kNever;
  const void * const caller = __builtin_return_address(0);
  const int result = call(next_take_response, caller, client, info, response, is_taken);
  PublisherId id{};
  if (result == kOk && info && is_taken && *is_taken) {
    const DeadlineRing * const table = table_of(client, &id, caller);
    inherited = rclrt_core::deadline_of_reply(table, id, info->request.number).value_or(kNever);
  }
  return result;
}

RCLRT_EXPORT int rcl_timer_call(void * timer)
{
  rclrt_probe::carry_nothing();
  return call(next_timer, __builtin_return_address(0), timer);
}
