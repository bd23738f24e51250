// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The subscriptions of one case. They are made once, and every way to dispatch uses the same ones.
#ifndef RECEIVER_HPP_
#define RECEIVER_HPP_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/node.hpp"
#include "slice.hpp"

namespace dispatch
{

/// SCHED_FIFO with this priority.
rclrt_core::Attributes fifo(int priority);

constexpr int kWorkerPriority = 50;
/// So that a worker does not preempt the thread of the middleware that has woken it.
constexpr int kMiddlewarePriority = 51;

class Receiver
{
public:
  using Subscription = rclrt_rcl::Subscription<Message>;

  /// `active` subscriptions to one topic, each in an exclusive group of its own, and `idle` ones to
  /// topics that nobody publishes, together in another.
  Receiver(const std::string & topic, std::size_t active, std::size_t idle);

  const std::vector<std::shared_ptr<Subscription>> & active() const { return active_; }
  const std::vector<std::shared_ptr<rclrt_rcl::CallbackGroup>> & groups() const { return groups_; }
  /// Null if there are no idle subscriptions.
  const std::shared_ptr<rclrt_rcl::CallbackGroup> & idle_group() const { return idle_group_; }

  /// Throw away what nobody has taken: a message that was announced to the way of before would not
  /// be announced again, and who takes one for each announcement would be late for ever.
  void drain();
  /// Where samples go from now on; null: nowhere. Only while nobody dispatches.
  void record_to(Slice * slice) { slice_ = slice; }
  void received(std::size_t subscription, const Message & message)
  {
    if (slice_ != nullptr) {
      slice_->add(subscription, message);
    }
  }

private:
  std::shared_ptr<rclrt_rcl::CallbackGroup> make_group(const std::string & name);

  Slice * slice_ = nullptr;
  const std::shared_ptr<rclrt_rcl::Node> node_;
  std::vector<std::shared_ptr<rclrt_rcl::CallbackGroup>> groups_;
  std::shared_ptr<rclrt_rcl::CallbackGroup> idle_group_;
  std::vector<std::shared_ptr<Subscription>> active_;
  std::vector<std::shared_ptr<Subscription>> idle_;
};

}  // namespace dispatch

#endif  // RECEIVER_HPP_
