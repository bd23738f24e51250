// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a program without privilege can do to one that has it: nothing that it could not do without us.
// Threads sleep throughout; what is looked at is what the kernel says about them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>

#include "edf_programs.hpp"
#include "rclrt_core/deadline_ring.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::OwnDirectory;
using testing::HasSubstr;

constexpr int kRun = 49;

/// Another user without RLIMIT_RTPRIO, with CAP_SYS_NICE or without any capability, whose processes may be
/// looked at by their like.
bool become(uid_t user, bool may_raise)
{
  const rlimit none{};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const uint32_t kept = may_raise ? 1U << CAP_SYS_NICE : 0U;
  const __user_cap_data_struct capabilities[2] = {{kept, kept, 0}, {0, 0, 0}};
  return setrlimit(RLIMIT_RTPRIO, &none) == 0 && prctl(PR_SET_KEEPCAPS, 1) == 0 &&
         setgid(user) == 0 && setuid(user) == 0 &&
         syscall(SYS_capset, &header, capabilities) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/// More urgent than anything that anybody may have.
std::vector<EdfPublished> all_earliest()
{
  return std::vector<EdfPublished>(EdfCopy::kMaxJobs, EdfPublished{INT64_MIN, 1, kRun});
}

class Privilege : public ::testing::Test
{
protected:
  void SetUp() override
  {
    if (geteuid() != 0) {
      GTEST_SKIP() << "only root may become another user";
    }
    std::thread([this] { may_have_fifo_ = set_fifo(0, 1) == 0; }).join();
  }
  void TearDown() override
  {
    remove_entries(name_);
    for (const OwnDirectory::Place & place : places_of_user()) {
      std::filesystem::remove_all(place.parent + "/" + place.name);
    }
  }

  /// Nobody has this number: only this test.
  static uid_t user() { return 700000 + static_cast<uid_t>(getpid()) % 100000; }
  static std::vector<OwnDirectory::Place> places_of_user()
  {
    return {{"/dev/shm", "rclrt-" + std::to_string(user())}};
  }
  static int set_fifo(pid_t thread, int priority)
  {
    sched_param param{};
    param.sched_priority = priority;
    return sched_setscheduler(thread, priority > 0 ? SCHED_FIFO : SCHED_OTHER, &param);
  }
  static int priority_of(pid_t thread)
  {
    sched_param param{};
    EXPECT_EQ(sched_getparam(thread, &param), 0);
    return param.sched_priority;
  }

  const std::string name_ = "rclrt_test_" + std::to_string(getpid());
  bool may_have_fifo_ = false;
};

/// It starts where root's programs look, and names what it likes: two threads of root keep what they
/// have, while a program of root goes on ordering its own.
TEST_F(Privilege, another_user_changes_no_thread_of_root)
{
  if (!may_have_fifo_) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted here (CAP_SYS_NICE)";
  }
  const uid_t nobody = user();
  const auto sleeper = [] {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) {
        pause();
      }
    }
    return child;
  };
  const pid_t urgent = sleeper();
  const pid_t plain = sleeper();
  ASSERT_EQ(set_fifo(urgent, 70), 0);
  EdfProgram ours(name_, 1);
  ASSERT_TRUE(ours.made.ok()) << ours.made.message();
  EdfProcess theirs([&] {
    const std::string root = "/dev/shm/rclrt-0";
    const bool is_other = become(nobody, false);
    // Root's directory is closed to it, and so are root's processes.
    const bool is_closed =
      open(root.c_str(), O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES &&
      open((root + "/x").c_str(), O_CREAT | O_RDWR, 0600) < 0 &&
      open(("/proc/" + std::to_string(getppid()) + "/fd").c_str(), O_RDONLY) < 0;
    auto liar = std::make_shared<Liar>(name_, 1, all_earliest());
    return [=](int64_t thread) {
      // What it can do itself it may do: the kernel refuses all of it.
      const bool is_refused = set_fifo(static_cast<pid_t>(thread), 10) != 0;
      return is_other && is_closed && liar->is_in && is_refused ? 'y' : 'n';
    };
  });
  ASSERT_EQ(theirs.ask(urgent), 'y');
  ASSERT_EQ(theirs.ask(plain), 'y');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(ours.start(1 + i % 4, 100 + i % 7), 0);
    if (i % 100 == 0) {
      ours.enter();
    }
  }
  for (const int thread : {1, 2, 3, 4}) {
    ours.stop(thread);
  }
  ASSERT_EQ(ours.start(1, 100), 0);
  EXPECT_EQ(ours.priority_of(1), kRun) << "its claims do not count";
  EXPECT_EQ(sched_getscheduler(urgent) & ~SCHED_RESET_ON_FORK, SCHED_FIFO);
  EXPECT_EQ(priority_of(urgent), 70);
  EXPECT_EQ(sched_getscheduler(plain), SCHED_OTHER);
  for (const pid_t child : {urgent, plain}) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

