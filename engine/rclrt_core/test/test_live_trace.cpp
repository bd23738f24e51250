// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The trace that other processes read: what they see while a program runs, and after it was killed. Each test is in a
// user's directory of its own: /dev/shm of a mount namespace.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{
namespace
{

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string folder() { return "/dev/shm/rclrt-" + std::to_string(geteuid()); }

std::vector<std::string> files()
{
  std::vector<std::string> names;
  std::error_code none;
  for (const auto & entry : std::filesystem::directory_iterator(folder(), none)) {
    names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string bytes_of(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a file holds, read as another process would.
struct Seen
{
  explicit Seen(const std::string & path)
  {
    const std::string bytes = bytes_of(path);
    if (bytes.size() < sizeof(header)) {
      ADD_FAILURE() << path << " has no header";
      return;
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    rclrt_trace_chunk chunk{};
    for (std::size_t at = sizeof(header); at + sizeof(chunk) <= bytes.size();) {
      std::memcpy(&chunk, bytes.data() + at, sizeof(chunk));
      const char * const content = bytes.data() + at + sizeof(chunk);
      if (chunk.type == RCLRT_CHUNK_NONE || bytes.size() - at - sizeof(chunk) < chunk.size) {
        break;
      }
      if (chunk.type == RCLRT_CHUNK_CALLBACK) {
        rclrt_trace_callback entry{};
        std::memcpy(&entry, content, sizeof(entry));
        names[entry.id] = std::string(content + sizeof(entry), entry.name_length);
      } else if (chunk.type == RCLRT_CHUNK_RING) {
        EXPECT_EQ(at % 64, 0u);
        rclrt_trace_ring ring{};
        std::memcpy(&ring, content, sizeof(ring));
        ++rings;
        written += ring.head;
        for (uint64_t i = 0; i < std::min<uint64_t>(ring.head, ring.capacity); ++i) {
          rclrt_job_record record{};
          std::memcpy(&record, content + sizeof(ring) + i * sizeof(record), sizeof(record));
          records.push_back(record);
        }
      } else if (chunk.type == RCLRT_CHUNK_PROCESS) {
        std::memcpy(&process, content, sizeof(process));
        program = std::string(content + sizeof(process), process.name_length);
      }
      at += sizeof(chunk) + (chunk.size + 7) / 8 * 8;
    }
  }

  rclrt_trace_header header{};
  rclrt_trace_process process{};
  std::string program;
  std::map<uint32_t, std::string> names;
  std::size_t rings = 0;
  uint64_t written = 0;
  std::vector<rclrt_job_record> records;
};

/// An engine with one callback, which a thread spins.
struct Program
{
  explicit Program(std::size_t capacity = 8)
  {
    EngineOptions options;
    options.trace_capacity = capacity;
    const Status made = make_live_trace(&options.trace_memory);
    EXPECT_TRUE(made.ok()) << made.message();
    options.attributes_mode = AttributesMode::kOff;
    engine = std::make_unique<Engine>(platform, options);
    std::shared_ptr<Group> group;
    EXPECT_TRUE(engine->add_group({}, &group).ok());
    CallbackOptions what;
    what.name = "/node/subscription/topic";
    what.kind = CallbackKind::kSubscription;
    what.depth = 1000;
    what.run = [](const Job &) { return true; };
    EXPECT_TRUE(engine->add_callback(what, group, &callback).ok());
  }

  /// `count` jobs, of which each has ended.
  void run(uint64_t count)
  {
    std::thread spinner([&] { EXPECT_TRUE(engine->spin().ok()); });
    wanted += count;
    for (uint64_t i = 0; i < count; ++i) {
      engine->notify(*callback);
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (engine->statistics(*callback).executed < wanted &&
           std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    engine->stop();
    spinner.join();
    EXPECT_EQ(engine->statistics(*callback).executed, wanted);
  }

  LinuxPlatform platform;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<Callback> callback;
  uint64_t wanted = 0;
};

/// Programs begin, run these jobs and are killed, one by one. Returns the process of the last one.
pid_t be_killed(int programs, uint64_t jobs = 0)
{
  pid_t child = 0;
  for (int i = 0; i < programs; ++i) {
    child = fork();
    if (child == 0) {
      Program program;
      jobs > 0 ? program.run(jobs) : void();
      raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }
  return child;
}

class LiveTraces : public ::testing::Test
{
protected:
  /// Runs `body` in a child whose /dev/shm is new and of this size. What failed there is told here.
  static void elsewhere(const std::function<void()> & body, const char * options = "size=16m")
  {
    const pid_t child = fork();
    if (child == 0) {
      const int namespaces = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
      if (
        unshare(namespaces) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, options) != 0) {
        _exit(77);
      }
      body();
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
      GTEST_SKIP() << "this machine gives no /dev/shm of our own";
    }
    EXPECT_EQ(status, 0);
  }
};

TEST_F(LiveTraces, are_there_while_the_program_runs_and_gone_afterwards)
{
  elsewhere([] {
    {
      Program program;
      program.run(5);
      ASSERT_THAT(files(), SizeIs(1));
      struct stat status{};
      EXPECT_EQ(stat(files()[0].c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777, 0400u);
      const Seen seen(files()[0]);
      EXPECT_EQ(seen.header.process, static_cast<uint32_t>(getpid()));
      EXPECT_EQ(seen.header.model, RCLRT_MODEL_PREEMPTIVE);
      EXPECT_EQ(seen.header.executor, program.engine->trace_source().executor);
      EXPECT_EQ(seen.program, "test_live_trace");
      ASSERT_THAT(seen.names, SizeIs(1));
      EXPECT_EQ(seen.names.at(program.callback->id()), "/node/subscription/topic");
      ASSERT_THAT(seen.records, SizeIs(5));
      for (const rclrt_job_record & record : seen.records) {
        EXPECT_EQ(record.callback, program.callback->id());
        EXPECT_LE(record.start_ns, record.end_ns);
      }
    }
    EXPECT_THAT(files(), IsEmpty());
  });
}

TEST_F(LiveTraces, are_read_in_the_process_as_well)
{
  elsewhere([] {
    Program program;
    for (int spin = 0; spin < 3; ++spin) {
      program.run(5);
      std::size_t read = 0;
      program.engine->read_trace([&](const rclrt_job_record &) { ++read; });
      EXPECT_EQ(read, 5u);
      EXPECT_EQ(program.engine->trace_source().dropped, 0u);
    }
  });
}

TEST_F(LiveTraces, use_the_rings_of_threads_that_have_ended_again)
{
  elsewhere([] {
    Program program;
    program.run(3);
    const Seen once(files()[0]);
    for (int spin = 0; spin < 4; ++spin) {
      program.run(3);
    }
    const Seen now(files()[0]);
    EXPECT_EQ(now.rings, once.rings);
    EXPECT_EQ(now.written, 15u);
  });
}

TEST_F(LiveTraces, stay_when_the_program_is_killed_with_all_that_it_has_done)
{
  elsewhere([] {
    const pid_t child = be_killed(1, 6);
    ASSERT_THAT(files(), SizeIs(1));
    EXPECT_THAT(files()[0], HasSubstr("-" + std::to_string(child) + "-1-"));
    EXPECT_THAT(Seen(files()[0]).records, SizeIs(6));
  });
}

TEST_F(LiveTraces, of_programs_that_were_killed_are_kept_for_the_newest_eight)
{
  elsewhere([] {
    be_killed(10);
    EXPECT_THAT(files(), SizeIs(9));  // before the last one began there were eight
    std::ofstream(folder() + "/foreign.trace") << "no trace";
    const Program program;
    EXPECT_THAT(files(), SizeIs(10));  // eight, the new one, and what is not ours to remove
  });
}

TEST_F(LiveTraces, of_programs_that_run_stay_however_many_others_were_killed)
{
  elsewhere([] {
    const Program program;
    const std::string ours = files()[0];
    const Seen seen(ours);
    struct stat status{};
    ASSERT_EQ(stat("/proc/self/ns/pid", &status), 0);
    EXPECT_EQ(seen.process.pid_namespace, status.st_ino);
    be_killed(12);
    EXPECT_THAT(files(), Contains(ours));
    EXPECT_THAT(files(), SizeIs(10));
  });
}

TEST_F(LiveTraces, leave_alone_what_is_no_live_trace)
{
  elsewhere([] {
    be_killed(9);
    const std::string bytes = bytes_of(files()[0]);
    for (int i = 0; i < 3; ++i) {
      const std::string number = folder() + "/0" + std::to_string(i);
      std::ofstream(number + ".note") << bytes;
      std::ofstream(number + ".trace") << "another" << bytes.substr(7);
    }
    ASSERT_EQ(mkfifo((folder() + "/pipe.trace").c_str(), 0600), 0);  // nobody ever writes into it
    const Program program;
    EXPECT_THAT(files(), SizeIs(8 + 1 + 3 + 3 + 1));
  });
}

/// A program in a PID namespace of its own, where it has the number 1. It ends when `stop()` is called.
class Container
{
public:
  Container()
  {
    EXPECT_EQ(pipe(says_), 0);
    EXPECT_EQ(pipe(hears_), 0);
    // The process that makes the namespace is not in it, its child is.
    outer_ = fork();
    if (outer_ == 0) {
      if (unshare(CLONE_NEWPID) != 0) {
        _exit(77);
      }
      const pid_t inner = fork();
      if (inner == 0) {
        Program program;
        program.run(2);
        char byte = ::testing::Test::HasFailure() || getpid() != 1 ? 'n' : 'y';
        EXPECT_EQ(write(says_[1], &byte, 1), 1);
        alarm(60);  // if nobody says so
        EXPECT_EQ(read(hears_[0], &byte, 1), 1);
        program.engine.reset();
        _exit(0);
      }
      close(says_[1]);
      waitpid(inner, nullptr, 0);
      _exit(0);
    }
    close(says_[1]);
    char byte = 'n';
    runs_ = read(says_[0], &byte, 1) == 1 && byte == 'y';
  }
  ~Container() { stop(); }
  Container(const Container &) = delete;
  Container & operator=(const Container &) = delete;

  bool runs() const { return runs_; }
  void stop()
  {
    if (outer_ != 0 && runs_) {
      EXPECT_EQ(write(hears_[1], "x", 1), 1);
      waitpid(std::exchange(outer_, 0), nullptr, 0);
    }
  }

private:
  int says_[2];
  int hears_[2];
  pid_t outer_ = 0;
  bool runs_ = false;
};

TEST_F(LiveTraces, of_containers_that_share_the_directory_are_not_mistaken_for_each_other)
{
  elsewhere([] {
    Container first;
    if (!first.runs()) {
      _exit(77);  // no PID namespaces
    }
    const std::vector<std::string> of_first = files();
    Container second;
    ASSERT_TRUE(second.runs());
    ASSERT_THAT(files(), SizeIs(2)) << "both have the number 1";
    for (const std::string & path : files()) {
      EXPECT_THAT(Seen(path).records, SizeIs(2));
      EXPECT_EQ(Seen(path).header.process, 1u);
    }
    const Program of_this;  // a process 1 is here, too, and neither lives for us
    EXPECT_THAT(files(), SizeIs(3));
    first.stop();
    EXPECT_THAT(files(), SizeIs(2));
    EXPECT_FALSE(std::filesystem::exists(of_first[0]));
  });
}

TEST_F(LiveTraces, that_nobody_can_read_any_more_are_removed_and_those_of_others_are_not)
{
  elsewhere([] {
    const Program lives;
    const std::string ours = files()[0];
    ASSERT_EQ(truncate(ours.c_str(), 0), 0) << "somebody has cut it short, but it lives";
    const std::string own = std::to_string(getpid());
    const std::string random = "-1-0123456789abcdef.trace";
    for (const std::string & dead : {"/a-1" + random, "/a-" + own + random}) {
      std::ofstream(folder() + dead).flush();
    }
    std::ofstream(folder() + "/b-99999999" + random) << bytes_of(ours) << "RCLRTTRC and no more";
    const std::vector<std::string> others = {
      "/a-" + own + "-1.trace", "/a.trace", "/a-b-1.trace", "/-.trace", "/a-1-2-3.note"};
    for (const std::string & other : others) {
      std::ofstream(folder() + other).flush();
    }
    const Program next;
    std::vector<std::string> left = files();
    EXPECT_THAT(left, Contains(ours));
    EXPECT_THAT(left, SizeIs(2 + others.size()));
  });
}

TEST_F(LiveTraces, that_somebody_cuts_short_do_not_end_the_program)
{
  elsewhere([] {
    for (const off_t length : {0, 100, 5000}) {
      Program program;
      program.run(3);
      const std::string path = files()[0];
      ASSERT_EQ(chmod(path.c_str(), 0600), 0);
      ASSERT_EQ(truncate(path.c_str(), length), 0);
      program.run(20);
      program.engine->read_trace([](const rclrt_job_record &) {});
      ASSERT_EQ(truncate(path.c_str(), 1 << 20), 0);
      program.run(3);
    }
  });
}

TEST_F(LiveTraces, leave_other_bus_errors_to_whom_they_belong)
{
  elsewhere([] {
    static const auto touch_what_has_gone = [] {
      const int file = open("/dev/shm", O_RDWR | O_TMPFILE, 0600);
      const std::size_t page = 4096;
      if (ftruncate(file, page) != 0) {
        _exit(2);
      }
      auto * const mapped =
        static_cast<volatile char *>(mmap(nullptr, page, PROT_WRITE, MAP_SHARED, file, 0));
      if (ftruncate(file, 0) != 0) {
        _exit(3);
      }
      mapped[0] = 1;
      _exit(4);
    };
    const auto status_of = [](const std::function<void()> & first) {
      const pid_t child = fork();
      if (child == 0) {
        first();
        std::shared_ptr<TraceMemory> memory;
        const bool made = make_live_trace(&memory).ok() && memory->ring(8) != nullptr;
        made ? touch_what_has_gone() : _exit(5);
      }
      int status = 0;
      waitpid(child, &status, 0);
      return status;
    };
    EXPECT_EQ(WTERMSIG(status_of([] { std::signal(SIGBUS, SIG_DFL); })), SIGBUS);
    EXPECT_EQ(WTERMSIG(status_of([] { std::signal(SIGBUS, SIG_IGN); })), SIGBUS);
    EXPECT_EQ(WEXITSTATUS(status_of([] { std::signal(SIGBUS, [](int) { _exit(42); }); })), 42);
  });
}

TEST_F(LiveTraces, give_a_ring_to_one_thread_at_a_time)
{
  elsewhere([] {
    std::shared_ptr<TraceMemory> memory;
    ASSERT_TRUE(make_live_trace(&memory).ok());
    auto first = memory->ring(8);
    const void * const place = first.get();
    first.reset();
    const auto again = memory->ring(8);
    EXPECT_EQ(again.get(), place);
    EXPECT_NE(memory->ring(8).get(), place);
    EXPECT_NE(memory->ring(16).get(), place);
  });
}

TEST_F(LiveTraces, name_callbacks_as_long_as_there_is_room_for_names)
{
  elsewhere(
    [] {
      std::shared_ptr<TraceMemory> memory;
      ASSERT_TRUE(make_live_trace(&memory).ok());
      TracedCallback callback;
      callback.name = std::string(RCLRT_TRACE_MAX_NAME, 'n');
      for (callback.id = 0; callback.id < 2000; ++callback.id) {
        memory->add(callback);
      }
      const auto names = Seen(files()[0]).names;
      EXPECT_THAT(
        names, SizeIs((4u << 20) / (RCLRT_TRACE_MAX_NAME + sizeof(rclrt_trace_callback))));
    },
    "size=64m");
}

TEST_F(LiveTraces, are_not_removed_by_a_copy_of_the_process)
{
  elsewhere([] {
    auto program = std::make_unique<Program>();
    const pid_t child = fork();
    if (child == 0) {
      program.reset();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_THAT(files(), SizeIs(1));
  });
}

TEST_F(LiveTraces, do_not_care_what_others_write_into_them)
{
  elsewhere([] {
    Program program;
    program.run(2);
    std::size_t read = 0;
    const auto count = [&](const rclrt_job_record &) { ++read; };
    program.engine->read_trace(count);
    ASSERT_EQ(chmod(files()[0].c_str(), 0600), 0);
    const int file = open(files()[0].c_str(), O_RDWR);
    struct stat status{};
    ASSERT_EQ(fstat(file, &status), 0);
    const std::string garbage(static_cast<std::size_t>(status.st_size), '\xff');
    ASSERT_EQ(pwrite(file, garbage.data(), garbage.size(), 0), status.st_size);
    close(file);
    program.run(4);
    program.engine->read_trace(count);
    EXPECT_EQ(read, 6u);
    EXPECT_EQ(program.engine->trace_source().dropped, 0u);
  });
}

TEST_F(LiveTraces, leave_half_of_the_memory_to_others)
{
  elsewhere(
    [] {
      Program program(1024);  // 128 KiB a ring
      program.run(5);
      std::size_t read = 0;
      program.engine->read_trace([&](const rclrt_job_record &) { ++read; });
      EXPECT_EQ(read, 5u);
      EXPECT_EQ(Seen(files()[0]).rings, 3u);
    },
    "size=1m");
}

TEST_F(LiveTraces, that_cannot_be_had_are_an_error)
{
  const auto expect = [](const char * text) {
    std::shared_ptr<TraceMemory> memory;
    const Status made = make_live_trace(&memory);
    EXPECT_THAT(made.message(), HasSubstr(text));
    EXPECT_FALSE(memory);
  };
  elsewhere([&] { expect("No space left on device"); }, "nr_inodes=2");
  elsewhere([&] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    expect("No space left on device");
  });
}

}  // namespace
}  // namespace rclrt_core
