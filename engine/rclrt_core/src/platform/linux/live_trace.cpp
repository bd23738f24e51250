// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A trace file in memory, whose rings are mapped here and read by others.
//
// Other processes read the file at any time. What makes a chunk visible, the word of its type, is written last, after
// all of its content; before, the file ends there for a reader (type 0). This process reads nothing of it back that
// anything depends on. Cut short by another process, the pages of rings that have gone are replaced (guard()).
//
// Containers with PID namespaces of their own may share the directory. So a file has a name that is unique across them
// (trace_name()), and its process holds a lock (flock(2)) on it as long as it lives, which the kernel gives back. A file
// gets its name when it is whole and locked: so one with a name and without a lock belongs to nobody.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/linux/descriptor.hpp"
#include "platform/linux/guarded_memory.hpp"
#include "platform/linux/other_process.hpp"
#include "platform/linux/own_directory.hpp"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_trace/record.h"
#include "trace/trace_header.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::Descriptor;
using linux_platform::OtherProcess;
using linux_platform::OwnDirectory;

/// How many files of processes that have ended are kept.
constexpr std::size_t kMaxLeftBehind = 8;
/// Bytes of names at most. A program that makes new callbacks for ever does not fill the memory; later ones have no name.
constexpr uint64_t kMaxNames = uint64_t{4} << 20;
// Somebody may have filled the directory.
constexpr int kMaxEntries = 4096;

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::string message_of(int error) { return std::generic_category().message(error); }

uint64_t pid_namespace()
{
  struct stat status{};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/// What a file begins with.
struct Beginning
{
  rclrt_trace_header header;
  rclrt_trace_chunk chunk;
  rclrt_trace_process process;
};

enum class Left
{
  kNo,       ///< its process lives
  kRecords,  ///< of a process that has ended
  kNothing   ///< likewise, and nobody can read it: empty, or cut short
};

/// A process has the lock of its file as long as it lives.
Left what_is_left(int file)
{
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    return Left::kNo;  // closing it lets the lock go
  }
  Beginning beginning{};
  const bool is_good =
    pread(file, &beginning, sizeof(beginning), 0) == sizeof(beginning) &&
    std::memcmp(beginning.header.magic, RCLRT_TRACE_MAGIC, sizeof(beginning.header.magic)) == 0 &&
    beginning.chunk.type == RCLRT_CHUNK_PROCESS;
  return is_good ? Left::kRecords : Left::kNothing;
}