/// A user has a program with CAP_SYS_NICE and one without: neither is ordered by the other's claim.
TEST_F(Privilege, programs_with_and_without_the_capability_are_never_ordered_together)
{
  const uid_t nobody = user();
  for (const bool liar_may_raise : {false, true}) {
    EdfProcess liar([&] {
      const bool is_other = become(nobody, liar_may_raise);
      auto lies = std::make_shared<Liar>(name_, 1, all_earliest());
      return [=](int64_t) { return is_other && lies->is_in ? 'y' : 'n'; };
    });
    ASSERT_EQ(liar.ask(0), 'y');
    for (const bool may_raise : {false, true}) {
      EdfProcess program([&] {
        const bool is_other = become(nobody, may_raise);
        auto bands = std::make_shared<EdfProgram>(name_, 1);
        return [=](int64_t) {
          if (!is_other || !bands->made.ok() || bands->start(1, 100) != 0) {
            return 'e';
          }
          const bool is_told =
            bands->findings().find("CAP_SYS_NICE, and this one") != std::string::npos;
          return bands->priority_of(1) < kRun ? 'l' : is_told ? 't' : 's';
        };
      });
      // l: lowered for the liar, who is of its kind. t: not, and a finding says so.
      EXPECT_EQ(program.ask(0), may_raise == liar_may_raise ? 'l' : 't')
        << "the liar has it: " << liar_may_raise << ", the program: " << may_raise;
    }
  }
}

TEST_F(Privilege, deadlines_of_messages_do_not_cross_either)
{
  const uid_t nobody = user();
  const DeadlineRing::PublisherId id{1};
  EdfProcess first([&] {
    const bool is_other = become(nobody, false);
    auto ring = std::make_shared<std::unique_ptr<DeadlineRing>>();
    const bool is_open = DeadlineRing::open(name_, ring.get()).ok();
    return [=](int64_t number) {
      if (!is_other || !is_open) {
        return 'n';
      }
      (*ring)->put(id, static_cast<uint64_t>(number), time_point_of(5));
      return 'y';
    };
  });
  ASSERT_EQ(first.ask(7), 'y');
  for (const bool may_raise : {false, true}) {
    EdfProcess other([&] {
      const bool is_other = become(nobody, may_raise);
      auto ring = std::make_shared<std::unique_ptr<DeadlineRing>>();
      const bool is_open = DeadlineRing::open(name_, ring.get()).ok();
      return [=](int64_t number) {
        if (!is_other || !is_open) {
          return 'e';
        }
        return (*ring)->find(id, static_cast<uint64_t>(number)) ? 'y' : 'n';
      };
    });
    EXPECT_EQ(other.ask(7), may_raise ? 'n' : 'y') << may_raise;
  }
}

