// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The subscriptions of one case. They are made once, and every way to dispatch uses the same ones.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
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

/// A front end makes it: `active` subscriptions to one topic, each in its own exclusive group,
/// and `idle` ones to topics that nobody publishes, together in another.
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

// The ways to get from the middleware's thread to the callback.

/// Dispatches from construction to destruction.
class Dispatching
{
public:
  virtual ~Dispatching() = default;
};

struct Variant
{
  std::string name;
  std::function<std::unique_ptr<Dispatching>(Receiver &)> start;
};

/// Floors: the callback in the listener, and that plus one hand-over to a thread that waits on a
/// futex. With the priorities that the executors have, and ("..._default") with SCHED_OTHER for all.
std::vector<Variant> floors();
/// Runs an active subscription's callback for a message that has come.
using Execute = std::function<void(Receiver &, std::size_t subscription)>;
/// The second kind, `execute` in place of a bare take.
Variant handover_floor(const std::string & name, bool realtime, const Execute & execute = {});

// The front end this program is linked with defines these:

/// Before everything else; returns what has to live until the end.
std::shared_ptr<void> start_up();
std::unique_ptr<Receiver> make_receiver(
  const std::string & topic, std::size_t active, std::size_t idle);
/// For several subscriptions, executors with one thread get an instance each.
std::vector<Variant> executors();

/// Above the workers while it exists, SCHED_OTHER afterwards. Errors: refused.
class RaisedMiddleware
{
public:
  RaisedMiddleware();
  ~RaisedMiddleware();
  RaisedMiddleware(const RaisedMiddleware &) = delete;
  RaisedMiddleware & operator=(const RaisedMiddleware &) = delete;
};

/// Put the calling thread, and those it will start, under SCHED_FIFO. Errors: refused.
void become_worker();

}  // namespace dispatch
