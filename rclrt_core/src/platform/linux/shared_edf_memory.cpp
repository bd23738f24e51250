// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/shared_edf_memory.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <system_error>

#include "platform/linux/limits.hpp"
#include "platform/linux/own_file.hpp"
#include "platform/linux/sched_attr.hpp"

namespace rclrt_core::linux_platform
{
namespace
{

// A file with a descriptor and its lock, which another process may hold while it makes the file.
class OpenFile
{
public:
  explicit OpenFile(const std::string & path)
  : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600))
  {
  }
  ~OpenFile()
  {
    if (descriptor_ >= 0) {
      flock(descriptor_, LOCK_UN);  // a mapping of the file would keep it locked
      close(descriptor_);
    }
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile & operator=(const OpenFile &) = delete;

  int get() const noexcept { return descriptor_; }

  /// At most about a second.
  bool lock() noexcept
  {
    for (int i = 0; i < 1000; ++i) {
      if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
        return true;
      }
      usleep(1000);
    }
    return false;
  }

  /// Whether `path` still stands for it.
  bool is_at(const std::string & path) const noexcept
  {
    struct stat here{};
    struct stat there{};
    return fstat(descriptor_, &here) == 0 && stat(path.c_str(), &there) == 0 &&
           here.st_ino == there.st_ino && here.st_dev == there.st_dev;
  }

private:
  const int descriptor_;
};

void make(SharedEdfFile * file, uint32_t runners, int32_t run_priority) noexcept
{
  new (file) SharedEdfFile{};
  clear(file->table, runners, run_priority);
  file->runners = file->table.runners;
  file->version = SharedEdfFile::kVersion;
  file->size = sizeof(SharedEdfFile);
  file->magic = SharedEdfFile::kMagic;
}

// Of whatever size: a table of another version is in use by programs of another release.
Status check_version(const std::string & path, int descriptor)
{
  struct
  {
    uint64_t magic;
    uint32_t version;
  } head{};
  const bool is_table =
    pread(descriptor, &head, sizeof(head), 0) == static_cast<ssize_t>(sizeof(head)) &&
    head.magic == SharedEdfFile::kMagic;
  if (!is_table || head.version == SharedEdfFile::kVersion) {
    return {};
  }
  return Status::error(
    path + ": version " + std::to_string(head.version) + ", but this program uses version " +
    std::to_string(SharedEdfFile::kVersion) +
    ": build all programs with the same release, stop them all and remove the file");
}

Status failed(const std::string & path, const char * what, int error)
{
  return Status::error(path + ": " + what + ": " + std::generic_category().message(error));
}

}  // namespace

std::string SharedEdfMemory::path(const std::string & name)
{
  struct stat pid_namespace{};
  stat("/proc/self/ns/pid", &pid_namespace);
  return "/dev/shm/" + name + "_" + std::to_string(SharedEdfFile::kVersion) + "." +
         std::to_string(geteuid()) + "." + std::to_string(pid_namespace.st_ino);
}

Status SharedEdfMemory::attach(
  const std::string & name, uint32_t runners, int32_t run_priority,
  std::unique_ptr<EdfMemory> * memory)
{
  if (name.empty() || name.size() > 100 || name.find('/') != std::string::npos) {
    return Status::error(
      "'" + name + "' cannot be the name of shared memory: 1 to 100 bytes, no '/'");
  }
  std::unique_ptr<SharedEdfMemory> shared(new SharedEdfMemory(path(name), runners, run_priority));
  const Status opened = shared->open();
  if (opened.ok()) {
    shared->check_limit();
    *memory = std::move(shared);
  }
  return opened;
}

SharedEdfMemory::SharedEdfMemory(std::string path, uint32_t runners, int32_t run_priority)
: path_(std::move(path)), runners_(runners), run_priority_(run_priority)
{
  files_.reserve(kMaxFiles);
  last_resort_ = std::make_unique<SharedEdfFile>();
}

SharedEdfMemory::~SharedEdfMemory()
{
  if (file_ && !is_private_ && file_->given_up.load(std::memory_order_relaxed) == 0) {
    leave(*file_);
  }
  for (SharedEdfFile * file : files_) {
    munmap(file, sizeof(SharedEdfFile));
  }
}

