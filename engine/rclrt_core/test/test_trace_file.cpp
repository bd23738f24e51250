// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What TraceFile writes, and what it says when it cannot. With RCLRT_TRACES naming a folder, its files are
// left there for the reader of rclrt_tools.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
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

TracedCallback traced(uint32_t id, const std::string & name)
{
  TracedCallback callback;
  callback.id = id;
  callback.name = name;
  callback.kind = CallbackKind::kTimer;
  callback.group = 2;
  callback.group_name = "/a";
  callback.period = std::chrono::milliseconds(10);
  return callback;
}

TraceSource source_of_the_specification()
{
  TraceSource source;
  source.executor = 1;
  source.model = RCLRT_MODEL_PREEMPTIVE;
  source.ordering = RCLRT_ORDER_FIXED_PRIORITY;
  source.callbacks = {traced(5, "/a/timer")};
  source.dropped = 1;
  return source;
}

/// The records of all whole chunks, as a reader finds them.
std::vector<rclrt_job_record> records_in(const std::string & path)
{
  const std::string bytes = content(path);
  std::vector<rclrt_job_record> records;
  std::size_t where = sizeof(rclrt_trace_header);
  while (where + sizeof(rclrt_trace_chunk) <= bytes.size()) {
    const auto chunk = at<rclrt_trace_chunk>(bytes, where);
    where += sizeof(chunk);
    for (std::size_t i = where;
         chunk.type == RCLRT_CHUNK_RECORDS &&
         i + sizeof(rclrt_job_record) <= std::min(where + chunk.size, bytes.size());
         i += sizeof(rclrt_job_record)) {
      records.push_back(at<rclrt_job_record>(bytes, i));
    }
    where += (chunk.size + 7) / 8 * 8;
  }
  return records;
}

int open_descriptors()
{
  int count = 0;
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.is_symlink() ? 1 : 0;
  }
  return count;
}

int64_t clock_ns(clockid_t clock)
{
  timespec now{};
  clock_gettime(clock, &now);
  return (std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)).count();
}

/// As the kernel writes it: 32 hexadecimal digits, with dashes.
std::string boot_id_of_the_kernel()
{
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  text.erase(std::remove(text.begin(), text.end(), '-'), text.end());
  return text;
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
  record.cpu = 3;
  record.outcome = RCLRT_JOB_DONE;
  record.cause = RCLRT_CAUSE_TIMER;
  record.cpu_ns = record.end_ns - record.start_ns;
  record.root_ns = record.release_ns;
  record.message = RCLRT_TRACE_NO_MESSAGE;
  record.by_callback = RCLRT_TRACE_NO_CALLBACK;
  record.waited_for = RCLRT_WAITED_FOR_GROUP;
  record.policy = RCLRT_POLICY_FIFO;
  record.cpus = 0b1100;
  record.priority = 80;
  record.jobs = 1;
  return record;
}

TEST_F(TraceFiles, HoldRemarksInChunksOfTheirOwn)
{
  const std::string path = path_of("remarks.trace");
  TraceFile file;
  EXPECT_FALSE(file.note(7, "before it is open"));
  ASSERT_TRUE(file.open(path).ok());
  EXPECT_TRUE(file.note(7, "f()"));
  ASSERT_TRUE(file.close({}).ok());
  const std::string bytes = content(path);
  ASSERT_EQ(bytes.size(), sizeof(rclrt_trace_header) + 16);
  const std::size_t begin = sizeof(rclrt_trace_header);
  EXPECT_EQ(at<uint32_t>(bytes, begin), RCLRT_CHUNK_NOTE);
  EXPECT_EQ(at<uint32_t>(bytes, begin + 4), 7u);
  EXPECT_EQ(at<uint32_t>(bytes, begin + 8), 7u);
  EXPECT_EQ(bytes.substr(begin + 12), std::string("f()") + std::string(1, 0));
}

TEST_F(TraceFiles, AreNotInheritedByProgramsThatThisOneStarts)
{
  const std::string path = path_of("inherited.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  bool is_found = false;
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat opened{};
    struct stat named{};
    const bool is_open = fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0;
    if (is_open && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
      is_found = true;
      EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    }
  }
  EXPECT_TRUE(is_found);
}

