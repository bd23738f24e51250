// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The points at which somebody may come in between: on one processor these are the accesses to memory
// that others see, outside critical sections, and the calls of the port. The library that a test links
// is compiled such that it calls the functions of points.cpp at every access.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "rclrt_micro/port.h"

class Points
{
public:
  // Is the library compiled so? Not beside a sanitizer, which is built on the same calls: there only
  // the ends of critical sections and the calls of the transport are points.
  static bool sees_accesses();

  enum class By
  {
    kOperation,        // the operation, which may be interrupted
    kCriticalSection,  // a critical section of it, which may not be
    kComeIn            // what has come in
  };

  // From now on `port` and `transport` tell where their calls are. One at a time.
  Points(rclrt_port & port, rclrt_transport & transport);
  ~Points();
  Points(const Points &) = delete;
  Points & operator=(const Points &) = delete;

  std::function<void()> come_in;  // at the points chosen
  std::function<bool()> matters;  // would it change anything now? Points where not are left out
  // Sees every access: where, whether it writes, and what makes it.
  std::function<void(const void * address, bool writes, By by)> watch;
  int at = 0;            // the point chosen, from 1; 0: none
  int then = 0;          // and once more, so many points later; 0: not
  bool onwards = false;  // every point from there on
  // The critical section that does not mask: the place that enters it. Points inside it count, others
  // do not.
  const void * unmasked = nullptr;

  void begin() { armed_ = true; }
  void end() { armed_ = false; }
  // Between these it is the handlers that run: nobody comes in there.
  void handlers_begin() { ++inside_; }
  void handlers_end() { --inside_; }

  // What has been seen.
  [[nodiscard]] int count() const { return count_; }
  std::set<const void *> sections;  // by the place that enters
  int nested = 0;                   // critical sections inside another: there must be none

  void access(const void * address, bool writes);

private:
  static uint32_t enter(void * context);
  static void leave(void * context, uint32_t token);
  static ptrdiff_t write(void * context, const uint8_t * bytes, size_t size);
  void point();

  rclrt_port & port_;
  rclrt_transport & transport_;
  rclrt_port real_port_;
  rclrt_transport real_transport_;
  bool armed_ = false;
  bool masked_ = false;
  bool in_unmasked_ = false;
  int inside_ = 0;  // somebody has come in
  int count_ = 0;
  const char * stack_ = nullptr;  // its end
};
