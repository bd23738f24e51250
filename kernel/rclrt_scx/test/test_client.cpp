// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a client does where no scheduler is; what it does with one is tested in the virtual machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

#include "rclrt_scx/client.hpp"

namespace
{

TEST(Client, says_how_to_load_a_scheduler_where_there_is_none)
{
  std::string why;
  EXPECT_EQ(rclrt_scx::Client::open(&why, "/nowhere/rclrt_scx"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("no EDF scheduler is loaded"));
  EXPECT_THAT(why, testing::HasSubstr("rclrt scx load"));
  EXPECT_EQ(rclrt_scx::Client::open(nullptr, "/nowhere/rclrt_scx"), nullptr);
}

TEST(Client, refuses_a_directory_that_holds_something_else)
{
  std::string why;
  EXPECT_EQ(rclrt_scx::Client::open(&why, "/dev"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("/dev/state"));
}

/// In a process of its own: as in a container whose filter refuses bpf(2) with `error`. Ends with 0 if what is there
/// is told as refused by the filter, and what is not there as not there.
[[noreturn]] void open_under_a_filter(uint16_t error)
{
  sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{4, code};
  if (
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::_Exit(2);
  }
  char folder[] = "/tmp/rclrt_scx.XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    std::_Exit(3);
  }
  const std::string state = std::string(folder) + "/state";
  std::ofstream(state).put('x');
  std::string there;
  std::string nowhere;
  rclrt_scx::Client::open(&nowhere, "/nowhere");
  rclrt_scx::Client::open(&there, folder);
  unlink(state.c_str());
  rmdir(folder);
  std::cerr << there << nowhere;
  const bool is_told = there.find("seccomp") != std::string::npos &&
                       there.find("--group") == std::string::npos &&
                       nowhere.find("no EDF scheduler is loaded") != std::string::npos;
  std::_Exit(is_told ? 0 : 1);
}

TEST(Client, tells_a_filter_of_system_calls_from_modes_of_files)
{
  EXPECT_EXIT(open_under_a_filter(EPERM), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(open_under_a_filter(ENOSYS), testing::ExitedWithCode(0), "");
}

TEST(Slot, an_empty_one_takes_no_deadline_and_does_nothing)
{
  rclrt_scx::Slot slot;
  EXPECT_FALSE(slot);
  EXPECT_FALSE(slot.set_deadline(1));
  EXPECT_EQ(slot.deadline(), RCLRT_SCX_NO_DEADLINE);
  slot.clear_deadline();
  slot.settle();
  slot.release();
  EXPECT_EQ(slot.lend(1), 0);
  EXPECT_NE(slot.reconsider(), 0);
  rclrt_scx::Slot other(std::move(slot));
  EXPECT_FALSE(other);
}

}  // namespace
