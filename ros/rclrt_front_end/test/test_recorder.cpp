// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an executor writes into trace files while it runs, all of it or what led to an occasion.

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_front_end/configured_engine.hpp"

namespace rclrt_front_end
{
namespace
{

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What is in a file.
struct Content
{
  explicit Content(const std::string & path)
  {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    rclrt_trace_chunk chunk{};
    for (std::size_t at = sizeof(rclrt_trace_header); at + sizeof(chunk) <= bytes.size();) {
      std::memcpy(&chunk, bytes.data() + at, sizeof(chunk));
      const char * const content = bytes.data() + at + sizeof(chunk);
      for (std::size_t i = 0; chunk.type == RCLRT_CHUNK_RECORDS && i < chunk.size / 128; ++i) {
        std::memcpy(&records.emplace_back(), content + i * 128, 128);
      }
      callbacks += chunk.type == RCLRT_CHUNK_CALLBACK ? 1 : 0;
      if (chunk.type == RCLRT_CHUNK_LOST) {
        std::memcpy(&lost, content, sizeof(lost));
      }
      at += sizeof(chunk) + (chunk.size + 7) / 8 * 8;
    }
  }
  std::vector<rclrt_job_record> records;
  uint64_t lost = 0;
  int callbacks = 0;
};

class Recorders : public ::testing::Test
{
protected:
  Recorders()
  {
    unsetenv("RCLRT_TRACE");
    folder_ = ::testing::TempDir() + "/recorder." + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    trace_.live = false;
    trace_.directory = folder_ + "/new/folder";
  }
  ~Recorders() override
  {
    stop();
    std::filesystem::remove_all(folder_);
  }

