// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The subscriptions of one case. They are made once, and every way to dispatch uses the same ones.
#ifndef RECEIVER_HPP_
#define RECEIVER_HPP_

#include <cstddef>
#include <vector>

#include "rcl/subscription.h"
#include "rclrt_core/attributes.hpp"
#include "slice.hpp"

namespace dispatch
{

/// SCHED_FIFO with this priority.
rclrt_core::Attributes fifo(int priority);

constexpr int kWorkerPriority = 50;
/// So that a worker does not preempt the thread of the middleware that has woken it.
constexpr int kMiddlewarePriority = 51;

/// Of a front end, which makes them: `active` subscriptions to one topic, each in an exclusive group of
/// its own, and `idle` ones to topics that nobody publishes, together in another.
class Receiver
{
public:
  Receiver() = default;
  virtual ~Receiver() = default;
  Receiver(const Receiver &) = delete;
  Receiver & operator=(const Receiver &) = delete;

  /// The active ones.
  const std::vector<rcl_subscription_t *> & handles() const { return handles_; }
  bool has_publisher() const;

  /// Throw away what nobody has taken: a message that was announced before another way began would
  /// not be announced again, and a way that takes one for each announcement would lag behind for ever.
  void drain();
  /// Where samples go from now on; null: nowhere. Only while nobody dispatches.
  void record_to(Slice * slice) { slice_ = slice; }
  void received(std::size_t subscription, const Message & message)
  {
    if (slice_ != nullptr) {
      slice_->add(subscription, message);
    }
  }

protected:
  std::vector<rcl_subscription_t *> handles_;

private:
  Slice * slice_ = nullptr;
};

}  // namespace dispatch

#endif  // RECEIVER_HPP_