/// Removes what processes that have ended have left behind, but for the newest files; and files that nobody can read.
void remove_left_behind(const OwnDirectory & directory)
{
  const int again = openat(directory.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR * const listing = again >= 0 ? fdopendir(again) : nullptr;
  if (!listing) {
    Descriptor closed(again);
    return;
  }
  std::vector<std::pair<int64_t, std::string>> files;
  for (int i = 0; i < kMaxEntries; ++i) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this listing
    const dirent * const entry = readdir(listing);
    if (!entry) {
      break;
    }
    const std::string name = entry->d_name;
    if (!is_trace_name(name)) {
      continue;
    }
    const Descriptor file(
      openat(directory.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      continue;
    }
    const Left left = what_is_left(file.get());
    if (left == Left::kRecords) {
      files.emplace_back(status.st_mtim.tv_sec, name);
    } else if (left == Left::kNothing) {
      unlinkat(directory.descriptor(), name.c_str(), 0);
    }
  }
  closedir(listing);
  std::sort(files.rbegin(), files.rend());
  for (std::size_t i = kMaxLeftBehind; i < files.size(); ++i) {
    unlinkat(directory.descriptor(), files[i].second.c_str(), 0);
  }
}

class LiveTrace final : public TraceMemory, public std::enable_shared_from_this<LiveTrace>
{
public:
  LiveTrace() = default;
  ~LiveTrace() override
  {
    for (const auto & [capacity, ring] : unused_) {
      linux_platform::unguard(ring);
      munmap(ring, length_of(capacity));
    }
    // A copy of this process made by fork() removes nothing.
    if (file_.is_open() && getpid() == maker_) {
      unlinkat(directory_.descriptor(), name_.c_str(), 0);
    }
  }

  Status make()
  {
    Status opened = OwnDirectory::open(OwnDirectory::places(), &directory_);
    if (!opened.ok()) {
      return opened;
    }
    remove_left_behind(directory_);
    static std::atomic<uint32_t> made{0};
    name_ = trace_name(made.fetch_add(1, std::memory_order_relaxed) + 1) + kTraceEnding;
    // Without a name at first. Read-only for all but us, so that nobody cuts it short by mistake.
    file_ = Descriptor(openat(directory_.descriptor(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0400));
    if (!file_.is_open() || flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      return Status::error(directory_.path() + "/" + name_ + ": " + message_of(errno));
    }
    header_ = make_trace_header();
    linux_platform::ProcessFacts self;
    OtherProcess::facts_of_self(&self);
    const std::string program = program_in_trace_name();
    rclrt_trace_process process{};
    process.pid_namespace = pid_namespace();
    process.born = self.born;
    process.name_length = static_cast<uint32_t>(program.size());
    end_ = sizeof(header_);
    errno = 0;
    const std::string content(reinterpret_cast<const char *>(&process), sizeof(process));
    const std::string own = "/proc/self/fd/" + std::to_string(file_.get());
    if (
      !has_room(0) || !write(&header_, sizeof(header_), 0) ||
      !append(RCLRT_CHUNK_PROCESS, content + program) ||
      linkat(AT_FDCWD, own.c_str(), directory_.descriptor(), name_.c_str(), AT_SYMLINK_FOLLOW) !=
        0) {
      const std::string why = message_of(errno != 0 ? errno : ENOSPC);
      file_ = Descriptor();  // it has no name to remove
      return Status::error(directory_.path() + "/" + name_ + ": " + why);
    }
    return {};
  }

  std::shared_ptr<void> ring(std::size_t capacity) override
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto unused = unused_.find(capacity);
    void * const chunk = unused != unused_.end() ? unused->second : new_ring(capacity);
    if (unused != unused_.end()) {
      unused_.erase(unused);
    }
    if (!chunk) {
      return nullptr;
    }
    const auto give_back = [self = shared_from_this(), chunk, capacity](void *) {
      const std::lock_guard<std::mutex> unused_lock(self->mutex_);
      self->unused_.emplace(capacity, chunk);
    };
    return {static_cast<char *>(chunk) + sizeof(rclrt_trace_chunk), give_back};
  }

  void describe(const TraceSource & source) override
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    rclrt_core::describe(source, &header_);
    write(&header_, sizeof(header_), 0);
  }

  void add(const TracedCallback & callback) override
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string entry = rclrt_core::describe(callback);
    if (names_ + entry.size() <= kMaxNames && append(RCLRT_CHUNK_CALLBACK, entry)) {
      names_ += entry.size();
    }
  }