// The kernel goes by the limit of the thread's process, whoever asks, unless who asks has the capability.
// With root all have it.
void SharedEdfMemory::check_limit()
{
  if (
    geteuid() != 0 && soft_limit(RLIMIT_RTPRIO) < static_cast<rlim_t>(run_priority_) &&
    has_capability(CAP_SYS_NICE)) {
    findings_.push_back(
      {path_,
       "programs of this user without CAP_SYS_NICE can lower the threads of this one, but not "
       "raise "
       "them again: it has the capability, and RLIMIT_RTPRIO is " +
         limit_text(RLIMIT_RTPRIO) + ", less than " + std::to_string(run_priority_),
       0,
       "Give this program RLIMIT_RTPRIO too (systemd: LimitRTPRIO=99; container: --ulimit "
       "rtprio=99), "
       "or all of them the capability"});
  }
}

// A file that is no good is replaced by a new one.
Status SharedEdfMemory::open()
{
  for (int attempt = 0; attempt < 3; ++attempt) {
    OpenFile opened(path_);
    if (opened.get() < 0) {
      return failed(path_, "opening", errno);
    }
    if (!opened.lock()) {
      return Status::error(path_ + ": another program has it locked; stop that program");
    }
    if (!opened.is_at(path_)) {
      continue;  // replaced while we waited
    }
    struct stat status{};
    fstat(opened.get(), &status);
    Status usable = check_own_file(path_, status);
    if (usable.ok()) {
      usable = check_version(path_, opened.get());
    }
    if (!usable.ok()) {
      return usable;
    }
    const bool is_new = status.st_size == 0;
    const bool fits = status.st_size == static_cast<off_t>(sizeof(SharedEdfFile));
    if (is_new) {
      if (const int error = posix_fallocate(opened.get(), 0, sizeof(SharedEdfFile))) {
        unlink(path_.c_str());
        return failed(path_, "making room", error);
      }
    }
    SharedEdfFile * file = nullptr;
    if (is_new || fits) {
      void * const memory = mmap(
        nullptr, sizeof(SharedEdfFile), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
        opened.get(), 0);
      if (memory == MAP_FAILED) {
        return failed(path_, "mapping", errno);
      }
      file = static_cast<SharedEdfFile *>(memory);
      if (is_new) {
        make(file, runners_, run_priority_);
      }
    }
    if (
      file && file->magic == SharedEdfFile::kMagic && file->size == sizeof(SharedEdfFile) &&
      file->given_up.load(std::memory_order_relaxed) == 0) {
      if (file->table.run_priority != run_priority_) {
        const std::string theirs = std::to_string(file->table.run_priority);
        munmap(file, sizeof(SharedEdfFile));
        return Status::error(
          path_ + ": the programs that use it have run_priority " + theirs + ", this one " +
          std::to_string(run_priority_) + ": give all the same, stop them all and remove the file");
      }
      if (join(*file)) {
        file_ = file;
        files_.push_back(file);
        return {};
      }
    }
    const bool was_given_up = file && file->given_up.load(std::memory_order_relaxed) == 1;
    if (file) {
      file->given_up.store(1, std::memory_order_relaxed);
      munmap(file, sizeof(SharedEdfFile));
    }
    if (!was_given_up) {
      add_finding("was not a table of this program's (damaged, or left by a crash)");
    }
    unlink(path_.c_str());
  }
  return Status::error(
    path_ + ": replaced by others again and again; is another program writing it?");
}

// False: its lock is no good, or what is in it.
bool SharedEdfMemory::join(SharedEdfFile & file)
{
  if (file.mutex.lock() == SharedPiMutex::Result::kBroken) {
    return false;
  }
  if (!is_sound(file.table)) {
    file.mutex.unlock();
    return false;
  }
  const EdfThread self = thread(0);
  for (EdfMember & member : file.members) {
    const bool is_own = member.process == self.process && member.born == self.born;
    if (member.process != 0 && !is_own && !others_.is_alive(member.process, member.born)) {
      member.process = 0;
    }
  }
  EdfMember * const end = file.members + SharedEdfFile::kMaxMembers;
  EdfMember * const free =
    std::find_if(file.members, end, [](const EdfMember & member) { return member.process == 0; });
  is_listed_ = free != end;
  if (is_listed_) {
    *free = {self.process, self.born, runners_};
  }
  count_runners(file);
  remove_dead(file.table, *this, self);
  file.mutex.unlock();
  return true;
}

void SharedEdfMemory::leave(SharedEdfFile & file) noexcept
{
  if (file.mutex.lock() == SharedPiMutex::Result::kBroken) {
    return;
  }
  const EdfThread self = thread(0);
  EdfMember * const end = file.members + SharedEdfFile::kMaxMembers;
  EdfMember * const own = std::find_if(file.members, end, [&](const EdfMember & member) {
    return member.process == self.process && member.born == self.born && member.runners == runners_;
  });
  if (is_listed_ && own != end) {
    own->process = 0;
  }
  count_runners(file);
  file.mutex.unlock();
}

