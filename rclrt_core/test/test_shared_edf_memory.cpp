// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The table that processes share: what a crash, a damaged file or another version leave behind. Every
// wait is bounded; nobody here uses a CPU, only the priorities that threads were given are looked at.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "platform/linux/shared_edf_memory.hpp"
#include "rclrt_core/fifo_bands.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::KnownProcesses;
using linux_platform::SharedEdfFile;
using linux_platform::SharedEdfMemory;
using linux_platform::SharedPiMutex;

class SharedTable : public ::testing::Test
{
protected:
  SharedTable()
  : name_("rclrt_test_" + std::to_string(getpid())), path_(SharedEdfMemory::path(name_))
  {
    unlink(path_.c_str());
  }
  ~SharedTable() override { unlink(path_.c_str()); }

  std::unique_ptr<EdfMemory> attach()
  {
    std::unique_ptr<EdfMemory> memory;
    const Status status = SharedEdfMemory::attach(name_, 2, 49, &memory);
    EXPECT_TRUE(status.ok()) << status.message();
    return memory;
  }

  /// The file, as somebody else sees it.
  SharedEdfFile * map()
  {
    const int descriptor = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    void * const memory =
      mmap(nullptr, sizeof(SharedEdfFile), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<SharedEdfFile *>(memory);
  }

  /// Runs in a process of its own, which then kills itself.
  template <typename Body>
  static void in_process_that_is_killed(const Body & body)
  {
    const pid_t child = fork();
    if (child == 0) {
      body();
      kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }

  std::string name_;
  std::string path_;
  LinuxPlatform platform_;
};

TEST_F(SharedTable, is_the_same_for_all_who_attach)
{
  const auto one = attach();
  const auto other = attach();
  one->lock().arrivals = 4711;
  one->unlock();
  EXPECT_EQ(other->lock().arrivals, 4711u);
  other->unlock();
  EXPECT_TRUE(one->findings().empty());
}

TEST_F(SharedTable, goes_on_after_a_process_was_killed_with_the_lock)
{
  const auto memory = attach();
  in_process_that_is_killed([&] {
    const auto theirs = attach();
    theirs->lock();
    kill(getpid(), SIGKILL);
  });
  memory->lock();
  memory->unlock();
  ASSERT_EQ(memory->findings().size(), 1u);
  EXPECT_NE(memory->findings().front().what.find("died"), std::string::npos);
}

TEST_F(SharedTable, is_emptied_when_a_process_died_half_way_through_a_change)
{
  const auto memory = attach();
  in_process_that_is_killed([&] {
    const auto theirs = attach();
    theirs->lock().count = 3;  // and the jobs are not there
    kill(getpid(), SIGKILL);   // before anything of it is undone
  });
  EXPECT_EQ(memory->lock().count, 0u);
  memory->unlock();
}

TEST_F(SharedTable, forgets_the_jobs_of_a_process_that_was_killed)
{
  const auto memory = attach();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    EdfTable & table = memory->lock();
    table.jobs[0] = {10, 0, memory->thread(getpid()), 49};
    table.count = 1;
    memory->unlock();
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EdfTable & table = memory->lock();
  EXPECT_EQ(table.count, 1u);
  remove_dead(table, *memory, memory->thread(0));
  EXPECT_EQ(table.count, 0u);
  memory->unlock();
}

TEST_F(SharedTable, replaces_a_file_of_garbage_with_a_finding)
{
  for (const std::size_t size : {std::size_t{1}, sizeof(SharedEdfFile), std::size_t{100000}}) {
    unlink(path_.c_str());
    std::ofstream(path_) << std::string(size, 'x');
    ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
    const auto memory = attach();
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(memory->lock().count, 0u);
    memory->unlock();
    ASSERT_EQ(memory->findings().size(), 1u);
    EXPECT_EQ(memory->findings().front().subject, path_);
  }
}

/// Of whatever size: programs of another release are using it.
TEST_F(SharedTable, of_another_version_is_an_error_that_names_the_file)
{
  const auto size = static_cast<off_t>(sizeof(SharedEdfFile));
  for (const off_t their_size : {size, size - 64, size + 4096, off_t{16}}) {
    unlink(path_.c_str());
    attach();
    SharedEdfFile * const file = map();
    ++file->version;
    munmap(file, sizeof(SharedEdfFile));
    ASSERT_EQ(truncate(path_.c_str(), their_size), 0);
    std::unique_ptr<EdfMemory> memory;
    const Status status = SharedEdfMemory::attach(name_, 2, 49, &memory);
    ASSERT_FALSE(status.ok()) << their_size;
    EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
    const std::string version = "version " + std::to_string(SharedEdfFile::kVersion + 1);
    EXPECT_NE(status.message().find(version), std::string::npos) << status.message();
    struct stat left{};
    ASSERT_EQ(stat(path_.c_str(), &left), 0) << "it is theirs";
    EXPECT_EQ(left.st_size, their_size);
  }
}

TEST_F(SharedTable, that_others_may_open_is_an_error_with_a_remedy)
{
  attach();
  std::unique_ptr<EdfMemory> memory;
  for (const mode_t mode : {0660, 0604}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    const Status status = SharedEdfMemory::attach(name_, 2, 49, &memory);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("chmod 600"), std::string::npos) << status.message();
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_TRUE(SharedEdfMemory::attach(name_, 2, 49, &memory).ok());
}

TEST_F(SharedTable, of_another_user_is_an_error)
{
  attach();
  if (chown(path_.c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "only root may give a file away";
  }
  std::unique_ptr<EdfMemory> memory;
  const Status status = SharedEdfMemory::attach(name_, 2, 49, &memory);
  ASSERT_FALSE(status.ok());
  // Or the kernel has refused it already (fs.protected_regular).
  const bool says_why = status.message().find("belongs to user 65534") != std::string::npos ||
                        status.message().find("opening") != std::string::npos;
  EXPECT_TRUE(says_why) << status.message();
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

/// Without the limit, others may not raise a thread that its own process has raised by the capability.
TEST_F(SharedTable, of_a_program_that_others_cannot_raise_is_a_finding)
{
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root may become another user and keep a capability";
  }
  struct stat folder{};
  if (stat("/dev/shm", &folder) != 0 || (folder.st_mode & S_IWOTH) == 0) {
    GTEST_SKIP() << "other users may not write to /dev/shm: no tmpfs is mounted there";
  }
  EXPECT_TRUE(attach()->findings().empty()) << "of root";
  for (const bool has_capability : {true, false}) {
    const pid_t child = fork();
    if (child == 0) {
      const rlimit none{};
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      const uint32_t kept = has_capability ? 1u << CAP_SYS_NICE : 0u;
      const __user_cap_data_struct capabilities[2] = {{kept, kept, 0}, {0, 0, 0}};
      if (
        setrlimit(RLIMIT_RTPRIO, &none) != 0 || prctl(PR_SET_KEEPCAPS, 1) != 0 ||
        setuid(65534) != 0 || syscall(SYS_capset, &header, capabilities) != 0) {
        _exit(99);
      }
      std::unique_ptr<EdfMemory> memory;
      const Status status = SharedEdfMemory::attach(name_, 2, 49, &memory);
      unlink(SharedEdfMemory::path(name_).c_str());
      if (!status.ok()) {
        _exit(98);
      }
      for (const Finding & finding : memory->findings()) {
        if (finding.what.find("RLIMIT_RTPRIO is 0, less than 49") == std::string::npos) {
          _exit(97);
        }
      }
      _exit(static_cast<int>(memory->findings().size()));
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    ASSERT_TRUE(WIFEXITED(ended));
    EXPECT_EQ(WEXITSTATUS(ended), has_capability ? 1 : 0);
  }
}

/// The numbers of a process and its thread, given out again.
TEST_F(SharedTable, does_not_touch_a_thread_that_has_the_number_of_one_that_is_gone)
{
  const auto memory = attach();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(0);
  }
  const EdfThread now{child, child, KnownProcesses::born(child)};
  const EdfThread before{child, child, now.born - 1};
  EXPECT_NE(now.born, 0u);
  memory->lock();
  EXPECT_TRUE(memory->is_alive(now));
  EXPECT_FALSE(memory->is_alive(before));
  EXPECT_EQ(memory->set_priority(before, 10), ESRCH);
  memory->unlock();
  Attributes attributes;
  EXPECT_EQ(platform_.read_back(child, &attributes), 0);
  EXPECT_EQ(attributes.policy, SchedulingPolicy::kOther);
  // One that has ended is gone, also while nobody has asked for its status.
  kill(child, SIGKILL);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  memory->lock();
  EXPECT_FALSE(memory->is_alive(now));
  EXPECT_EQ(memory->set_priority(now, 10), ESRCH);
  memory->unlock();
  waitpid(child, nullptr, 0);
}

/// So may our own.
TEST_F(SharedTable, does_not_take_one_that_had_our_number_for_us)
{
  const auto memory = attach();
  EdfThread before = memory->thread(gettid());
  --before.born;
  EdfTable & table = memory->lock();
  EXPECT_EQ(memory->set_priority(before, 10), ESRCH);
  table.jobs[0] = {10, 0, before, 49};
  table.count = 1;
  remove_dead(table, *memory, memory->thread(0));
  EXPECT_EQ(table.count, 0u);
  memory->unlock();
}

/// What a damaged table may hold; the kernel would take it for the thread that asks.
TEST_F(SharedTable, nobody_is_not_the_thread_that_asks)
{
  const auto memory = attach();
  memory->lock();
  for (const EdfThread & nobody :
       {EdfThread{0, 0, 0}, EdfThread{-1, 0, 0}, EdfThread{0, gettid(), 0}, memory->thread(0)}) {
    EXPECT_EQ(memory->set_priority(nobody, 10), ESRCH);
  }
  EXPECT_FALSE(memory->is_alive({0, 0, 0}));
  memory->unlock();
  Attributes attributes;
  EXPECT_EQ(platform_.read_back(gettid(), &attributes), 0);
  EXPECT_EQ(attributes.policy, SchedulingPolicy::kOther);
}

TEST_F(SharedTable, damaged_while_in_use_is_repaired)
{
  const auto memory = attach();
  SharedEdfFile * const file = map();
  file->table.count = 0xffffffff;
  file->table.runners = 0;
  const EdfTable & table = memory->lock();
  EXPECT_EQ(table.count, 0u);
  EXPECT_EQ(table.runners, 2u);
  memory->unlock();
  EXPECT_EQ(memory->findings().size(), 1u);
  munmap(file, sizeof(SharedEdfFile));
}

/// Anything would do for a table, but not for this one.
TEST_F(SharedTable, damaged_within_what_is_possible_is_repaired_too)
{
  const auto attached = attach();
  SharedEdfFile * const file = map();
  const uint32_t runners = file->table.runners;
  const int32_t run_priority = file->table.run_priority;
  const auto damage = [&](std::unique_ptr<EdfMemory> & memory, auto change) {
    EdfTable & table = memory->lock();
    table.jobs[0] = {10, 0, memory->thread(gettid()), 0};
    table.count = 1;
    change(table);
    memory->unlock();
    EXPECT_TRUE(is_sound(table)) << "or it is the other test";
    const EdfTable & repaired = memory->lock();
    EXPECT_EQ(repaired.run_priority, run_priority);
    EXPECT_EQ(repaired.runners, runners);
    EXPECT_TRUE(is_sound(repaired));
    const uint32_t count = repaired.count;
    memory->unlock();
    EXPECT_EQ(memory->findings().size(), 1u);
    return count;
  };
  for (const int32_t wrong : {2, run_priority - 1, run_priority + 1, 98}) {
    auto memory = attach();
    EXPECT_EQ(damage(memory, [&](EdfTable & table) { table.run_priority = wrong; }), 0u) << wrong;
  }
  for (const uint32_t wrong : {runners - 1, runners + 1, EdfTable::kMaxJobs}) {
    auto memory = attach();
    EXPECT_EQ(damage(memory, [&](EdfTable & table) { table.runners = wrong; }), 1u)
      << wrong << ": the jobs are as they were";
  }
  EXPECT_TRUE(attached->findings().empty());
  munmap(file, sizeof(SharedEdfFile));
}

/// The words of the lock hold something that no unlock will ever undo: who waits gives up after a time
/// and all move to a new file.
TEST_F(SharedTable, with_a_damaged_lock_is_replaced_by_all_who_use_it)
{
  const auto stuck = static_cast<uint32_t>(getpid());  // alive, and not about to unlock anything
  for (const uint32_t word : {stuck, 0x3fffffffu, 0xffffffffu, 0x80000000u, 0x40000000u}) {
    unlink(path_.c_str());
    const auto one = attach();
    const auto other = attach();
    SharedEdfFile * const file = map();
    std::memcpy(static_cast<void *>(&file->mutex), &word, sizeof(word));
    std::thread([&] {  // its id is none of these
      one->lock().arrivals = 4711;
      one->unlock();
      EXPECT_EQ(other->lock().arrivals, 4711u) << std::hex << word;
      other->unlock();
    })
      .join();
    munmap(file, sizeof(SharedEdfFile));
  }
}

TEST_F(SharedTable, goes_by_the_smallest_number_of_cpus_while_others_are_there)
{
  // Also while they have no job.
  const auto two = attach();
  const auto runners = [&] {
    const uint32_t now = two->lock().runners;
    two->unlock();
    return now;
  };
  std::unique_ptr<EdfMemory> four;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 4, 49, &four).ok());
  EXPECT_EQ(runners(), 2u);
  std::unique_ptr<EdfMemory> one;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 1, 49, &one).ok());
  EXPECT_EQ(runners(), 1u);
  one.reset();
  EXPECT_EQ(runners(), 2u);
  // One that was killed counts until the next one comes.
  in_process_that_is_killed([&] {
    std::unique_ptr<EdfMemory> theirs;
    static_cast<void>(SharedEdfMemory::attach(name_, 1, 49, &theirs).ok());
    kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(runners(), 1u);
  std::unique_ptr<EdfMemory> three;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 3, 49, &three).ok());
  EXPECT_EQ(runners(), 2u);
}