private:
  static uint64_t size_of(std::size_t capacity)
  {
    return sizeof(rclrt_trace_chunk) + sizeof(rclrt_trace_ring) +
           capacity * sizeof(rclrt_job_record);
  }
  static uint64_t length_of(std::size_t capacity)
  {
    return rounded_up(size_of(capacity), static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  }

  bool write(const void * data, std::size_t size, uint64_t at) noexcept
  {
    return pwrite(file_.get(), data, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  }
  /// Half of the file system is for others. To go above the limit of a file's size would end this process.
  bool has_room(uint64_t bytes) const noexcept
  {
    struct statvfs status{};
    rlimit limit{};
    if (
      getrlimit(RLIMIT_FSIZE, &limit) != 0 || fstatvfs(file_.get(), &status) != 0 ||
      end_ + bytes > limit.rlim_cur) {
      return false;
    }
    const uint64_t all = uint64_t{status.f_blocks} * status.f_frsize;
    const uint64_t free = uint64_t{status.f_bavail} * status.f_frsize;
    return all == 0 || (free >= bytes && free - bytes >= all / 2);
  }
  bool show(rclrt_trace_chunk_type type, uint64_t size, uint64_t at) noexcept
  {
    const rclrt_trace_chunk chunk{type, static_cast<uint32_t>(size)};
    return write(&chunk, sizeof(chunk), at);
  }

  // Under the mutex, or before anybody else knows of it:

  bool append(rclrt_trace_chunk_type type, std::string content)
  {
    const std::size_t size = content.size();
    content.append(padding_of_chunk(size), '\0');
    if (
      !has_room(sizeof(rclrt_trace_chunk) + content.size()) ||
      !write(content.data(), content.size(), end_ + sizeof(rclrt_trace_chunk)) ||
      !show(type, size, end_)) {
      return false;
    }
    end_ += sizeof(rclrt_trace_chunk) + content.size();
    return true;
  }

  /// The chunk of a new ring, mapped; null if there is no room.
  void * new_ring(std::size_t capacity)
  {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t at = rounded_up(end_, page);
    const uint64_t length = length_of(capacity);
    const uint64_t content = size_of(capacity) - sizeof(rclrt_trace_chunk);
    if (
      content > UINT32_MAX || !has_room(at - end_ + length) ||
      posix_fallocate(file_.get(), static_cast<off_t>(at), static_cast<off_t>(length)) != 0) {
      return nullptr;
    }
    void * const mapped = mmap(
      nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(),
      static_cast<off_t>(at));
    if (mapped == MAP_FAILED) {
      return nullptr;
    }
    if (!linux_platform::guard(mapped, length)) {
      munmap(mapped, length);
      return nullptr;
    }
    rclrt_trace_ring entry{};
    entry.capacity = static_cast<uint32_t>(capacity);
    std::memcpy(static_cast<char *>(mapped) + sizeof(rclrt_trace_chunk), &entry, sizeof(entry));
    const bool is_shown =
      show(RCLRT_CHUNK_RING, content, at) &&
      (at == end_ || show(RCLRT_CHUNK_PADDING, at - end_ - sizeof(rclrt_trace_chunk), end_));
    if (!is_shown) {
      linux_platform::unguard(mapped);
      munmap(mapped, length);
      return nullptr;
    }
    end_ = at + size_of(capacity);
    return mapped;
  }

  const pid_t maker_ = getpid();
  OwnDirectory directory_;
  Descriptor file_;
  std::string name_;
  std::mutex mutex_;
  rclrt_trace_header header_{};
  uint64_t end_ = 0;                           ///< of the chunks so far
  uint64_t names_ = 0;                         ///< bytes
  std::multimap<std::size_t, void *> unused_;  ///< rings by their capacity
};

}  // namespace

std::shared_ptr<void> TraceMemory::of_process(std::size_t capacity)
{
  const std::size_t size =
    sizeof(rclrt_trace_chunk) + sizeof(rclrt_trace_ring) + capacity * sizeof(rclrt_job_record);
  void * const chunk = std::aligned_alloc(64, size);
  if (!chunk) {
    throw std::bad_alloc();
  }
  // The words of a slot are read only after they were written.
  std::memset(chunk, 0, sizeof(rclrt_trace_chunk) + sizeof(rclrt_trace_ring));
  return {
    static_cast<char *>(chunk) + sizeof(rclrt_trace_chunk), [chunk](void *) { std::free(chunk); }};
}

Status make_live_trace(std::shared_ptr<TraceMemory> * memory)
{
  const auto made = std::make_shared<LiveTrace>();
  const Status status = made->make();
  if (status.ok()) {
    *memory = made;
  }
  return status;
}

}  // namespace rclrt_core