TEST_F(Privilege, a_name_that_another_user_has_made_first_is_not_used)
{
  const uid_t nobody = user();
  const OwnDirectory::Place place = places_of_user().front();
  const std::string path = place.parent + "/" + place.name;
  ASSERT_EQ(mkdir(path.c_str(), 0777), 0);  // root's
  EdfProcess program([&] {
    const bool is_other = become(nobody, false);
    auto bands = std::make_shared<EdfProgram>(name_, 1);
    return [=](int64_t) {
      const std::string why = bands->made.message();
      const bool is_said = !bands->made.ok() && why.find(path + ": belongs to user 0") == 0;
      return is_other && is_said ? 'y' : 'n';
    };
  });
  EXPECT_EQ(program.ask(0), 'y');
  EXPECT_EQ(rmdir(path.c_str()), 0) << "and nothing is in it";
}

/// On real threads: the OS refuses everything.
TEST_F(Privilege, without_the_permission_the_name_says_refused)
{
  const uid_t nobody = user();
  EdfProcess program([&] {
    const bool is_other = become(nobody, false);
    static LinuxPlatform platform;
    FifoBandsOptions options;
    options.shared_name = name_;
    auto bands = std::make_shared<std::shared_ptr<FifoBands>>();
    const bool is_made = FifoBands::make(platform, options, bands.get()).ok();
    return [=](int64_t) {
      DeadlineScheduler::Slot slot = 0;
      if (!is_other || !is_made || !(*bands)->enter(&slot).ok()) {
        return 'e';
      }
      for (int i = 0; i < 426; ++i) {
        if ((*bands)->start(slot, time_point_of(i)) != EPERM) {
          return 's';
        }
        (*bands)->stop(slot);
      }
      return std::string((*bands)->name()) == "fifo bands (refused)" ? 'y' : 'n';
    };
  });
  EXPECT_EQ(program.ask(0), 'y');
}

/// Two processes of one user, on real threads: each changes its own, as far as the kernel lets it.
TEST_F(Privilege, real_threads_of_two_processes_are_ordered)
{
  if (!may_have_fifo_) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted here (CAP_SYS_NICE)";
  }
  const uid_t nobody = user();
  const auto begin = [&] {
    return [&]() -> std::function<char(int64_t)> {
      const bool is_other = become(nobody, true);
      static LinuxPlatform platform;
      FifoBandsOptions options;
      options.shared_name = name_;
      options.runners = 1;
      auto bands = std::make_shared<std::shared_ptr<FifoBands>>();
      const bool is_made = FifoBands::make(platform, options, bands.get()).ok();
      DeadlineScheduler::Slot slot = 0;
      const bool is_in = is_made && (*bands)->enter(&slot).ok();
      return [=](int64_t deadline) {
        if (!is_other || !is_in) {
          return 'e';
        }
        if (deadline == 0) {
          (*bands)->stop(slot);
          return 'y';
        }
        return (*bands)->start(slot, time_point_of(deadline)) == 0 ? 'y' : 'n';
      };
    };
  };
  EdfProcess one(begin());
  EdfProcess other(begin());
  ASSERT_EQ(one.ask(500), 'y');
  EXPECT_EQ(priority_of(one.id()), kRun);
  ASSERT_EQ(other.ask(900), 'y');
  wait_until([&] { return priority_of(other.id()) < kRun; }, "the later one waits");
  ASSERT_EQ(other.ask(100), 'y');
  EXPECT_EQ(priority_of(other.id()), kRun);
  wait_until([&] { return priority_of(one.id()) < kRun; }, "and has it give way");
  ASSERT_EQ(other.ask(0), 'y');
  wait_until([&] { return priority_of(one.id()) == kRun; }, "until it is done");
}

// ---- What programs that are ordered together do when the system has no descriptors, no sealed memory or no
// room for files left: they say so, do without each other, and do each other no harm.

using linux_platform::Roll;
using linux_platform::RollEntry;
using testing::Not;

