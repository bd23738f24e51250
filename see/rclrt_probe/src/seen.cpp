// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "seen.hpp"

namespace rclrt_probe
{

std::string Seen::missing(bool is_full) const
{
  std::string text;
  const auto say = [&](bool applies, const char * what) {
    if (applies) {
      text += text.empty() ? "" : "\n";
      text += what;
    }
  };
  const bool has_rcl = has(Point::kWait) || has(Point::kPublish) || has(Point::kTake);
  const bool has_callbacks = has(Point::kStart);
  say(
    has_rcl && !has(Point::kNode),
    "names of nodes and topics: rcl calls no tracepoints (built with TRACETOOLS_DISABLED)");
  say(
    has(Point::kPublish) && !has(Point::kPublisher),
    "rmw_publisher_init is not called: publishers were asked for their GID instead");
  const bool has_no_start = has(Point::kAnnounced) && !has_callbacks;
  say(
    has_no_start,
    "callback_start is not called, though callbacks are announced: their jobs are not here");
  say(
    has_callbacks && !has(Point::kEnd),
    "callback_end is not called: jobs that began have no end, and are not here");
  say(
    has(Point::kBareTimer) && !has(Point::kTimerCall),
    "nominal releases of timers: rcl_timer_call_with_info is not called (before Jazzy): a timer "
    "counts as released when its thread came back from waiting");
  say(
    has(Point::kBareMessage) && !has(Point::kTake),
    "messages: rmw_take_with_info is not called, so nobody knows what released jobs");
  say(
    has(Point::kTake) && has(Point::kWait) && !has_callbacks && !has_no_start,
    "callback_start and callback_end are not called (no rclcpp, or built with "
    "TRACETOOLS_DISABLED): a job begins "
    "when its message is taken or its timer is called, and ends when the thread goes on to the "
    "next or waits");
  say(
    has_callbacks && has(Point::kGuessed),
    "callbacks of clients and waitables have no tracepoints: their begin and end are guessed as "
    "those of the take");
  say(has_callbacks && !has(Point::kSymbol), "symbols: rclcpp_callback_register is not called");
  say(
    has_callbacks && !has(Point::kGroup),
    "callback groups: nobody calls rclcpp::CallbackGroup::add_... (rclrt_rcl, or a version with "
    "another signature)");
  say(has(Point::kGuessed) && !has_callbacks, "symbols and callback groups");
  say(
    has_callbacks && !has(Point::kWait),
    "executors: no thread waits on a wait set (an events executor, or one of rclrt)");
  say(has(Point::kUnknownCallback), "callbacks that were never announced: their jobs are not here");
  say(has(Point::kUnknownEntity), "messages were taken from entities that were never announced");
  say(
    has(Point::kUnseenJob),
    "jobs of threads that wait on no wait set, of callbacks without callback_start: not here");
  say(has(Point::kNoRing), "records: there were too many threads at once, or there was no memory");
  say(is_full, "entities: there were more than this library keeps");
  return text;
}

}  // namespace rclrt_probe