TEST_F(TraceFiles, writes_the_example_of_the_specification)
{
  TraceFile file;
  ASSERT_TRUE(file.open(path_of("example.trace")).ok());
  EXPECT_TRUE(file.append(record_of_the_specification()));
  const Status closed = file.close(source_of_the_specification());
  EXPECT_TRUE(closed.ok()) << closed.message();

  std::string bytes = content(path_of("example.trace"));
  const std::string example = content(RCLRT_TRACE_EXAMPLE);
  ASSERT_EQ(bytes.size(), example.size());
  const auto header = at<rclrt_trace_header>(bytes, 0);
  EXPECT_EQ(header.process, static_cast<uint32_t>(getpid()));
  // All but what tells of this machine and process: boot, clocks, process id.
  const std::size_t machine = offsetof(rclrt_trace_header, boot_id);
  const std::size_t after = offsetof(rclrt_trace_header, executor);
  bytes.replace(machine, after - machine, example, machine, after - machine);
  EXPECT_EQ(bytes, example);
}

TEST_F(TraceFiles, tell_on_which_boot_of_the_machine_and_by_which_clocks_they_were_written)
{
  const std::string path = path_of("machine.trace");
  const int64_t real_before = clock_ns(CLOCK_REALTIME);
  const int64_t monotonic_before = clock_ns(CLOCK_MONOTONIC);
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  const int64_t real_after = clock_ns(CLOCK_REALTIME);
  const int64_t monotonic_after = clock_ns(CLOCK_MONOTONIC);
  ASSERT_TRUE(file.close({}).ok());

  const auto header = at<rclrt_trace_header>(content(path), 0);
  std::string digits;
  for (const uint8_t byte : header.boot_id) {
    constexpr char kDigits[] = "0123456789abcdef";
    digits += kDigits[byte >> 4];
    digits += kDigits[byte & 15];
  }
  EXPECT_EQ(digits, boot_id_of_the_kernel());
  EXPECT_GE(header.clock_offset_ns, real_before - monotonic_after);
  EXPECT_LE(header.clock_offset_ns, real_after - monotonic_before);
}

TEST_F(TraceFiles, describe_executors_and_callbacks_in_every_file_that_is_opened)
{
  const std::string path = path_of("described.trace");
  TraceSource source = source_of_the_specification();
  source.timers_preempt = true;
  source.callbacks[0].period = Duration::zero();
  source.callbacks.push_back(traced(6, "/a/subscription"));
  source.callbacks[1].period = Duration(-5);
  TraceFile file;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(file.open(path).ok());
    ASSERT_TRUE(file.close(source).ok());
    const std::string bytes = content(path);
    EXPECT_EQ(file.size(), bytes.size());
    EXPECT_EQ(at<rclrt_trace_header>(bytes, 0).timers_preempt, 1);
    const std::size_t at_first = sizeof(rclrt_trace_header) + sizeof(rclrt_trace_chunk);
    EXPECT_EQ(at<rclrt_trace_callback>(bytes, at_first).period_ns, 0);
    const std::size_t at_second = bytes.find("/a/subscription") - sizeof(rclrt_trace_callback);
    EXPECT_EQ(at<rclrt_trace_callback>(bytes, at_second).period_ns, RCLRT_TRACE_UNKNOWN);
  }
}

TEST_F(TraceFiles, keeps_every_record_in_order)
{
  constexpr uint64_t kRecords = 3001;  // several chunks, the last one not whole
  const std::string path = path_of("long.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  for (uint64_t i = 0; i < kRecords; ++i) {
    rclrt_job_record record = record_of_the_specification();
    record.sequence = i;
    record.callback = i % 2 == 0 ? 5 : 9;
    ASSERT_TRUE(file.append(record));
  }
  TraceSource source = source_of_the_specification();
  std::string name = "/b";
  while (name.size() < 100'000) {
    name += "ü";
  }
  source.callbacks.push_back(traced(9, name));  // readers get its end
  const Status closed = file.close(source);
  ASSERT_TRUE(closed.ok()) << closed.message();

  const std::vector<rclrt_job_record> records = records_in(path);
  ASSERT_EQ(records.size(), kRecords);
  for (uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(records[i].sequence, i);
  }
}

