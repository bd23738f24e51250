// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Memory that processes share, and the directory in which they find each other: what others of the same
// user, and other users, may do to them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "platform/linux/other_process.hpp"
#include "platform/linux/own_directory.hpp"
#include "platform/linux/roll.hpp"
#include "platform/linux/sealed_memory.hpp"

namespace rclrt_core::linux_platform
{
namespace
{

using testing::HasSubstr;
using Adopted = SealedMemory::Adopted;
using Writers = SealedMemory::Writers;

constexpr std::size_t kBytes = 8192;

class Sealed : public ::testing::Test
{
protected:
  SealedMemory make(Writers writers)
  {
    SealedMemory memory;
    const Status made = SealedMemory::make("test", kBytes, writers, &memory);
    EXPECT_TRUE(made.ok()) << made.message();
    return memory;
  }
  Adopted adopt(int number, bool to_write, SealedMemory * memory) const
  {
    return SealedMemory::adopt(self_.get(), number, kBytes, to_write, memory);
  }
  static int open_again(int descriptor, int flags)
  {
    return open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), flags | O_CLOEXEC);
  }

  const Descriptor self_{open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(Sealed, is_the_same_memory_for_all_who_have_it)
{
  const SealedMemory made = make(Writers::kMaker);
  SealedMemory seen;
  ASSERT_EQ(adopt(made.descriptor(), false, &seen), Adopted::kYes);
  static_cast<char *>(made.data())[100] = 'x';
  EXPECT_EQ(static_cast<char *>(seen.data())[100], 'x');
  EXPECT_EQ(seen.number(), made.number());
}

TEST_F(Sealed, cannot_be_cut_short)
{
  for (const Writers writers : {Writers::kMaker, Writers::kEverybody}) {
    const SealedMemory made = make(writers);
    const std::string path = "/proc/self/fd/" + std::to_string(made.descriptor());
    EXPECT_NE(truncate(path.c_str(), 0), 0);
    EXPECT_EQ(errno, EPERM);
    EXPECT_NE(truncate(path.c_str(), 100000), 0);
    EXPECT_EQ(open_again(made.descriptor(), O_RDWR | O_TRUNC), -1);
    EXPECT_EQ(
      fallocate(made.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes),
      writers == Writers::kMaker ? -1 : 0)
      << "a hole is read as zeros: no fault";
    EXPECT_EQ(static_cast<char *>(made.data())[kBytes - 1], 0);
  }
}

TEST_F(Sealed, of_its_maker_cannot_be_written_by_others)
{
  const SealedMemory made = make(Writers::kMaker);
  const Descriptor again(open_again(made.descriptor(), O_RDWR));
  ASSERT_TRUE(again.is_open());
  EXPECT_EQ(write(again.get(), "x", 1), -1);
  EXPECT_EQ(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
  static_cast<char *>(made.data())[0] = 'y';  // but by its maker
  SealedMemory seen;
  EXPECT_EQ(adopt(made.descriptor(), true, &seen), Adopted::kNotOurs);
  ASSERT_EQ(adopt(made.descriptor(), false, &seen), Adopted::kYes);
  EXPECT_EQ(static_cast<char *>(seen.data())[0], 'y');
}

/// Whatever a number stands for: it is not opened, not waited for, and not believed.
TEST_F(Sealed, nothing_else_is_taken_for_it)
{
  SealedMemory seen;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor device(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor plain(static_cast<int>(memfd_create("plain", MFD_CLOEXEC)));
  ASSERT_EQ(ftruncate(plain.get(), kBytes), 0);
  const Descriptor unsealed(
    static_cast<int>(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  ASSERT_EQ(ftruncate(unsealed.get(), kBytes), 0);
  const Descriptor file(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(ftruncate(file.get(), kBytes), 0);
  const int numbers[] = {ends[0],        ends[1],    device.get(), plain.get(),
                         unsealed.get(), file.get(), self_.get()};
  for (const int number : numbers) {
    EXPECT_EQ(adopt(number, true, &seen), Adopted::kNotOurs) << number;
  }
  for (const int number : {-1, 99999, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(adopt(number, true, &seen), Adopted::kNotThere) << number;
  }
  EXPECT_EQ(seen.data(), nullptr);
  close(ends[0]);
  close(ends[1]);
}

TEST(OtherProcesses, are_not_taken_for_one_that_had_their_number_before)
{
  ProcessFacts self;
  ASSERT_TRUE(OtherProcess::facts_of_self(&self));
  EXPECT_NE(self.born, 0u);
  EXPECT_EQ(self.user, geteuid());
  OtherProcess process;
  EXPECT_EQ(OtherProcess::open(getpid(), self.born, &process), OtherProcess::Found::kYes);
  EXPECT_TRUE(process.is_alive());
  EXPECT_EQ(OtherProcess::open(getpid(), self.born - 1, &process), OtherProcess::Found::kGone);
  for (const int32_t nobody : {0, -1, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(OtherProcess::open(nobody, self.born, &process), OtherProcess::Found::kGone)
      << nobody;
  }
}

/// Also one that has ended and is not reaped.
TEST(OtherProcesses, that_have_ended_are_not_alive)
{
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    static_cast<void>(!read(ends[0], &byte, 1));
    _exit(0);
  }
  ProcessFacts facts;
  const std::string text = "/proc/" + std::to_string(child) + "/stat";
  // The time it began: from where the class reads it, but by another way.
  std::ifstream file(text);
  std::string word;
  for (int i = 0; i < 22; ++i) {
    file >> word;
  }
  OtherProcess process;
  ASSERT_EQ(
    OtherProcess::open(child, static_cast<uint32_t>(std::stoull(word)), &process),
    OtherProcess::Found::kYes);
  EXPECT_TRUE(process.is_alive());
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process.is_alive());
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(process.is_alive());
  close(ends[0]);
  close(ends[1]);
}

class Directory : public ::testing::Test
{
protected:
  Directory()
  {
    std::string folder = "/tmp/rclrt_test_XXXXXX";
    base_ = mkdtemp(folder.data());
  }
  ~Directory() override { std::filesystem::remove_all(base_); }

  std::vector<OwnDirectory::Place> places() const { return {{base_, "first"}, {base_, "second"}}; }
  std::string first() const { return base_ + "/first"; }
  Status open() { return OwnDirectory::open(places(), &directory_); }

  std::string base_;
  OwnDirectory directory_;
};

TEST_F(Directory, is_made_for_this_user_alone)
{
  const mode_t before = umask(0);
  ASSERT_TRUE(open().ok());
  umask(before);
  EXPECT_EQ(directory_.path(), first());
  EXPECT_EQ(directory_.refused(), "");
  struct stat status{};
  ASSERT_EQ(stat(first().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
  EXPECT_TRUE(open().ok()) << "and found again";
  EXPECT_TRUE(directory_.is_there());
  std::filesystem::remove(first());
  EXPECT_FALSE(directory_.is_there());
}

TEST_F(Directory, of_another_user_is_not_used_and_said_so)
{
  ASSERT_EQ(mkdir(first().c_str(), 0700), 0);
  if (chown(first().c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "only root may give a directory away";
  }
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(directory_.path(), base_ + "/second");
  EXPECT_THAT(directory_.refused(), HasSubstr(first() + ": belongs to user 65534"));
}

TEST_F(Directory, is_never_reached_through_a_link)
{
  ASSERT_EQ(mkdir((base_ + "/elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(symlink((base_ + "/elsewhere").c_str(), first().c_str()), 0);
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(directory_.path(), base_ + "/second");
  EXPECT_THAT(directory_.refused(), HasSubstr("link; remove it"));
}

TEST_F(Directory, that_others_may_open_is_not_used)
{
  for (const mode_t mode : {0770u, 0705u, 0701u}) {
    mkdir(first().c_str(), 0700);
    ASSERT_EQ(chmod(first().c_str(), mode), 0);
    ASSERT_TRUE(open().ok());
    EXPECT_EQ(directory_.path(), base_ + "/second");
    EXPECT_THAT(directory_.refused(), HasSubstr("chmod 700"));
  }
}

TEST_F(Directory, without_a_place_the_error_says_why_for_each)
{
  std::ofstream(first()) << "a file";
  std::ofstream(base_ + "/second") << "another";
  const Status status = open();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(first() + ": "));
  EXPECT_THAT(status.message(), HasSubstr(base_ + "/second: "));
}

TEST_F(Directory, files_of_other_names_are_no_entries)
{
  Roll roll;
  ASSERT_TRUE(Roll::open("name", 4, places(), &roll).ok());
  ASSERT_TRUE(roll.add(7, 3, 5).ok());
  struct stat pid_namespace{};
  ASSERT_EQ(stat("/proc/self/ns/pid", &pid_namespace), 0);
  const std::string here = std::to_string(pid_namespace.st_ino);
  for (const std::string & name :
       {std::string("name"), std::string("name~"), std::string("name~4"), "name~4~" + here,
        "name~4~" + here + "~1~2~3", "name~4~" + here + "~1~2~3~4~5", "name~4~" + here + "~1~2~3~x",
        std::string("name~4~1~1~2~3~4"), "names~4~" + here + "~1~2~3~4",
        "name~" + std::string(200, '9')}) {
    std::ofstream(first() + "/" + name) << "x";
  }
  ASSERT_EQ(symlink("/etc/passwd", (first() + "/name~4~" + here + "~1~2~3~44").c_str()), 0);
  const auto entries = roll.entries();
  ASSERT_EQ(entries.size(), 2u) << "ours, and the link, which nobody follows";
  for (const RollEntry & entry : entries) {
    if (entry.file == roll.own()) {
      EXPECT_EQ(entry.version, 4u);
      EXPECT_EQ(entry.process, getpid());
      EXPECT_EQ(entry.born, 7u);
      EXPECT_EQ(entry.descriptors[0], 3);
      EXPECT_EQ(entry.descriptors[1], 5);
    }
  }
}

TEST_F(Directory, an_entry_is_never_written_through_a_link)
{
  Roll roll;
  ASSERT_TRUE(Roll::open("name", 4, places(), &roll).ok());
  ASSERT_TRUE(roll.add(7, 3, 5).ok());
  roll.remove(roll.own());
  ASSERT_EQ(symlink((base_ + "/made").c_str(), (first() + "/" + roll.own()).c_str()), 0);
  EXPECT_TRUE(roll.mend().ok());
  EXPECT_NE(access((base_ + "/made").c_str(), F_OK), 0);
  struct stat status{};
  ASSERT_EQ(lstat((first() + "/" + roll.own()).c_str(), &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode)) << "the link is gone";
  roll.remove(roll.own());
  ASSERT_EQ(mkdir((first() + "/" + roll.own()).c_str(), 0700), 0);
  EXPECT_TRUE(roll.mend().ok()) << "nor does a directory keep it out";
}

}  // namespace
}  // namespace rclrt_core::linux_platform
