// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Reading the live trace of an executor, and files that somebody has spoilt.

#include "rclrt_watch/live_follower.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_watch
{
namespace
{

class LiveFollowers : public ::testing::Test
{
protected:
  LiveFollowers()
  {
    rclrt_core::EngineOptions options;
    options.attributes_mode = rclrt_core::AttributesMode::kOff;
    options.trace_capacity = 16;
    EXPECT_TRUE(rclrt_core::make_live_trace(&options.trace_memory).ok());
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
    std::shared_ptr<rclrt_core::Group> group;
    EXPECT_TRUE(engine_->add_group({}, &group).ok());
    rclrt_core::CallbackOptions callback;
    callback.name = "/a/waitable/b";
    callback.run = [](const rclrt_core::Job &) { return true; };
    EXPECT_TRUE(engine_->add_callback(callback, group, &callback_).ok());
    for (const std::string & path : live_traces()) {
      if (path.find("-" + std::to_string(getpid()) + "-") != std::string::npos) {
        path_ = path;
      }
    }
  }
  ~LiveFollowers() override { std::remove(copy_.c_str()); }

  void run(int jobs)
  {
    for (int i = 0; i < jobs; ++i) {
      engine_->notify(*callback_);
      engine_->run_one(rclrt_core::TimePoint{});
    }
  }
  static std::string bytes_of(const std::string & path)
  {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// What says whose file it is.
  std::string beginning() const
  {
    const std::string bytes = bytes_of(path_);
    rclrt_trace_chunk process{};
    std::memcpy(&process, bytes.data() + sizeof(rclrt_trace_header), sizeof(process));
    return bytes.substr(
      0, sizeof(rclrt_trace_header) + sizeof(process) + (process.size + 7) / 8 * 8);
  }
  /// Reads a file of these bytes, however far that goes. Returns whether it was opened.
  bool reads(const std::string & bytes)
  {
    std::ofstream(copy_, std::ios::binary | std::ios::trunc) << bytes;
    LiveFollower follower;
    if (!follower.open(copy_)) {
      return false;
    }
    std::vector<rclrt_job_record> records;
    if (follower.look()) {
      follower.read(&records);
    }
    return true;
  }

  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<rclrt_core::Engine> engine_;
  std::shared_ptr<rclrt_core::Callback> callback_;
  std::string path_;
  const std::string copy_ = ::testing::TempDir() + "/follower." + std::to_string(getpid());
};

TEST_F(LiveFollowers, read_each_record_once_from_when_they_were_opened_on)
{
  run(3);
  LiveFollower follower;
  ASSERT_TRUE(follower.open(path_));
  EXPECT_EQ(follower.process(), static_cast<uint32_t>(getpid()));
  EXPECT_EQ(follower.executor(), engine_->trace_source().executor);
  EXPECT_EQ(follower.callbacks().at(callback_->id()), "/a/waitable/b");
  EXPECT_TRUE(follower.is_of_this_process());
  EXPECT_FALSE(follower.has_ended());
  std::vector<rclrt_job_record> records;
  ASSERT_TRUE(follower.read(&records));
  EXPECT_TRUE(records.empty());
  run(15);
  ASSERT_TRUE(follower.read(&records));
  ASSERT_EQ(records.size(), 15u);
  EXPECT_EQ(records[14].sequence, records[0].sequence + 14);
  ASSERT_TRUE(follower.read(&records));
  EXPECT_EQ(records.size(), 15u);
  EXPECT_EQ(follower.lost(), 0u);
}

TEST_F(LiveFollowers, count_what_was_overwritten_before_they_came)
{
  LiveFollower follower;
  ASSERT_TRUE(follower.open(path_));
  run(100);
  std::vector<rclrt_job_record> records;
  ASSERT_TRUE(follower.look());
  ASSERT_TRUE(follower.read(&records));
  EXPECT_EQ(records.size(), 15u) << "the slot of the oldest may be half written";
  EXPECT_EQ(follower.lost(), 85u);
}

TEST_F(LiveFollowers, pass_over_a_file_whose_process_has_ended)
{
  std::string bytes = bytes_of(path_);
  EXPECT_TRUE(reads(bytes));
  rclrt_trace_process process{};
  const std::size_t at = sizeof(rclrt_trace_header) + sizeof(rclrt_trace_chunk);
  std::memcpy(&process, bytes.data() + at, sizeof(process));
  ++process.born;
  std::memcpy(bytes.data() + at, &process, sizeof(process));
  EXPECT_FALSE(reads(bytes));
  ++process.pid_namespace;
  std::memcpy(bytes.data() + at, &process, sizeof(process));
  EXPECT_FALSE(reads(bytes)) << "a process elsewhere is known by its lock";
  const int writer = open(copy_.c_str(), O_RDONLY);
  EXPECT_EQ(flock(writer, LOCK_EX | LOCK_NB), 0);
  LiveFollower lives;
  EXPECT_TRUE(lives.open(copy_));
  EXPECT_FALSE(lives.is_of_this_process()) << "it has the same number in another namespace";
  EXPECT_FALSE(lives.has_ended());
  close(writer);
  EXPECT_TRUE(lives.has_ended());
}

TEST_F(LiveFollowers, say_that_a_file_was_cut_short_or_given_to_another_process)
{
  run(3);
  const auto after = [this](const auto & spoil) {
    std::string bytes = bytes_of(path_);
    std::ofstream(copy_, std::ios::binary | std::ios::trunc) << bytes;
    LiveFollower follower;
    EXPECT_TRUE(follower.open(copy_));
    EXPECT_TRUE(follower.look());
    spoil();
    std::vector<rclrt_job_record> records;
    return follower.look() && follower.read(&records);
  };
  EXPECT_TRUE(after([] {}));
  EXPECT_FALSE(after([this] { truncate(copy_.c_str(), 100); }));
  EXPECT_FALSE(after([this] { truncate(copy_.c_str(), 0); }));
  EXPECT_FALSE(after([this] {
    std::fstream file(copy_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offsetof(rclrt_trace_header, process));
    file.put('\x01').put('\x02').put('\x03');
  }));
}

TEST_F(LiveFollowers, take_no_more_than_a_part_of_what_a_spoilt_ring_claims_to_have)
{
  // A ring of 2^20 records, of which the file has none on the disk.
  const std::string begin = beginning();
  std::string bytes = begin;
  const auto append = [&bytes](const auto & what) {
    bytes.append(reinterpret_cast<const char *>(&what), sizeof(what));
  };
  rclrt_trace_ring ring{};
  ring.capacity = 1u << 20;
  append(
    rclrt_trace_chunk{RCLRT_CHUNK_RING, static_cast<uint32_t>(sizeof(ring) + ring.capacity * 128)});
  append(ring);
  std::ofstream(copy_, std::ios::binary | std::ios::trunc) << bytes;
  const std::size_t size = bytes.size() + std::size_t{ring.capacity} * 128;
  ASSERT_EQ(truncate(copy_.c_str(), static_cast<off_t>(size)), 0);
  LiveFollower follower;
  ASSERT_TRUE(follower.open(copy_));
  std::fstream file(copy_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(begin.size() + sizeof(rclrt_trace_chunk)));
  const uint64_t head = ring.capacity;
  file.write(reinterpret_cast<const char *>(&head), sizeof(head));
  rclrt_job_record future{};
  future.release_ns = future.ready_ns = future.start_ns = future.end_ns = int64_t{1} << 60;
  file.seekp(static_cast<std::streamoff>(size - sizeof(future)));
  file.write(reinterpret_cast<const char *>(&future), sizeof(future)).flush();
  std::vector<rclrt_job_record> records;
  ASSERT_TRUE(follower.read(&records));
  EXPECT_EQ(records.size(), (1u << 17) - 1) << "and nothing that ends in the future";
  EXPECT_EQ(follower.lost(), head - records.size());
}

TEST_F(LiveFollowers, refuse_names_that_nobody_gives)
{
  const auto with_names = [this](uint32_t length, int count) {
    std::string bytes = beginning();
    for (int i = 0; i < count; ++i) {
      rclrt_trace_callback entry{};
      entry.id = static_cast<uint32_t>(i);
      entry.name_length = length;
      const rclrt_trace_chunk chunk{
        RCLRT_CHUNK_CALLBACK, static_cast<uint32_t>(sizeof(entry) + length)};
      bytes.append(reinterpret_cast<const char *>(&chunk), sizeof(chunk));
      bytes.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
      bytes.append(length, 'n');
    }
    return reads(bytes);
  };
  EXPECT_TRUE(with_names(RCLRT_TRACE_MAX_NAME, 1));
  EXPECT_FALSE(with_names(RCLRT_TRACE_MAX_NAME + 8, 1));
  EXPECT_TRUE(with_names(RCLRT_TRACE_MAX_NAME, 2000));
  EXPECT_FALSE(with_names(RCLRT_TRACE_MAX_NAME, 2100)) << "more memory than names need";
}

TEST_F(LiveFollowers, nothing_bad_comes_of_files_that_were_cut_or_changed)
{
  run(40);
  const std::string bytes = bytes_of(path_);
  for (std::size_t length = 0; length < std::min<std::size_t>(bytes.size(), 600); length += 5) {
    reads(bytes.substr(0, length));
  }
  std::mt19937 random(1);
  const auto upto = [&random](std::size_t n) { return random() % n; };
  for (int i = 0; i < 300; ++i) {
    std::string changed = bytes;
    for (std::size_t j = 0; j <= upto(4); ++j) {
      // Mostly where the structure is: the header, the chunks, the heads of rings.
      const std::size_t at =
        upto(upto(3) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 400));
      changed[at] = static_cast<char>(upto(2) == 0 ? 0xFF : upto(256));
    }
    reads(changed);
  }
  EXPECT_FALSE(reads(""));
  EXPECT_FALSE(reads("RCLRTTRC"));
  LiveFollower none;
  EXPECT_FALSE(none.open("/no/such/file"));
  EXPECT_FALSE(LiveFollower().open("/dev"));
  std::remove(copy_.c_str());
  ASSERT_EQ(symlink(path_.c_str(), copy_.c_str()), 0);
  EXPECT_FALSE(LiveFollower().open(copy_)) << "a link";
  std::remove(copy_.c_str());
  ASSERT_EQ(mkfifo(copy_.c_str(), 0600), 0);
  EXPECT_FALSE(LiveFollower().open(copy_)) << "and open() waits for no writer of a pipe";
}

}  // namespace
}  // namespace rclrt_watch