TEST_F(SharedTable, has_room_for_more_than_it_can_keep_count_of)
{
  std::vector<std::unique_ptr<EdfMemory>> all;
  for (std::size_t i = 0; i < SharedEdfFile::kMaxMembers; ++i) {
    all.push_back(attach());
  }
  std::unique_ptr<EdfMemory> one;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 1, 49, &one).ok());
  const auto runners_of = [](EdfMemory & memory) {
    const uint32_t runners = memory.lock().runners;
    memory.unlock();
    return runners;
  };
  EXPECT_EQ(runners_of(*one), 1u);
  EXPECT_EQ(runners_of(*all.front()), 1u);
  attach().reset();
  EXPECT_EQ(runners_of(*one), 1u) << "again, from its next event on";
  std::unique_ptr<EdfMemory> three;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 3, 49, &three).ok());
  EXPECT_EQ(runners_of(*three), 2u) << "of those who have a place";
  all.push_back(std::move(three));
  all.push_back(std::move(one));
  for (const auto & memory : all) {
    EXPECT_LE(runners_of(*memory), 2u);
    EXPECT_TRUE(memory->findings().empty()) << to_string(memory->findings().front());
  }
}

TEST_F(SharedTable, keeps_the_place_of_a_member_when_one_without_a_place_leaves)
{
  std::unique_ptr<EdfMemory> one;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 1, 49, &one).ok());
  std::vector<std::unique_ptr<EdfMemory>> all;
  for (std::size_t i = 1; i < SharedEdfFile::kMaxMembers; ++i) {
    all.push_back(attach());
  }
  std::unique_ptr<EdfMemory> without;
  ASSERT_TRUE(SharedEdfMemory::attach(name_, 1, 49, &without).ok());
  without.reset();
  EXPECT_EQ(all.front()->lock().runners, 1u);
  all.front()->unlock();
}

