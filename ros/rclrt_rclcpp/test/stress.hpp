// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A program under which everything comes, changes and goes at once: nodes, groups and entities, from other
/// threads and from inside callbacks, while the executor is cancelled, spun again by all its ways to spin,
/// interrupted by exceptions and shut down early.
///
/// What rclcpp itself forbids is left out. rcl calls a clock's jump callbacks when simulated time begins, ends or is
/// set, and an action server (of rclcpp_action 29.3) adds and removes one without the clock's mutex: so nodes have
/// either actions or simulated time. And no node has rclcpp's clock thread: when `use_sim_time` becomes false,
/// TimeSource::NodeState::on_parameter_event() of 29.3 joins that thread with the lock that it waits for. And
/// publishers with intra-process communication stay until nothing spins any more:
/// IntraProcessManager::matches_any_publishers() and add_subscription() of 29.3 own every publisher for a moment
/// under the manager's lock, which a publisher's destructor wants, too. So no such publisher ever goes while a
/// message is taken or a subscription is made; others do, and all subscriptions. Nor is a context shut down
/// while a node is being made: NodeBase::NodeBase() of 29.3 forgets the middleware's node if the next step, the
/// publisher of /rosout, then fails. The context is freed all the same, and the middleware's thread uses it.
/// And each action client or server has a group of its own: when one goes, CallbackGroup::remove_waitable() of 29.3
/// owns the group's other waitables for a moment under the mutex that their destructors want, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "rclcpp/rclcpp.hpp"

namespace rclrt_rclcpp
{

class Stress
{
public:
  using MakeExecutor =
    std::function<std::unique_ptr<rclcpp::Executor>(const rclcpp::ExecutorOptions &)>;
  using Random = std::mt19937_64;

  /// With one seed it makes the same decisions each time, in threads that take turns as they like.
  Stress(MakeExecutor make_executor, uint64_t seed);

  /// A few seconds, with a context and an executor of their own.
  void run_round();

  uint64_t callbacks() const { return callbacks_; }
  uint64_t entities() const { return entities_; }
  uint64_t spins() const { return spins_; }
  /// What has happened so far and what each thread does now. From any thread.
  std::string to_string() const;

private:
  class NodeBox;
  struct Round;
  struct Thrown : std::exception
  {
  };

  void spin(Round & round, Random random);
  void change(Round & round, Random random, int number);
  void tick(Round & round, Random random);
  std::shared_ptr<NodeBox> make_node(Round & round, Random & random, int number);
  void add_entity(Round & round, NodeBox & box, Random & random, bool from_callback);
  void add_action(NodeBox & box, Random & random);
  void change_entity(Round & round, NodeBox & box, Random & random);
  void drop_entity(NodeBox & box, Random & random);
  /// What every callback does.
  void called(const std::weak_ptr<NodeBox> & of);

  const MakeExecutor make_executor_;
  const uint64_t seed_;

  std::atomic<uint64_t> rounds_{0};
  std::atomic<uint64_t> callbacks_{0};
  std::atomic<uint64_t> entities_{0};
  std::atomic<uint64_t> nodes_{0};
  std::atomic<uint64_t> spins_{0};
  std::atomic<uint64_t> thrown_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<const char *> spinner_does_{"nothing yet"};
  std::atomic<const char *> changers_do_[2]{{"nothing yet"}, {"nothing yet"}};
  std::atomic<const char *> round_does_{"nothing yet"};
};

}  // namespace rclrt_rclcpp
