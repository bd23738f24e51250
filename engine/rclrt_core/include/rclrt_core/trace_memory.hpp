// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where the threads of an engine keep their newest trace records: in the process, or in a file that other processes
/// read while it is written, and that is still there when the process is not (LiveTrace).
#ifndef RCLRT_CORE__TRACE_MEMORY_HPP_
#define RCLRT_CORE__TRACE_MEMORY_HPP_

#include <cstddef>
#include <memory>
#include <string>

#include "rclrt_core/status.hpp"
#include "rclrt_core/trace_source.hpp"

namespace rclrt_core
{

/// Thread-safe. Not real-time safe: an engine calls it when it is made, and when it gets a callback or a thread.
class TraceMemory
{
public:
  TraceMemory() = default;
  virtual ~TraceMemory() = default;
  TraceMemory(const TraceMemory &) = delete;
  TraceMemory & operator=(const TraceMemory &) = delete;

  /// A rclrt_trace_ring, then room for `capacity` records (a power of two), aligned to 64 bytes. Others may use it again
  /// when the pointer and its copies are gone. Null: there is no room.
  virtual std::shared_ptr<void> ring(std::size_t capacity) = 0;
  /// The engine, without its callbacks.
  virtual void describe(const TraceSource & source) = 0;
  /// A callback that has been added.
  virtual void add(const TracedCallback & callback) = 0;

  /// A ring on the heap instead of a file. Never null.
  static std::shared_ptr<void> of_process(std::size_t capacity);
};

/// A trace file (engine/rclrt_trace/SPEC.md) in the directory that the programs of this user share,
/// /dev/shm/rclrt-<uid>/<trace_name()>.trace: a file in memory. It is removed with the engine, but stays if the process
/// is killed or crashes. Files of processes that have ended are removed by later programs, all but the newest 8.
///
/// At most half of the file system that holds it is used: rings that find no room are on the heap.
/// If a process of the same user cuts the file short, records are lost: see platform/linux/guarded_memory.hpp.
///
/// Error: there is no such directory, or no room in it; the text says why. May block.
Status make_live_trace(std::shared_ptr<TraceMemory> * memory);

}  // namespace rclrt_core

#endif  // RCLRT_CORE__TRACE_MEMORY_HPP_