// The smallest of all who may have jobs. Fewer CPUs than there are leave the order among jobs that have one
// to the priorities of those that wait; more would leave it to chance. Who has no place among the members
// counts from its next event until others come or go.
void SharedEdfMemory::count_runners(SharedEdfFile & file) noexcept
{
  uint32_t runners = EdfTable::kMaxJobs;
  for (const EdfMember & member : file.members) {
    if (member.process != 0 && member.runners > 0) {
      runners = std::min(runners, member.runners);
    }
  }
  set_runners(file, runners);
}

void SharedEdfMemory::set_runners(SharedEdfFile & file, uint32_t runners) noexcept
{
  file.runners = file.table.runners = runners;
}

void SharedEdfMemory::add_finding(const std::string & what)
{
  const bool known = std::any_of(
    findings_.begin(), findings_.end(), [&](const auto & other) { return other.what == what; });
  if (!known) {
    findings_.push_back({path_, what, 0, "It was repaired; nothing is to be done"});
  }
}

// Rare: it may allocate and block. The alternative is not to be scheduled at all.
void SharedEdfMemory::give_up(const std::string & why) noexcept
{
  // Relaxed: a flag that only ever goes up; who sees it late finds out by itself.
  const bool is_first = file_->given_up.exchange(1, std::memory_order_relaxed) == 0;
  std::string fix = "It was replaced; nothing is to be done";
  try {
    // open() sees the mark on the old file and takes its name away, unless another has done so.
    Status opened = Status::error("too often");
    if (files_.size() < kMaxFiles) {
      opened = open();
    }
    if (!opened.ok()) {
      fix = "Deadlines are from here on ordered within this process only: " + opened.message();
    }
    is_private_ = !opened.ok();
    if (is_first || is_private_) {
      findings_.push_back({path_, why, 0, fix});
    }
  } catch (...) {
    is_private_ = true;
  }
  if (is_private_) {
    make(last_resort_.get(), runners_, run_priority_);
    file_ = last_resort_.get();
  }
}

EdfTable & SharedEdfMemory::lock() noexcept
{
  for (std::size_t i = 0; !is_private_ && i <= kMaxFiles; ++i) {
    if (file_->given_up.load(std::memory_order_relaxed) != 0) {
      give_up("was given up by another process");
      continue;
    }
    const SharedPiMutex::Result locked = file_->mutex.lock();
    if (locked == SharedPiMutex::Result::kBroken) {
      give_up("its lock was damaged, or held for longer than 100 ms");
      continue;
    }
    // Within the limits is not enough: all who use it have the same run priority, the number of CPUs is
    // there twice, and as the smallest it is no more than ours.
    EdfTable & table = file_->table;
    const bool is_unusable = !is_usable(table) || table.run_priority != run_priority_;
    const bool has_more = table.runners > runners_;
    const bool is_damaged =
      is_unusable || table.runners != file_->runners || (has_more && is_listed_);
    if (is_damaged || locked == SharedPiMutex::Result::kOwnerDied) {
      if (is_unusable || !is_sound(table)) {
        // Half changed: every process enters its jobs again with their next deadlines.
        clear(table, runners_, run_priority_);
      }
      count_runners(*file_);
      set_runners(*file_, std::min(table.runners, runners_));  // we may not be among the members
      remove_dead(table, *this, thread(0));
      add_finding(
        is_damaged ? "was damaged while in use" : "a process died while it changed the table");
    } else if (has_more) {
      set_runners(*file_, runners_);
    }
    return table;
  }
  return file_->table;
}

void SharedEdfMemory::unlock() noexcept
{
  if (!is_private_) {
    file_->mutex.unlock();
  }
}

EdfThread SharedEdfMemory::thread(int32_t id) noexcept
{
  const int32_t process = getpid();
  if (process != process_) {
    process_ = process;
    born_ = KnownProcesses::born(process);
  }
  return {process, id, born_};
}

// Between the question and the change another thread would have to end and its number to go round.
int SharedEdfMemory::set_priority(const EdfThread & who, int32_t priority) noexcept
{
  // A damaged entry may name no thread at all: to the kernel, 0 is the one that asks.
  const bool is_ours = who.is_of_the_process_of(thread(0));
  if (who.thread <= 0 || (!is_ours && !is_alive(who))) {
    return ESRCH;
  }
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return set_policy(who.thread, attributes);
}

bool SharedEdfMemory::is_alive(const EdfThread & who) noexcept
{
  return others_.is_alive(who.process, who.born) &&
         (syscall(SYS_tgkill, who.process, who.thread, 0) == 0 || errno != ESRCH);
}

}  // namespace rclrt_core::linux_platform
