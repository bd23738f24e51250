// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "probe.hpp"

#include <pthread.h>

#include <cstdlib>

#include "thread.hpp"

namespace rclrt_probe
{
namespace
{

/// Null until something of ROS 2 was used: other programs get no more than this library in their memory.
/// Stored once, before the handlers of fork() and exit() can see it.
Probe * made = nullptr;

void before_fork()
{
  if (made) {
    made->writer.before_fork();
  }
}

void after_fork_in_parent()
{
  if (made) {
    made->writer.after_fork(false);
  }
}

void after_fork_in_child()
{
  if (made) {
    thread().start_anew();
    made->writer.after_fork(true);
  }
}

Probe * make() noexcept
{
  const char * const folder = std::getenv("RCLRT_PROBE_FOLDER");
  if (!folder || *folder == '\0') {
    return nullptr;
  }
  try {
    made = new Probe;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
  } catch (...) {
    return nullptr;
  }
}

/// The last to run: what other libraries do at their end is in the files.
__attribute__((destructor)) void ends()
{
  if (made) {
    thread().finish(*made);
    made->writer.finish();
  }
}

}  // namespace

Probe * probe() noexcept
{
  static Probe * const here = make();
  return here;
}

}  // namespace rclrt_probe