TEST_F(SharedTable, of_another_run_priority_is_an_error)
{
  const auto memory = attach();
  std::unique_ptr<EdfMemory> other;
  const Status status = SharedEdfMemory::attach(name_, 2, 60, &other);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("run_priority 49"), std::string::npos) << status.message();
}

TEST_F(SharedTable, refuses_impossible_names)
{
  std::unique_ptr<EdfMemory> memory;
  EXPECT_FALSE(SharedEdfMemory::attach("", 2, 49, &memory).ok());
  EXPECT_FALSE(SharedEdfMemory::attach("a/b", 2, 49, &memory).ok());
  EXPECT_FALSE(SharedEdfMemory::attach(std::string(200, 'a'), 2, 49, &memory).ok());
}

TEST(FifoBandsLimits, more_threads_than_there_is_room_for_are_an_error)
{
  LinuxPlatform platform;
  std::shared_ptr<FifoBands> bands;
  ASSERT_TRUE(FifoBands::make(platform, {}, &bands).ok());
  DeadlineScheduler::Slot slot = 0;
  for (int i = 0; i < 4096; ++i) {
    ASSERT_TRUE(bands->enter(&slot).ok());
  }
  DeadlineScheduler::Slot none = 0;
  const Status status = bands->enter(&none);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("4096"), std::string::npos) << status.message();
  bands->leave(slot);
  EXPECT_TRUE(bands->enter(&none).ok());
}

