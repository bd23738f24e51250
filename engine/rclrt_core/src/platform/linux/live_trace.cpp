// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A trace file in memory, whose rings are mapped here and read by others.
//
// Other processes read the file at any time. What makes a chunk visible, the word of its type, is written last, after
// all of its content; before, the file ends there for a reader (type 0). This process reads nothing of it back that
// anything depends on. Cut short by another process, the pages of rings that have gone are replaced (guard()).
//
// Containers with PID namespaces of their own may share the directory. So a file's name has a random part, and its
// process holds a lock (flock(2)) on it as long as it lives, which the kernel gives back. A file gets its name when it is
// whole and locked: so one with a name and without a lock belongs to nobody.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
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
#include "rclrt_core/trace_memory.hpp"
#include "rclrt_trace/record.h"
#include "trace/trace_header.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::Descriptor;
using linux_platform::OtherProcess;
using linux_platform::OwnDirectory;

constexpr char kEnding[] = ".trace";
constexpr std::size_t kRandomDigits = 16;
/// Of processes that have ended.
constexpr std::size_t kMaxLeftBehind = 8;
/// Of names. A program that makes new callbacks for ever does not fill the memory; those after that have no name here.
constexpr uint64_t kMaxNames = uint64_t{4} << 20;
// Somebody may have filled the directory.
constexpr int kMaxEntries = 4096;

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::string message_of(int error) { return std::generic_category().message(error); }

std::string program_name()
{
  std::string name(program_invocation_short_name);
  for (char & c : name) {
    if (std::strchr("/~", c) != nullptr || c < '!' || c > '~') {
      c = '_';
    }
  }
  return name.substr(0, 64);
}

/// No other process has them, in whatever namespace.
std::string random_digits()
{
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
    timespec now{};  // early in the machine's boot
    clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }
  std::string digits(kRandomDigits, '0');
  for (char & digit : digits) {
    digit = "0123456789abcdef"[number & 15];
    number >>= 4;
  }
  return digits;
}

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

/// The parts of a name that is one of ours: <program>-<process>-<executor>-<random>, or without the last as in versions
/// before, whose processes hold no lock; then .trace, or .trace.new of those before.
struct Name
{
  bool is_ours = false;
  bool is_locked_while_it_lives = false;
  int32_t process = 0;
};

Name parse(const std::string & name)
{
  Name parsed;
  std::size_t end = name.rfind(kEnding);
  if (end == std::string::npos) {
    return parsed;
  }
  const std::string rest = name.substr(end + sizeof(kEnding) - 1);
  std::vector<std::string> parts;  // from the last on
  while (parts.size() < 3) {
    const std::size_t dash = end > 0 ? name.rfind('-', end - 1) : std::string::npos;
    if (dash == std::string::npos) {
      break;
    }
    parts.push_back(name.substr(dash + 1, end - dash - 1));
    end = dash;
  }
  const auto is_of = [](const std::string & text, const char * digits) {
    return !text.empty() && text.find_first_not_of(digits) == std::string::npos;
  };
  const char * const decimal = "0123456789";
  const bool has_random =
    parts.size() == 3 && parts[0].size() == kRandomDigits && is_of(parts[0], "0123456789abcdef");
  const std::size_t first = has_random ? 1 : 0;
  if (
    parts.size() < first + 2 || !is_of(parts[first], decimal) ||
    !is_of(parts[first + 1], decimal) || (!rest.empty() && (has_random || rest != ".new"))) {
    return parsed;
  }
  parsed.is_ours = true;
  parsed.is_locked_while_it_lives = has_random;
  // NOLINTNEXTLINE(cert-err34-c): digits; too many are the number of no process
  parsed.process = static_cast<int32_t>(std::strtol(parts[first + 1].c_str(), nullptr, 10));
  return parsed;
}

enum class Left
{
  kNo,       ///< its process lives, or that cannot be known
  kRecords,  ///< of a process that has ended
  kNothing   ///< likewise, and nobody can read it: empty, or cut short
};

Left what_is_left(int file, const std::string & text)
{
  const Name name = parse(text);
  if (!name.is_ours || flock(file, LOCK_EX | LOCK_NB) != 0) {
    return Left::kNo;  // closing it lets the lock go
  }
  Beginning beginning{};
  const bool is_good =
    pread(file, &beginning, sizeof(beginning), 0) == sizeof(beginning) &&
    std::memcmp(beginning.header.magic, RCLRT_TRACE_MAGIC, sizeof(beginning.header.magic)) == 0 &&
    beginning.chunk.type == RCLRT_CHUNK_PROCESS;
  if (name.is_locked_while_it_lives) {
    return is_good ? Left::kRecords : Left::kNothing;
  }
  if (!is_good) {
    return kill(name.process, 0) != 0 && errno == ESRCH ? Left::kNothing : Left::kNo;
  }
  OtherProcess process;
  const auto number = static_cast<int32_t>(beginning.header.process);
  const bool is_seen = beginning.process.pid_namespace == pid_namespace();
  return is_seen && OtherProcess::open(number, beginning.process.born, &process) ==
                      OtherProcess::Found::kGone
           ? Left::kRecords
           : Left::kNo;
}

/// Of processes that have ended all but the newest, and what nobody can read.
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
    if (!parse(name).is_ours) {
      continue;
    }
    const Descriptor file(
      openat(directory.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      continue;
    }
    const Left left = what_is_left(file.get(), name);
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
    name_ = program_name() + "-" + std::to_string(maker_) + "-" +
            std::to_string(made.fetch_add(1, std::memory_order_relaxed) + 1) + "-" +
            random_digits() + kEnding;
    // Without a name at first. Read-only for all but us, so that nobody cuts it short by mistake.
    file_ = Descriptor(openat(directory_.descriptor(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0400));
    if (!file_.is_open() || flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      return Status::error(directory_.path() + "/" + name_ + ": " + message_of(errno));
    }
    header_ = make_trace_header();
    linux_platform::ProcessFacts self;
    OtherProcess::facts_of_self(&self);
    const std::string program = program_name();
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