TEST_F(TraceFiles, hold_what_was_flushed_if_the_program_is_killed)
{
  const std::string path = path_of("killed.trace");
  const int descriptors = open_descriptors();
  {
    TraceFile file;
    EXPECT_FALSE(file.flush(source_of_the_specification())) << "no file is open";
    ASSERT_TRUE(file.open(path).ok());
    EXPECT_TRUE(file.append(record_of_the_specification()));
    EXPECT_TRUE(file.flush(source_of_the_specification()));
    EXPECT_EQ(file.size(), content(path).size());
    EXPECT_EQ(at<rclrt_trace_header>(content(path), 0).executor, 1u);
    const std::string once = content(path);
    EXPECT_TRUE(file.flush(source_of_the_specification()));
    EXPECT_EQ(content(path), once) << "nothing is described twice";
    EXPECT_TRUE(file.append(record_of_the_specification()));
    EXPECT_TRUE(file.flush(source_of_the_specification()));
    EXPECT_EQ(records_in(path).size(), 2u);
    EXPECT_TRUE(file.append(record_of_the_specification()));
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(records_in(path).size(), 2u);
  EXPECT_NE(content(path).find("/a/timer"), std::string::npos);
}

TEST_F(TraceFiles, are_emptied_when_they_are_opened_again)
{
  const std::string path = path_of("emptied.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  EXPECT_TRUE(file.append(record_of_the_specification()));
  ASSERT_TRUE(file.close(source_of_the_specification()).ok());
  ASSERT_TRUE(file.open(path).ok());
  ASSERT_TRUE(file.close({}).ok());
  EXPECT_EQ(content(path).size(), sizeof(rclrt_trace_header));
}

TEST_F(TraceFiles, says_which_file_cannot_be_written_and_why)
{
  const int descriptors = open_descriptors();
  TraceFile file;
  EXPECT_THAT(
    file.open("/no/such/folder/t").message(),
    AllOf(HasSubstr("'/no/such/folder/t'"), HasSubstr("No such file or directory")));
  EXPECT_THAT(file.open("/dev/full").message(), HasSubstr("No space left on device"));
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_FALSE(file.append(record_of_the_specification()));
  EXPECT_EQ(file.close({}).message(), "no trace file is open");
  ASSERT_TRUE(file.open(path_of("one.trace")).ok());
  EXPECT_THAT(file.open("another").message(), HasSubstr("one.trace' is open: close it"));
  EXPECT_TRUE(file.close({}).ok());
}

TEST_F(TraceFiles, tell_of_a_disk_that_is_full_and_keep_what_had_room)
{
  const std::string path = path_of("full.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  bool appended = true;
  Status closed;
  {
    FullDisk full(128 * 1024);
    for (int i = 0; i < 4000 && appended; ++i) {
      appended = file.append(record_of_the_specification());
    }
    closed = file.close(source_of_the_specification());
  }
  EXPECT_FALSE(appended);
  EXPECT_THAT(closed.message(), AllOf(HasSubstr("full.trace'"), HasSubstr("File too large")));
  EXPECT_GT(records_in(path).size(), 512u);
  // Another one: the reader's tests look at what was kept.
  ASSERT_TRUE(file.open(path_of("after_full.trace")).ok())
    << "what went wrong with one file is forgotten with it";
  EXPECT_TRUE(file.close(source_of_the_specification()).ok());
}

TEST_F(TraceFiles, tell_at_once_if_a_flush_finds_no_room)
{
  const std::string path = path_of("flushed.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  ASSERT_TRUE(file.flush(source_of_the_specification()));
  EXPECT_TRUE(file.append(record_of_the_specification()));
  const FullDisk full(content(path).size());
  EXPECT_FALSE(file.flush(source_of_the_specification()));
}

TEST_F(TraceFiles, end_where_the_disk_was_full_even_if_there_is_room_again)
{
  const std::string path = path_of("room_again.trace");
  TraceFile file;
  ASSERT_TRUE(file.open(path).ok());
  rclrt_job_record record = record_of_the_specification();
  record.sequence = 0;
  {
    FullDisk full(128 * 1024);
    while (file.append(record) && record.sequence < 4000) {
      ++record.sequence;
    }
  }
  EXPECT_FALSE(file.append(record));
  EXPECT_THAT(file.close(source_of_the_specification()).message(), HasSubstr("File too large"));
  EXPECT_EQ(content(path).find("/a/timer"), std::string::npos);
  const std::vector<rclrt_job_record> records = records_in(path);
  for (std::size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].sequence, i);
  }
}

}  // namespace
}  // namespace rclrt_core
