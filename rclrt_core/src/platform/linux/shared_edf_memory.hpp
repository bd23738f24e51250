// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The table that all processes of a user share: a file in memory,
/// /dev/shm/<name>_<version>.<user>.<namespace>. What another release has left lies elsewhere.
///
/// Thread ids mean something within one PID namespace only, so each has its own. A file that is not
/// what it should be is replaced: who finds out marks the old one as given up, so that the processes
/// which still use it move over at their next event, takes its name away and makes a new one. The jobs
/// that were active then enter the new table with their next deadline.
///
/// All words but `given_up` and the mutex's are written under the mutex, and mean nothing without it.
/// Somebody may all the same have written anything: what is read is checked before it is used.
#ifndef RCLRT_CORE__PLATFORM__LINUX__SHARED_EDF_MEMORY_HPP_
#define RCLRT_CORE__PLATFORM__LINUX__SHARED_EDF_MEMORY_HPP_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edf/edf_memory.hpp"
#include "platform/linux/known_processes.hpp"
#include "platform/linux/shared_pi_mutex.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core::linux_platform
{

/// A process that has attached, once for each time, also while it has no job.
struct EdfMember
{
  int32_t process;  ///< 0: free
  uint32_t born;
  uint32_t runners;
};

/// The file. Raise kVersion with every change behind `version`; what is before it stays for ever.
struct SharedEdfFile
{
  static constexpr std::size_t kMaxMembers = 256;
  static constexpr uint64_t kMagic = 0x3146444554524c43;  // "CLRTEDF1"
  static constexpr uint32_t kVersion = 3;

  uint64_t magic;
  uint32_t version;
  uint32_t size;
  /// 1 for ever: use another. Relaxed, by anybody: who sees it late finds the table damaged, or changes
  /// one that nobody looks at any more; its next event comes to the new one.
  std::atomic<uint32_t> given_up;
  uint32_t runners;  ///< as in the table: one that differs is damaged
  SharedPiMutex mutex;
  EdfMember members[kMaxMembers];
  EdfTable table;
};

class SharedEdfMemory final : public EdfMemory
{
public:
  /// Errors: it cannot be made; somebody has made one of another version.
  static Status attach(
    const std::string & name, uint32_t runners, int32_t run_priority,
    std::unique_ptr<EdfMemory> * memory);
  ~SharedEdfMemory() override;

  EdfTable & lock() noexcept override;
  void unlock() noexcept override;
  EdfThread thread(int32_t id) noexcept override;
  const std::vector<Finding> & findings() const override { return findings_; }
  int set_priority(const EdfThread & who, int32_t priority) noexcept override;
  bool is_alive(const EdfThread & who) noexcept override;

  /// Of the file that a name stands for.
  static std::string path(const std::string & name);

private:
  /// What we give up stays mapped: another thread may be in it. So many times, then none is shared.
  static constexpr std::size_t kMaxFiles = 16;

  SharedEdfMemory(std::string path, uint32_t runners, int32_t run_priority);
  void check_limit();
  Status open();
  bool join(SharedEdfFile & file);
  void leave(SharedEdfFile & file) noexcept;
  void count_runners(SharedEdfFile & file) noexcept;
  void set_runners(SharedEdfFile & file, uint32_t runners) noexcept;
  void add_finding(const std::string & what);
  void give_up(const std::string & why) noexcept;

  const std::string path_;
  const uint32_t runners_;
  const int32_t run_priority_;
  SharedEdfFile * file_ = nullptr;
  bool is_listed_ = false;   ///< has a place among the members of file_
  bool is_private_ = false;  ///< none can be shared any more
  int32_t process_ = 0;      ///< ours, and ...
  uint32_t born_ = 0;        ///< ... when it began; another one after a fork
  KnownProcesses others_;
  std::vector<SharedEdfFile *> files_;
  std::unique_ptr<SharedEdfFile> last_resort_;
  std::vector<Finding> findings_;
};

}  // namespace rclrt_core::linux_platform

#endif  // RCLRT_CORE__PLATFORM__LINUX__SHARED_EDF_MEMORY_HPP_
