// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Writes the trace records of a running engine, or executor, into a trace file (engine/rclrt_trace/SPEC.md),
/// for `./rclrt trace`, `./rclrt trace model` and `./rclrt trace order`.
///
///     rclrt_core::TraceFile file;
///     const rclrt_core::Status opened = file.open("robot.trace");
///     ...now and then, before a thread has made as many records as trace_capacity:
///     executor.read_trace([&](const rclrt_job_record & job) { file.append(job); });
///     ...and at the end once more, then:
///     const rclrt_core::Status closed = file.close(executor.trace_source());
///
/// A file whose program was killed holds what was flushed. One file for one executor: ids of callbacks are its own.
/// Not thread-safe: one thread at a time. Not real-time safe: it writes to a file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

/// What the records of an engine refer to: its callbacks, and what the engine is.
struct TracedCallback
{
  uint32_t id = 0;  ///< in the records
  std::string name;
  CallbackKind kind = CallbackKind::kWaitable;
  uint32_t group = 0;        ///< a number; callbacks of one group have the same
  uint32_t parallelism = 1;  ///< jobs of the group that may run at once
  std::string group_name;
  Duration period{-1};  ///< of a timer when it was added; negative for all others
};

struct TraceSource
{
  uint32_t executor = 0;  ///< number of the engine within the process, from 1
  rclrt_trace_model model = RCLRT_MODEL_UNKNOWN;
  rclrt_trace_ordering ordering = RCLRT_ORDER_UNKNOWN;
  bool timers_preempt = false;            ///< EngineOptions::release_and_execute
  std::vector<TracedCallback> callbacks;  ///< also the last 1024 that were removed; by id
  /// Records that were overwritten before Engine::read_trace() came for them.
  uint64_t dropped = 0;
};

/// Where the threads of an engine keep their newest trace records: in the process, or in a file that other processes
/// read while it is written, and that stays when the process was killed (make_live_trace()).
///
/// Thread-safe. Not real-time safe: an engine calls it when the engine is made, and when it gets a callback or a thread.
class TraceMemory
{
public:
  TraceMemory() = default;
  virtual ~TraceMemory() = default;
  TraceMemory(const TraceMemory &) = delete;
  TraceMemory & operator=(const TraceMemory &) = delete;

  /// Returns a rclrt_trace_ring, then room for `capacity` records (a power of two), aligned to 64 bytes. The memory is
  /// given out again when the pointer and its copies are gone. Null: there is no room.
  virtual std::shared_ptr<void> ring(std::size_t capacity) = 0;
  /// Tells what the engine is, without its callbacks.
  virtual void describe(const TraceSource & source) = 0;
  /// Tells of a callback that has been added.
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

/// 16 hexadecimal digits, others with each call. No other process has them, in whatever namespace.
std::string random_digits();

/// What a file for traces of this process is called in a folder that programs share, without the ending:
/// <program>-<process>-<executor>-<random_digits()>. Programs in containers with PID namespaces of their own may have the
/// first three in common. Another name with each call.
std::string trace_name(uint32_t executor);

class TraceFile
{
public:
  TraceFile() = default;
  /// If the file was not closed, what was appended since the last flush() is lost.
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;
  TraceFile & operator=(const TraceFile &) = delete;

  /// Create the file, or empty it. Error: it cannot be written, or one is open already.
  Status open(const std::string & path);

  /// Append one record. False if no file is open, or if this or an earlier write failed: close()
  /// says what. At worst it waits for the file system.
  bool append(const rclrt_job_record & record) noexcept;

  /// Write a remark in UTF-8: on a callback, or on the whole file (RCLRT_TRACE_NO_CALLBACK), where the last one counts.
  /// Returns as append().
  bool note(uint32_t callback, const std::string & text) noexcept;

  /// Write what the records refer to, as far as that is not in the file yet, and all records so far. Afterwards the
  /// file is good even if the program is killed. Returns as append().
  bool flush(const TraceSource & source);

  /// flush(), and the end. Error: something could not be written; or no file is open. Afterwards none is open.
  Status close(const TraceSource & source);

  /// Bytes in the file so far, without those that wait for flush().
  uint64_t size() const noexcept { return size_; }

private:
  bool write(const void * data, std::size_t size) noexcept;
  bool write_chunk(rclrt_trace_chunk_type type, const void * data, std::size_t size) noexcept;
  bool write_records() noexcept;
  bool write_header() noexcept;

  std::FILE * file_ = nullptr;
  std::string path_;
  rclrt_trace_header header_{};
  std::vector<rclrt_job_record> records_;   ///< not written yet
  std::unordered_set<uint32_t> described_;  ///< callbacks that are in the file
  uint64_t dropped_ = 0;                    ///< as the file says
  uint64_t size_ = 0;
  int error_ = 0;  ///< of the first write that failed
};

}  // namespace rclrt_core
