// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What TraceFile writes, and what it says when it cannot. With RCLRT_TRACES naming a folder, its files are
// left there for the reader of rclrt_analysis.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rclrt_core/trace_file.hpp"

namespace rclrt_core
{
namespace
{

using ::testing::AllOf;
using ::testing::HasSubstr;

class TraceFiles : public ::testing::Test
{
protected:
  ~TraceFiles() override
  {
    for (const std::string & path : to_remove_) {
      unlink(path.c_str());
    }
  }

  std::string path_of(const std::string & name)
  {
    if (const char * const folder = std::getenv("RCLRT_TRACES")) {
      return std::string(folder) + "/" + name;
    }
    to_remove_.push_back(::testing::TempDir() + "/" + std::to_string(getpid()) + "_" + name);
    return to_remove_.back();
  }

private:
  std::vector<std::string> to_remove_;
};

std::string content(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <typename T>
T at(const std::string & bytes, std::size_t offset)
{
  T value{};
  EXPECT_GE(bytes.size(), offset + sizeof(value));
  if (bytes.size() >= offset + sizeof(value)) {
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
  }
  return value;
}

uint32_t callbacks_in_header(const std::string & path)
{
  return at<rclrt_trace_header>(content(path), 0).callbacks;
}

/// No file may grow beyond so many bytes, as on a full disk.
class FullDisk
{
public:
  explicit FullDisk(rlim_t bytes)
  {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk()
  {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

rclrt_job_record record_of_the_specification()
{
  constexpr int64_t kSecond = 1'000'000'000;
  rclrt_job_record record{};
  record.release_ns = kSecond;
  record.ready_ns = kSecond + 20'000;
  record.start_ns = kSecond + 35'000;
  record.end_ns = kSecond + 1'500'000;
  record.deadline_ns = kSecond + 10'000'000;
  record.sequence = 7;
  record.callback = 5;
  record.thread = 4242;
  record.preemptions = RCLRT_TRACE_UNKNOWN;
  record.cpu = 3;
  record.outcome = RCLRT_JOB_DONE;
  return record;
}

TEST_F(TraceFiles, writes_the_example_of_the_specification)
{
  TraceFile file;
  ASSERT_TRUE(file.open(path_of("example.trace")).ok());
  EXPECT_TRUE(file.append(record_of_the_specification()));
  const Status closed = file.close({{5, "/a/timer"}}, 1);
  EXPECT_TRUE(closed.ok()) << closed.message();

  const std::string bytes = content(path_of("example.trace"));
  ASSERT_EQ(bytes.size(), sizeof(rclrt_trace_header) + 16 + sizeof(rclrt_job_record));
  const auto header = at<rclrt_trace_header>(bytes, 0);
  EXPECT_EQ(std::string(header.magic, sizeof(header.magic)), RCLRT_TRACE_MAGIC);
  EXPECT_EQ(header.version, RCLRT_TRACE_VERSION);
  EXPECT_EQ(header.record_size, sizeof(rclrt_job_record));
  EXPECT_EQ(header.callbacks, 1u);
  EXPECT_EQ(header.dropped, 1u);
  EXPECT_EQ(bytes.substr(40, 8), "/a/timer");
  EXPECT_EQ(at<rclrt_job_record>(bytes, 48).sequence, 7u);
}

TEST_F(TraceFiles, keeps_every_record_in_order_when_the_names_come_before_them)
{
  constexpr uint64_t kRecords = 3001;  // several blocks, the last one not whole
  const std::string path = path_of("long.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  for (uint64_t i = 0; i < kRecords; ++i) {
    rclrt_job_record record = record_of_the_specification();
    record.sequence = i;
    record.callback = i % 2 == 0 ? 5 : 9;
    ASSERT_TRUE(file.append(record));
  }
  const std::string long_name(100'000, 'x');  // longer than a block, shorter than the records
  const Status closed = file.close({{5, "/a/timer"}, {9, long_name}}, 0);
  ASSERT_TRUE(closed.ok()) << closed.message();

  const std::string bytes = content(path);
  const std::size_t begin = sizeof(rclrt_trace_header) + 16 + 8 + long_name.size();
  ASSERT_EQ(bytes.size(), begin + kRecords * sizeof(rclrt_job_record));
  EXPECT_EQ(bytes.substr(begin - long_name.size(), long_name.size()), long_name);
  for (uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(at<rclrt_job_record>(bytes, begin + i * sizeof(rclrt_job_record)).sequence, i);
  }
}

TEST_F(TraceFiles, is_unfinished_until_it_is_closed)
{
  const std::string path = path_of("unfinished.trace");
  {
    TraceFile file;
    ASSERT_TRUE(file.open(path).ok());
    EXPECT_EQ(callbacks_in_header(path), RCLRT_TRACE_UNFINISHED);  // as whoever is killed leaves it
    EXPECT_TRUE(file.append(record_of_the_specification()));
  }
  EXPECT_EQ(callbacks_in_header(path), RCLRT_TRACE_UNFINISHED);
  TraceFile empty;
  ASSERT_TRUE(empty.open(path).ok());  // what was there is gone
  ASSERT_TRUE(empty.close({}, 0).ok());
  EXPECT_EQ(content(path).size(), sizeof(rclrt_trace_header));
  EXPECT_EQ(callbacks_in_header(path), 0u);
}

TEST_F(TraceFiles, says_which_file_cannot_be_written_and_why)
{
  TraceFile file;
  EXPECT_THAT(
    file.open("/no/such/folder/t").message(),
    AllOf(HasSubstr("'/no/such/folder/t'"), HasSubstr("No such file or directory")));
  EXPECT_THAT(file.open("/dev/full").message(), HasSubstr("No space left on device"));
  EXPECT_FALSE(file.append(record_of_the_specification()));
  EXPECT_EQ(file.close({}, 0).message(), "no trace file is open");
  ASSERT_TRUE(file.open(path_of("one.trace")).ok());
  EXPECT_THAT(file.open("another").message(), HasSubstr("one.trace' is open: close it"));
  EXPECT_TRUE(file.close({}, 0).ok());
}

TEST_F(TraceFiles, tells_of_a_disk_that_is_full_and_leaves_the_file_unfinished)
{
  const std::string path = path_of("full.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  bool appended = true;
  Status closed;
  {
    FullDisk full(64 * 1024);
    for (int i = 0; i < 2000 && appended; ++i) {
      appended = file.append(record_of_the_specification());
    }
    closed = file.close({{5, "/a/timer"}}, 0);
  }
  EXPECT_FALSE(appended);
  EXPECT_THAT(closed.message(), AllOf(HasSubstr("full.trace'"), HasSubstr("File too large")));
  EXPECT_EQ(callbacks_in_header(path), RCLRT_TRACE_UNFINISHED);
}

TEST_F(TraceFiles, stays_unfinished_when_there_is_no_room_for_the_names)
{
  const std::string path = path_of("no_room.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(file.append(record_of_the_specification()));
  }
  Status closed;
  {
    FullDisk full(32 + 100 * 64);
    closed = file.close({{5, "/a/timer"}}, 0);
  }
  EXPECT_THAT(closed.message(), HasSubstr("File too large"));
  EXPECT_EQ(callbacks_in_header(path), RCLRT_TRACE_UNFINISHED);
}

}  // namespace
}  // namespace rclrt_core
