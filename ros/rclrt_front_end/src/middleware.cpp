// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/middleware.hpp"

#include <algorithm>
#include <cstdlib>

#include "rclrt_front_end/named_threads.hpp"

namespace rclrt_front_end
{
namespace
{

bool matches_any(const std::vector<std::string> & patterns, const std::string & name)
{
  return std::any_of(patterns.begin(), patterns.end(), [&name](const std::string & pattern) {
    return is_name_of(pattern, name);
  });
}

// Measured: rmw_fastrtps_cpp 9.3 with Fast DDS 3.2.
Middleware fast_dds()
{
  Middleware made;
  made.threads = {"dds.*"};
  // They send again what was lost, and what is published asynchronously. They try the writer's lock in a loop.
  made.busy_waiting = {"dds.asyn.*"};
  made.complete_with = {{"dds.udp.*", "dds.shm.*", "dds.tcp.*", "dds.dsha.*"}, {"dds.ev.*"}};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only a concurrent setenv() would be unsafe
  const char * mode = std::getenv("RMW_FASTRTPS_PUBLICATION_MODE");
  made.publishes_by_busy_waiting = mode && mode == std::string("ASYNCHRONOUS");
  made.reception_stamp = ReceptionStamp::kArrival;
  made.may_run_callbacks = true;
  return made;
}

// Measured: rmw_cyclonedds_cpp 3.2 with Cyclone DDS 0.10. From its sources: the names of 11.0.
Middleware cyclone_dds()
{
  Middleware made;
  made.threads = {"recv", "recvUC", "recvMC", "tev",       "tev.*", "dq.*",
                  "gc",   "lease",  "xmit.*", "threadmon", "fsm"};
  made.complete_with = {
    {"recv", "recvUC", "recvMC", "dq.*"}, {"tev", "tev.*", "gc", "lease", "fsm"}};
  made.reception_stamp = ReceptionStamp::kTake;
  made.has_ids_for_all = false;
  return made;
}

// From the sources of rmw_zenoh_cpp and zenoh-runtime; not measured.
Middleware zenoh()
{
  Middleware made;
  made.threads = {"app-*", "acc-*", "tx-*", "rx-*", "net-*"};
  made.complete_with = {{"rx-*"}, {"app-*", "acc-*", "net-*"}};
  made.reception_stamp = ReceptionStamp::kArrival;
  return made;
}

}  // namespace

const char * to_string(ReceptionStamp stamp) noexcept
{
  switch (stamp) {
    case ReceptionStamp::kArrival:
      return "arrival";
    case ReceptionStamp::kTake:
      return "take";
    case ReceptionStamp::kUnknown:
      break;
  }
  return "unknown";
}

Middleware Middleware::of(const std::string & rmw, bool tells_stamps)
{
  static const struct
  {
    const char * rmw;
    Middleware (*make)();
  } known[] = {
    {"rmw_fastrtps_cpp", fast_dds},
    {"rmw_fastrtps_dynamic_cpp", fast_dds},
    {"rmw_cyclonedds_cpp", cyclone_dds},
    {"rmw_zenoh_cpp", zenoh},
  };
  for (const auto & entry : known) {
    if (rmw == entry.rmw) {
      Middleware made = entry.make();
      made.rmw = rmw;
      made.is_known = true;
      made.tells_stamps = tells_stamps;
      return made;
    }
  }
  Middleware stranger;
  stranger.rmw = rmw;
  stranger.tells_stamps = tells_stamps;
  return stranger;
}

bool Middleware::owns_thread(const std::string & name) const
{
  return matches_any(threads, name) && !matches_any(busy_waiting, name);
}

std::string Middleware::threads_text() const
{
  std::string text;
  for (const std::string & pattern : threads) {
    text += (text.empty() ? "" : ", ") + pattern;
  }
  return text;
}

rclrt_core::Finding Middleware::no_thread_found(const std::string & who) const
{
  const std::string name = rmw.empty() ? "this middleware" : rmw;
  rclrt_core::Finding finding;
  finding.subject = "middleware threads";
  if (is_known) {
    finding.what = "none was found: no thread has a name of " + name + " (" + threads_text() +
                   "). " + who + " preempts those that there are while they hold locks";
    finding.fix =
      "Let the middleware name its threads as it does by default; or give them a higher priority "
      "by its "
      "own means, and set MiddlewareThreadsOptions::mode to off";
  } else {
    finding.what = "none was found: the names of " + name +
                   "'s threads are not known, so they stay as "
                   "they are. " +
                   who + " preempts them while they hold locks";
    finding.fix =
      "Set RMW_IMPLEMENTATION to rmw_fastrtps_cpp or rmw_cyclonedds_cpp, whose threads are known; "
      "or give "
      "its threads a higher priority by its own means, and set MiddlewareThreadsOptions::mode to "
      "off";
  }
  return finding;
}

rclrt_core::Finding Middleware::no_inline(const std::string & who) const
{
  rclrt_core::Finding finding;
  finding.subject = who;
  finding.what = "is queued, although it has an inline_bound: it is not known which locks " +
                 (rmw.empty() ? std::string("this middleware") : rmw) +
                 " holds while it brings a message";
  finding.fix = "Set RMW_IMPLEMENTATION=rmw_fastrtps_cpp, or remove inline_bound";
  return finding;
}

rclrt_core::Finding Middleware::publishes_late(const std::string & who) const
{
  rclrt_core::Finding finding;
  finding.subject = "publications";
  finding.what =
    "of " + who +
    " go out by threads that stay ordinary ones (dds.asyn.*), since they wait for locks without "
    "sleeping: RMW_FASTRTPS_PUBLICATION_MODE is ASYNCHRONOUS";
  finding.fix = "Unset RMW_FASTRTPS_PUBLICATION_MODE: the thread that publishes sends then";
  return finding;
}

rclrt_core::Finding Middleware::no_deadlines() const
{
  rclrt_core::Finding finding;
  finding.subject = "deadlines of messages";
  finding.what =
    "do not reach other processes: " + (rmw.empty() ? std::string("this middleware") : rmw) +
    (tells_stamps
       ? " gives a publisher another id in each process"
       : " does not say the source time stamps of the messages that it sends, by which other "
         "processes find them (it calls no tracepoint rmw_publish, or one before Jazzy)");
  finding.fix =
    std::string(
      tells_stamps
        ? "Use another RMW, as rmw_fastrtps_cpp"
        : "Use an RMW built with tracepoints, as the packages of ROS 2 are from Jazzy on") +
    "; or have the chain in one process; or give the callbacks of the other processes deadlines of "
    "their own (relative_deadline)";
  return finding;
}

}  // namespace rclrt_front_end
