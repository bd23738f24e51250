// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The ways to get from the middleware's thread to the callback.
#ifndef VARIANTS_HPP_
#define VARIANTS_HPP_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "receiver.hpp"

namespace dispatch
{

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

// Of the front end this program is linked with:

/// Before everything else; returns what has to live until the end.
std::shared_ptr<void> start_up();
std::unique_ptr<Receiver> make_receiver(
  const std::string & topic, std::size_t active, std::size_t idle);
/// For several subscriptions, executors with one thread get an instance each.
std::vector<Variant> executors();

/// The threads of the middleware as they are now, e.g. "fifo 51 x 9"; for the record.
std::string middleware_in_force();
/// Of all other threads of this process.
std::string others_in_force();

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

#endif  // VARIANTS_HPP_
