// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads a live trace (engine/rclrt_trace/SPEC.md) again and again: what is new since the last time. An executor of this or
/// another process writes it meanwhile (rclrt_core::make_live_trace()), and does not notice.
/// Whatever is in the file, nothing worse happens than wrong numbers: others of the same user may write there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rclrt_core/trace_file.hpp"

namespace rclrt_watch
{

class LiveFollower
{
public:
  LiveFollower() = default;
  ~LiveFollower();
  LiveFollower(LiveFollower && other) noexcept;
  LiveFollower & operator=(LiveFollower && other) noexcept;

  /// False: it is no such file, or its process is known to have ended. What is in rings by now is passed over.
  bool open(const std::string & path);
  /// Looks for callbacks and rings that are new. False: somebody else has written into the file.
  bool look();
  /// Appends the records that are new and can be true, those of each thread in their order. Returns as look(). Of very
  /// many the oldest are lost.
  bool read(std::vector<rclrt_job_record> * records);

  /// Whether its process is known to have ended.
  bool has_ended() const;
  /// False for a process of another PID namespace that has the same number there.
  bool is_of_this_process() const;
  /// Whether somebody has removed the file. What is written into it can still be read.
  bool is_removed() const;
  uint32_t process() const noexcept { return header_.process; }
  uint32_t executor() const noexcept { return header_.executor; }
  /// Names by the ids in records.
  const std::map<uint32_t, std::string> & callbacks() const noexcept { return callbacks_; }
  /// Records that were overwritten before they were read, and those that cannot be true.
  uint64_t lost() const noexcept { return lost_; }

private:
  struct Ring
  {
    uint64_t at = 0;  ///< of its entry
    uint64_t capacity = 0;
    uint64_t next = 0;  ///< record
  };

  bool read_bytes(uint64_t at, void * to, std::size_t size) const;
  bool head_of(const Ring & ring, uint64_t * head) const;
  bool add_callback(uint64_t at, uint64_t size);
  bool add_ring(uint64_t at, uint64_t size);
  bool read_ring(Ring & ring, uint64_t most, std::vector<rclrt_job_record> * records);
  bool read_span(uint64_t at, uint64_t count, std::vector<rclrt_job_record> * records) const;

  int file_ = -1;
  bool is_open_ = false;  ///< before, what is in rings is passed over
  rclrt_trace_header header_{};
  rclrt_trace_process writer_{};
  uint64_t next_chunk_ = sizeof(rclrt_trace_header);
  uint32_t chunks_ = 0;
  uint64_t capacity_ = 0;  ///< of all rings
  uint64_t names_ = 0;     ///< bytes
  std::vector<Ring> rings_;
  std::map<uint32_t, std::string> callbacks_;
  uint64_t lost_ = 0;
};

/// Whether a record can be true: its times in order, and between them what a computer may take.
bool is_sane(const rclrt_job_record & record);

/// The files of this user that may be live traces, in order.
std::vector<std::string> live_traces();

}  // namespace rclrt_watch
