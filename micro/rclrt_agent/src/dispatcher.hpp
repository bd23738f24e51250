// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Messages of clients as jobs of an executor: the more urgent first, and clients of equal urgency in turns.
///
/// Every client has a callback group of its own and up to four callbacks in it, one for each band of urgencies
/// that it uses. A job works on one message. So a client that floods holds up the others by one message each
/// time, not by its backlog.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>

#include "agent.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_agent
{

class Dispatcher
{
public:
  static constexpr std::size_t kBands = 4;
  /// `work`: Agent::work().
  using Work = std::function<bool(const std::shared_ptr<Session> & session)>;

  Dispatcher(rclrt_rcl::Node & node, Work work) : node_(node), work_(std::move(work)) {}

  /// By the session's line.
  void operator()(const std::shared_ptr<Session> & session, int urgency);
  /// Forgets sessions that are gone.
  void sweep();

private:
  struct Lane
  {
    std::weak_ptr<Session> session;
    std::shared_ptr<rclrt_rcl::CallbackGroup> group;
    std::array<std::shared_ptr<rclrt_rcl::Waitable>, kBands> bands;
  };

  std::shared_ptr<rclrt_rcl::Waitable> find(const Session * session, std::size_t band);
  void go_on(const std::shared_ptr<Session> & session, rclrt_rcl::Waitable & otherwise);
  std::shared_ptr<rclrt_rcl::Waitable> make(
    const std::shared_ptr<Session> & session, std::size_t band);

  rclrt_rcl::Node & node_;
  const Work work_;
  rclrt_front_end::PiMutex mutex_;
  std::map<const Session *, Lane> lanes_;
  uint64_t made_ = 0;
};

}  // namespace rclrt_agent
