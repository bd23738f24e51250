// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What programs that are ordered together do when the system has no descriptors, no sealed memory or no
// room for files left: they say so, do without each other, and do each other no harm.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "edf_programs.hpp"
#include "rclrt_core/deadline_ring.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::OwnDirectory;
using linux_platform::Roll;
using linux_platform::RollEntry;
using testing::HasSubstr;
using testing::Not;

constexpr int kRun = 49;

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
  /// Whether deadlines order the threads of one program.
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
      "who cannot see the others says so");
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
