// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a program without privilege can do to one that has it: nothing that it could not do without us.
// Threads sleep throughout; what is looked at is what the kernel says about them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <new>

#include "edf_programs.hpp"
#include "platform/linux/edf_neighbours.hpp"
#include "rclrt_core/deadline_ring.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::OtherProcess;
using linux_platform::OwnDirectory;
using linux_platform::ProcessFacts;
using linux_platform::Roll;
using linux_platform::SealedMemory;
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

/// Publishes whatever it likes, under a name.
struct Liar
{
  explicit Liar(const std::string & name)
  {
    ProcessFacts self;
    const bool ready =
      Roll::open(name, EdfRegion::kVersion, OwnDirectory::places(), &roll).ok() &&
      OtherProcess::facts_of_self(&self) &&
      SealedMemory::make("lies", sizeof(EdfRegion), SealedMemory::Writers::kEverybody, &jobs)
        .ok() &&
      SealedMemory::make("lies", sizeof(EdfBell), SealedMemory::Writers::kEverybody, &bell).ok();
    if (ready) {
      region = new (jobs.data()) EdfRegion{};
      region->runners = 1;
      region->run_priority = kRun;
      EdfPublished all[EdfCopy::kMaxJobs];
      for (EdfPublished & job : all) {
        job = {INT64_MIN, 1, kRun};
      }
      publish(*region, all, EdfCopy::kMaxJobs);
      is_in = roll.add(self.born, jobs.descriptor(), bell.descriptor()).ok();
    }
  }
  ~Liar() { roll.remove(roll.own()); }

  Roll roll;
  SealedMemory jobs;
  SealedMemory bell;
  EdfRegion * region = nullptr;
  bool is_in = false;
};

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
    auto liar = std::make_shared<Liar>(name_);
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

/// The same user, with CAP_SYS_NICE and without: neither is ordered by what the other claims.
TEST_F(Privilege, programs_with_and_without_the_capability_are_never_ordered_together)
{
  const uid_t nobody = user();
  for (const bool liar_may_raise : {false, true}) {
    EdfProcess liar([&] {
      const bool is_other = become(nobody, liar_may_raise);
      auto lies = std::make_shared<Liar>(name_);
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

}  // namespace
}  // namespace rclrt_core