TEST_F(SharedTable, the_lock_excludes_threads_and_processes)
{
  const auto memory = attach();
  constexpr int kEach = 20000;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0; n < kEach; ++n) {
        EdfTable & table = memory->lock();
        const uint64_t arrivals = table.arrivals;
        table.arrivals = arrivals + 1;
        memory->unlock();
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(memory->lock().arrivals, uint64_t{3 * kEach});
  memory->unlock();
}

/// Two processes, two CPUs' worth of run priority: whoever has the earliest deadlines has it.
TEST_F(SharedTable, orders_the_threads_of_two_processes)
{
  Attributes fifo;
  fifo.policy = SchedulingPolicy::kFifo;
  fifo.priority = 49;
  int refused = 0;
  std::thread([&] { refused = platform_.apply(platform_.current_thread(), fifo); }).join();
  if (refused != 0) {
    GTEST_SKIP() << "not permitted here: "
                 << to_string(platform_.explain("this test", fifo, refused));
  }
  FifoBandsOptions options;
  options.runners = 1;
  options.shared_name = name_;
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::shared_ptr<FifoBands> bands;
    DeadlineScheduler::Slot slot = 0;
    const bool ready = FifoBands::make(platform_, options, &bands).ok() &&
                       bands->enter(&slot).ok() && bands->start(slot, time_point_of(500)) == 0;
    byte = ready ? 'y' : 'n';
    static_cast<void>(!write(to_parent[1], &byte, 1));
    static_cast<void>(!read(to_child[0], &byte, 1));
    _exit(0);  // and its job stays in the table
  }
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto priority_of = [this](ThreadId thread) {
    Attributes attributes;
    EXPECT_EQ(platform_.read_back(thread, &attributes), 0);
    return attributes.policy == SchedulingPolicy::kFifo ? attributes.priority : 0;
  };
  EXPECT_EQ(priority_of(child), 49);
  std::thread([&] {
    std::shared_ptr<FifoBands> bands;
    const Status made = FifoBands::make(platform_, options, &bands);
    ASSERT_TRUE(made.ok()) << made.message();
    DeadlineScheduler::Slot slot = 0;
    ASSERT_TRUE(bands->enter(&slot).ok());
    const ThreadId self = platform_.current_thread();
    EXPECT_EQ(bands->start(slot, time_point_of(900)), 0);
    EXPECT_LT(priority_of(self), 49);
    EXPECT_EQ(priority_of(child), 49);
    EXPECT_EQ(bands->start(slot, time_point_of(100)), 0);
    EXPECT_EQ(priority_of(self), 49);
    EXPECT_LT(priority_of(child), 49);
    bands->stop(slot);
    EXPECT_EQ(priority_of(child), 49);
    EXPECT_EQ(bands->start(slot, time_point_of(900)), 0);
    EXPECT_LT(priority_of(self), 49);
    byte = 'x';
    ASSERT_EQ(write(to_child[1], &byte, 1), 1);
    waitpid(child, nullptr, 0);
    // The next event that finds no CPU notices that the one before it is gone.
    EXPECT_EQ(bands->start(slot, time_point_of(901)), 0);
    EXPECT_EQ(priority_of(self), 49);
    bands->leave(slot);
  }).join();
}

}  // namespace
}  // namespace rclrt_core