/// While it exists, this process can open `left` files more.
class FewDescriptors
{
public:
  explicit FewDescriptors(unsigned left)
  {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    // The kernel hands out the smallest free number: take those below the limit that are left over.
    rlimit few = before_;
    few.rlim_cur = 512;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int file = 0; file >= 0;) {
      file = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (file >= 0) {
        taken_.push_back(file);
      }
    }
    EXPECT_EQ(errno, EMFILE);
    for (; left > 0; --left) {
      close(taken_.back());
      taken_.pop_back();
    }
  }
  ~FewDescriptors()
  {
    for (const int file : taken_) {
      close(file);
    }
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(const FewDescriptors &) = delete;
  FewDescriptors & operator=(const FewDescriptors &) = delete;

private:
  rlimit before_{};
  std::vector<int> taken_;
};

// That for addresses makes a pipe to see whether memory may be read, and takes it for unreadable if it cannot. That
// for threads does not follow a program with threads that forks one with threads.
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
#define SKIP_WITHOUT_DESCRIPTORS() \
  GTEST_SKIP() << "a sanitizer needs descriptors of its own, or follows no fork of threads"
#else
#define SKIP_WITHOUT_DESCRIPTORS() static_cast<void>(0)
#endif

class Shortage : public ::testing::Test
{
protected:
  ~Shortage() override { remove_entries(name_); }

  std::vector<std::string> files(const std::string & name)
  {
    Roll roll;
    EXPECT_TRUE(Roll::open(name, 0, OwnDirectory::places(), &roll).ok());
    std::vector<std::string> files;
    for (const RollEntry & entry : roll.entries()) {
      files.push_back(entry.file);
    }
    return files;
  }
  static void expect_order_within(EdfProgram & program)
  {
    ASSERT_TRUE(program.made.ok()) << program.made.message();
    EXPECT_EQ(program.start(1, 500), 0);
    EXPECT_EQ(program.start(2, 100), 0);
    EXPECT_EQ(program.priority_of(2), kRun);
    EXPECT_LT(program.priority_of(1), kRun);
    program.stop(2);
    EXPECT_EQ(program.priority_of(1), kRun);
    program.stop(1);
  }
  /// In a process of its own, after `spoil` has changed what that process can have: shared bands are an error
  /// that has `text` in it, and bands of that process alone work.
  void expect_an_error(const std::function<bool()> & spoil, const std::string & text)
  {
    const pid_t child = fork();
    if (child == 0) {
      if (!spoil()) {
        std::perror("  SKIPPED  it cannot be arranged here");
        _exit(77);
      }
      const EdfProgram shared(name_, 1);
      EXPECT_FALSE(shared.made.ok());
      EXPECT_THAT(shared.made.message(), HasSubstr(text));
      EdfProgram alone("", 1);
      expect_order_within(alone);
      EXPECT_STREQ(alone.bands->name(), "fifo bands (this process only)");
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == 77) {
      GTEST_SKIP() << "it cannot be arranged here; the line above says why";
    }
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }

  const std::string name_ = "rclrt_test_" + std::to_string(getpid());
};

TEST_F(Shortage, of_descriptors_at_the_start_is_an_error_whatever_is_missing)
{
  SKIP_WITHOUT_DESCRIPTORS();
  int errors = 0;
  for (unsigned left = 0; left < 12; ++left) {
    const FewDescriptors few(left);
    EdfProgram shared(name_, 1);
    if (shared.made.ok()) {
      expect_order_within(shared);
      continue;
    }
    ++errors;
    EXPECT_THAT(shared.made.message(), Not(HasSubstr("Success"))) << left;
    EdfProgram alone("", 1);
    expect_order_within(alone);
  }
  EXPECT_GT(errors, 0);
  EXPECT_LT(errors, 12) << "so that each descriptor was the one that was missing";
  EXPECT_TRUE(files(name_).empty()) << "nothing is left of a start that failed";
}