  void start()
  {
    ConfiguredEngineOptions options;
    options.engine.trace_capacity = 1 << 14;
    options.engine.attributes_mode = rclrt_core::AttributesMode::kOff;
    options.trace = trace_;
    ASSERT_TRUE(ConfiguredEngine::make(platform_, options, &engine_).ok());
    std::shared_ptr<rclrt_core::Group> group;
    ASSERT_TRUE(engine_->add_group({}, "", &group).ok());
    const auto add = [&](const char * name, rclrt_core::Duration deadline, auto * callback) {
      rclrt_core::CallbackOptions what;
      what.name = name;
      what.relative_deadline = deadline;
      what.depth = 100'000;
      what.run = [](const rclrt_core::Job &) { return true; };
      ASSERT_TRUE(engine_->add_callback(what, group, callback).ok());
    };
    add("/node/waitable/a", rclrt_core::kNever - rclrt_core::TimePoint(), &callback_);
    add("/node/waitable/late", std::chrono::nanoseconds(1), &late_);
    spinner_ = std::thread([this] { EXPECT_TRUE(engine_->engine().spin().ok()); });
  }
  void stop()
  {
    if (engine_) {
      engine_->engine().stop();
      spinner_.join();
      engine_.reset();
    }
  }
  void run(const std::shared_ptr<rclrt_core::Callback> & callback, uint64_t count)
  {
    const uint64_t wanted = engine_->engine().statistics(*callback).executed + count;
    for (uint64_t i = 0; i < count; ++i) {
      engine_->engine().notify(*callback);
    }
    EXPECT_TRUE(
      eventually([&] { return engine_->engine().statistics(*callback).executed == wanted; }));
  }
  template <typename Condition>
  static bool eventually(Condition condition)
  {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  std::vector<std::string> files(const std::string & folder) const
  {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto & entry : std::filesystem::directory_iterator(folder, none)) {
      names.push_back(entry.path());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<std::string> files() const { return files(trace_.directory); }
  std::vector<std::string> findings() const
  {
    std::vector<std::string> texts;
    for (const rclrt_core::Finding & finding : engine_->findings()) {
      texts.push_back(to_string(finding));
    }
    return texts;
  }

  std::string folder_;
  rclrt_config::TraceOptions trace_;
  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<ConfiguredEngine> engine_;
  std::shared_ptr<rclrt_core::Callback> callback_;
  std::shared_ptr<rclrt_core::Callback> late_;
  std::thread spinner_;
};

TEST_F(Recorders, write_every_job_until_the_engine_is_destroyed)
{
  start();
  run(callback_, 3000);
  EXPECT_TRUE(eventually([&] { return files().size() == 1; }));
  run(callback_, 2000);
  stop();
  ASSERT_THAT(files(), SizeIs(1));
  EXPECT_THAT(files()[0], HasSubstr("/test_front_end-" + std::to_string(getpid()) + "-"));
  EXPECT_THAT(files()[0], HasSubstr("-000.trace"));
  const Content content(files()[0]);
  EXPECT_EQ(content.records.size() + content.lost, 5000u);
  EXPECT_EQ(content.callbacks, 2);
}

TEST_F(Recorders, of_containers_that_share_a_folder_do_not_overwrite_each_other)
{
  for (int i = 0; i < 2; ++i) {
    const pid_t outer = fork();
    if (outer == 0) {
      if (unshare(CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0) {
        _exit(77);
      }
      const pid_t inner = fork();
      if (inner == 0) {
        start();
        run(callback_, 3);
        stop();
        _exit(HasFailure() || getpid() != 1 ? 1 : 0);
      }
      int status = 0;
      waitpid(inner, &status, 0);
      _exit(status == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(outer, &status, 0), outer);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
      GTEST_SKIP() << "this machine gives no PID namespaces";
    }
    ASSERT_EQ(status, 0);
  }
  ASSERT_THAT(files(), SizeIs(2)) << "both have the number 1";
  for (const std::string & path : files()) {
    EXPECT_THAT(path, HasSubstr("/test_front_end-1-"));
    EXPECT_THAT(Content(path).records, SizeIs(3));
  }
}

TEST_F(Recorders, are_asked_for_by_the_environment_too)
{
  const std::string other = folder_ + "/other";
  setenv("RCLRT_TRACE", other.c_str(), 1);
  start();
  run(callback_, 3);
  stop();
  EXPECT_THAT(files(), IsEmpty());
  ASSERT_THAT(files(other), SizeIs(1));
  EXPECT_THAT(Content(files(other)[0]).records, SizeIs(3));
}

TEST_F(Recorders, keep_the_newest_files_within_the_limit)
{
  trace_.limit = 400'000;
  start();
  // One flush after another, each with more than a file may hold.
  for (int i = 0; i < 8; ++i) {
    run(callback_, 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  run(late_, 1);
  stop();
  EXPECT_LE(files().size(), 4u);
  EXPECT_GE(files().size(), 2u);
  EXPECT_THAT(files()[0], Not(HasSubstr("-000.trace")));
  const Content newest(files().back());
  ASSERT_FALSE(newest.records.empty());
  const auto is_last = [](const auto & record) { return record.deadline_ns != INT64_MAX; };
  EXPECT_TRUE(std::any_of(newest.records.begin(), newest.records.end(), is_last));
}

TEST_F(Recorders, of_a_flight_write_what_led_to_a_missed_deadline)
{
  trace_.keep = std::chrono::milliseconds(300);
  start();
  run(callback_, 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_THAT(files(), IsEmpty());
  run(callback_, 7);
  run(late_, 1);
  EXPECT_TRUE(eventually([&] { return files().size() == 1; }));
  stop();
  ASSERT_THAT(files(), SizeIs(1));
  const Content content(files()[0]);
  // The five are too old; on a machine that is stopped in between some of the seven are as well.
  EXPECT_LE(content.records.size(), 8u);
  EXPECT_GE(content.records.size(), 1u);
  EXPECT_EQ(content.callbacks, 2);
}

TEST_F(Recorders, of_a_flight_write_nothing_when_nothing_was_late)
{
  trace_.keep = std::chrono::seconds(1);
  start();
  run(callback_, 50);
  EXPECT_THAT(findings(), IsEmpty());
  stop();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Recorders, of_a_flight_keep_no_more_than_the_limit_allows)
{
  trace_.keep = std::chrono::seconds(100);
  trace_.on_signal = SIGUSR2;
  trace_.on_miss = false;
  trace_.limit = 4 * 100 * sizeof(rclrt_job_record);
  start();
  run(callback_, 1000);
  run(late_, 100);
  const uint32_t newest = late_->id();
  raise(SIGUSR2);
  EXPECT_TRUE(eventually([&] { return files().size() == 1; }));
  stop();
  const Content content(files()[0]);
  EXPECT_THAT(content.records, SizeIs(100));
  for (const rclrt_job_record & record : content.records) {
    EXPECT_EQ(record.callback, newest);
  }
}

TEST_F(Recorders, say_which_signals_cannot_be_had)
{
  const std::pair<int, const char *> signals[] = {
    {32, "there is no such signal"}, {SIGKILL, "the system refuses it"}};
  for (const auto & [number, text] : signals) {
    trace_.keep = std::chrono::seconds(1);
    trace_.on_signal = number;
    start();
    EXPECT_THAT(
      findings(),
      ::testing::ElementsAre(HasSubstr(std::string("on_signal has no effect: ") + text)));
    stop();
  }
}

TEST_F(Recorders, of_a_flight_leave_misses_alone_if_they_are_no_occasion)
{
  trace_.keep = std::chrono::seconds(1);
  trace_.on_miss = false;
  start();
  run(late_, 2);
  stop();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Recorders, of_a_flight_write_at_a_signal_every_time)
{
  trace_.keep = std::chrono::seconds(100);
  trace_.on_signal = SIGUSR2;
  start();
  run(callback_, 5);
  raise(SIGUSR2);
  EXPECT_TRUE(eventually([&] { return files().size() == 1; }));
  run(callback_, 5);
  raise(SIGUSR2);
  EXPECT_TRUE(eventually([&] { return files().size() == 2; }));
  EXPECT_THAT(findings(), ::testing::Each(HasSubstr("what led to a missed deadline or a signal")));
  stop();
  EXPECT_THAT(Content(files()[0]).records, SizeIs(5));
  EXPECT_THAT(Content(files()[1]).records, SizeIs(10));
}

TEST_F(Recorders, of_a_flight_keep_what_a_signal_has_asked_for_when_misses_come)
{
  trace_.keep = std::chrono::milliseconds(1);
  trace_.on_signal = SIGUSR2;
  start();
  const auto written = [this](const std::string & number) {
    return eventually([&] {
      run(late_, 1);
      const auto there = files();
      return std::any_of(there.begin(), there.end(), [&](const std::string & file) {
        return file.find("-" + number + ".trace") != std::string::npos;
      });
    });
  };
  // One miss may be on its way when the signal comes; what is written next is the signal's.
  ASSERT_TRUE(written("000"));
  raise(SIGUSR2);
  ASSERT_TRUE(written("006"));
  stop();
  EXPECT_LE(files().size(), 4u);
  EXPECT_THAT(
    files(), Contains(::testing::AnyOf(HasSubstr("-001.trace"), HasSubstr("-002.trace"))));
}

TEST_F(Recorders, do_not_take_a_signal_that_the_program_uses)
{
  struct sigaction before{};
  signal(SIGUSR1, SIG_IGN);
  trace_.keep = std::chrono::seconds(1);
  trace_.on_signal = SIGUSR1;
  start();
  EXPECT_THAT(findings(), Contains(HasSubstr("on_signal has no effect: the program uses it")));
  sigaction(SIGUSR1, nullptr, &before);
  EXPECT_EQ(before.sa_handler, SIG_IGN);
}

TEST_F(Recorders, say_where_they_cannot_write_and_the_engine_goes_on)
{
  trace_.directory = "/proc/no/such/folder";
  start();
  run(callback_, 10);
  EXPECT_THAT(
    findings(),
    Contains(AllOf(HasSubstr("'/proc/no/such/folder'"), HasSubstr("Choose another directory"))));
}

TEST_F(Recorders, say_that_the_disk_is_full_and_go_on_with_what_was_written)
{
  const pid_t child = fork();
  if (child == 0) {
    const int namespaces = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    std::filesystem::create_directories(folder_ + "/small");
    if (
      unshare(namespaces) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", (folder_ + "/small").c_str(), "tmpfs", 0, "size=256k") != 0) {
      _exit(77);
    }
    trace_.directory = folder_ + "/small";
    start();
    const auto has_told = [this] {
      run(callback_, 500);
      const auto texts = findings();
      return std::any_of(texts.begin(), texts.end(), [](const std::string & text) {
        return text.find("No space left on device") != std::string::npos;
      });
    };
    EXPECT_TRUE(eventually(has_told));
    EXPECT_THAT(Content(files()[0]).records, SizeIs(::testing::Ge(500u)));
    stop();
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "this machine gives no file system of our own";
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rclrt_front_end
