// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Writes the job records of a running engine, or executor, into a trace file (rclrt_trace/SPEC.md),
/// for `./rclrt model` and `./rclrt order`.
///
///     rclrt_core::TraceFile file;
///     const rclrt_core::Status opened = file.open("robot.trace");
///     ...now and then, before a thread has made as many records as trace_capacity:
///     executor.read_trace([&](const rclrt_job_record & job) { file.append(job); });
///     ...and at the end once more, then:
///     const rclrt_core::Status closed = file.close(executor.callback_names(), executor.trace_dropped());
///
/// One file for one executor: ids of callbacks are its own. Not thread-safe: one thread at a time. Not
/// real-time safe: it writes to a file system.
#ifndef RCLRT_CORE__TRACE_FILE_HPP_
#define RCLRT_CORE__TRACE_FILE_HPP_

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "rclrt_core/status.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

class TraceFile
{
public:
  TraceFile() = default;
  /// A file that was not closed stays unfinished, as if the program had been killed: readers say so.
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;
  TraceFile & operator=(const TraceFile &) = delete;

  /// Create the file, or empty it. Error: it cannot be written, or one is open already.
  Status open(const std::string & path);

  /// Append one record. False if no file is open, or if this or an earlier write failed: close()
  /// says what. At worst it waits for the file system.
  bool append(const rclrt_job_record & record) noexcept;

  /// Write the names by the ids in the records and the number of records that are missing. Names come
  /// before records, so this moves all of them: it reads and writes the file once. Error: something could not
  /// be written, the file stays unfinished; or none is open. Afterwards none is open.
  Status close(const std::map<uint32_t, std::string> & names, uint64_t dropped);

private:
  bool finish(const std::map<uint32_t, std::string> & names, uint64_t dropped);

  std::FILE * file_ = nullptr;
  std::string path_;
  int error_ = 0;  ///< of the first write that failed
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__TRACE_FILE_HPP_