TEST_F(Shortage, of_descriptors_later_does_not_remove_others_nor_itself)
{
  SKIP_WITHOUT_DESCRIPTORS();
  EdfProgram here(name_, 1);
  ASSERT_TRUE(here.made.ok()) << here.made.message();
  const std::string own = files(name_).at(0);
  EdfProcess other([this] {
    auto program = std::make_shared<EdfProgram>(name_, 1);
    return [program](int64_t deadline) {
      deadline == 0 ? program->stop(1) : static_cast<void>(program->start(1, deadline));
      return program->priority_of(1) == kRun ? 'y' : 'n';
    };
  });
  {
    const FewDescriptors none(0);
    other.ask(0);  // it is there by now
    here.enter();  // it looks around
    wait_until(
      [&] { return here.findings().find("Too many open files") != std::string::npos; },
      "a program that cannot see the others says so");
    EXPECT_EQ(here.start(1, 500), 0);
    EXPECT_EQ(here.priority_of(1), kRun);
    here.stop(1);
  }
  EXPECT_THAT(files(name_), testing::SizeIs(2));
  EXPECT_THAT(files(name_), testing::Contains(own));
  for (unsigned left = 1; left < 8; ++left) {
    const FewDescriptors few(left);
    here.enter();                                                // it looks around
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // at most every 50 ms
  }
  EXPECT_THAT(files(name_), testing::SizeIs(2));
  here.enter();
  EXPECT_EQ(other.ask(100), 'y');
  EXPECT_EQ(here.start(1, 500), 0);
  wait_until([&] { return here.priority_of(1) < kRun; }, "they are ordered together again");
  other.ask(0);
  wait_until([&] { return here.priority_of(1) == kRun; }, "and this one runs again");
  wait_until([&] { return here.findings().empty(); }, "nothing is wrong any more");
}

TEST_F(Shortage, of_descriptors_leaves_the_table_of_messages_to_those_who_have_it)
{
  SKIP_WITHOUT_DESCRIPTORS();
  EdfProcess other([this] {
    auto ring = std::make_shared<std::unique_ptr<DeadlineRing>>();
    const bool ok = DeadlineRing::open(name_, ring.get()).ok();
    return [ring, ok](int64_t) { return ok ? 'y' : 'n'; };
  });
  ASSERT_EQ(other.ask(0), 'y');
  ASSERT_EQ(files(name_).size(), 1u);
  int errors = 0;
  for (unsigned left = 0; left < 12; ++left) {
    const FewDescriptors few(left);
    std::unique_ptr<DeadlineRing> ring;
    const Status opened = DeadlineRing::open(name_, &ring);
    errors += opened.ok() ? 0 : 1;
    EXPECT_THAT(opened.message(), Not(HasSubstr("Success"))) << left;
  }
  EXPECT_GT(errors, 3);
  EXPECT_LT(errors, 12);
  EXPECT_EQ(files(name_).size(), 1u);
}

TEST_F(Shortage, of_sealed_memory_is_an_error)
{
  const auto refuse_memfd = [] {
    sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  };
  expect_an_error(refuse_memfd, "sealed memory: making: Operation not permitted");
}

TEST_F(Shortage, of_room_for_files_is_an_error)
{
  const auto fill = [] {
    const int namespaces = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    // One file, which is the directory itself.
    return unshare(namespaces) == 0 &&
           mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, "nr_inodes=1") == 0 &&
           (access("/run/user", F_OK) != 0 || mount("none", "/run/user", "tmpfs", 0, "") == 0);
  };
  expect_an_error(fill, "No space left on device");
}

TEST_F(Shortage, of_the_size_that_files_may_have_is_an_error_and_kills_nobody)
{
  const auto limit = [] {
    const rlimit none{0, 0};
    return setrlimit(RLIMIT_FSIZE, &none) == 0;
  };
  expect_an_error(limit, "File too large");
}

}  // namespace
}  // namespace rclrt_core
