// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads of the middleware: their priorities, set and read by the thread that measures.
#ifndef MIDDLEWARE_HPP_
#define MIDDLEWARE_HPP_

#include "receiver.hpp"

namespace dispatch
{

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

#endif  // MIDDLEWARE_HPP_
