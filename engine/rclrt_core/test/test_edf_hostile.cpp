// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Programs of the same user that write whatever they like wherever they may, while real ones go on: values
// that could be right, in every word, and every name in the directory. RCLRT_FUZZ_SECONDS: for how
// long each (2 unless set).

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "edf_programs.hpp"
#include "rclrt_core/deadline_ring.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::OtherProcess;
using linux_platform::OwnDirectory;
using linux_platform::ProcessFacts;
using linux_platform::Roll;
using linux_platform::RollEntry;
using linux_platform::SealedMemory;

constexpr int kRun = 49;
constexpr int kThreads = 6;

class Clock
{
public:
  bool is_over() const { return std::chrono::steady_clock::now() > end_; }

private:
  static int seconds()
  {
    const char * const text = std::getenv("RCLRT_FUZZ_SECONDS");
    return text ? std::max(1, std::atoi(text)) : 2;
  }
  const std::chrono::steady_clock::time_point end_ =
    std::chrono::steady_clock::now() + std::chrono::seconds(seconds());
};

/// Numbers that mean something somewhere: indices, counts, "none", deadlines, versions, ids.
uint64_t plausible(std::mt19937_64 & random)
{
  static const uint64_t values[] = {0,          1,
                                    2,          3,
                                    4,          16,
                                    47,         48,
                                    49,         50,
                                    99,         127,
                                    128,        129,
                                    255,        1023,
                                    1024,       1025,
                                    UINT32_MAX, UINT64_MAX,
                                    INT64_MAX,  INT32_MAX,
                                    1u << 31,   1u << 30,
                                    1ull << 63, (1ull << 63) + 1};
  switch (random() % 4) {
    case 0:
      return values[random() % (sizeof(values) / sizeof(values[0]))];
    case 1:
      return random() % 1000;
    case 2:
      return static_cast<uint64_t>(getpid());
    default:
      return random();
  }
}

struct MutatingLiar : Liar
{
  explicit MutatingLiar(const std::string & name)
  : Liar(name, 2, std::vector<EdfPublished>(6, EdfPublished{0, 1, kRun}))
  {
    EXPECT_TRUE(is_in);
  }

  /// One word somewhere; most in what is read at each event.
  void mutate(std::mt19937_64 & random)
  {
    const uint64_t value = plausible(random);
    EdfRegion::Buffer & buffer = region->buffers[random() % 2];
    EdfRegion::Job & job = buffer.jobs[random() % (random() % 4 == 0 ? EdfCopy::kMaxJobs : 6)];
    switch (random() % 12) {
      case 0:
        buffer.count = value;
        break;
      case 1:
        region->sequence = value;
        break;
      case 2:
        ++region->sequence;
        break;
      case 3:
        buffer.count = random() % 8;
        break;
      case 4:
        region->answers = static_cast<uint32_t>(value);
        break;
      case 5:
      case 6:
        if (random() % 10000 == 0) {  // read once, by newcomers
          region->runners = static_cast<uint32_t>(value);
          region->run_priority = static_cast<int32_t>(random() % 2 == 0 ? value : kRun);
        }
        break;
      case 7:
        job.arrival = value;
        break;
      case 8:
      case 9:
        job.priority = static_cast<int64_t>(value);
        break;
      default:
        job.deadline_ns = static_cast<int64_t>(value);
    }
    if (random() % 100000 == 0) {
      region->closed = static_cast<uint32_t>(value);
    }
  }
};

class Hostile : public ::testing::Test
{
protected:
  ~Hostile() override { remove_entries(name_); }

  /// Events in no order; after each, the threads of this program are in the order of their deadlines.
  static void run_events(EdfProgram & program, std::mt19937_64 & random, int events)
  {
    std::map<int, std::pair<int64_t, int>> active;
    static int now = 0;
    for (int event = 0; event < events && !HasFailure(); ++event) {
      const int thread = static_cast<int>(random() % kThreads) + 1;
      if (random() % 3 == 0) {
        program.stop(thread);
        active.erase(thread);
      } else {
        const auto deadline = static_cast<int64_t>(random() % 1000);
        ASSERT_EQ(program.start(thread, deadline), 0);
        active[thread] = {deadline, -++now};
      }
      // The attendant may be in between: what is looked at is looked at again.
      const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      std::string wrong = find_disorder(program, active);
      while (!wrong.empty() && std::chrono::steady_clock::now() < last) {
        std::this_thread::yield();
        wrong = find_disorder(program, active);
      }
      ASSERT_EQ(wrong, "") << "event " << event;
      if (active.size() == 1 && program.priority_of(active.begin()->first) < kRun) {
        ++lowered;  // it is the only one of all real jobs
      }
    }
    for (int thread = 1; thread <= kThreads; ++thread) {
      program.stop(thread);
    }
  }
  static std::string find_disorder(
    EdfProgram & program, const std::map<int, std::pair<int64_t, int>> & active)
  {
    for (const auto & [one, when] : active) {
      const int priority = program.priority_of(one);
      if (priority < 1 || priority > kRun) {
        return "thread " + std::to_string(one) + " has " + std::to_string(priority);
      }
      for (const auto & [other, later] : active) {
        if (when < later && program.priority_of(other) > priority) {
          return "thread " + std::to_string(other) + " goes before " + std::to_string(one);
        }
      }
    }
    return "";
  }

  /// How often a job was lowered for what somebody claims.
  inline static uint64_t lowered = 0;

  const std::string name_ = "rclrt_test_" + std::to_string(getpid());
};

TEST_F(Hostile, words_of_the_bands_do_no_harm)
{
  const auto one = std::make_unique<EdfProgram>(name_, 2, kRun, kThreads);
  const auto other = std::make_unique<EdfProgram>(name_, 2, kRun, kThreads);
  ASSERT_TRUE(one->made.ok()) << one->made.message();
  std::atomic<bool> over{false};
  std::atomic<uint64_t> mutations{0};
  const Clock clock;
  std::thread liar([&] {
    std::mt19937_64 random(1);
    Roll roll;
    ASSERT_TRUE(Roll::open(name_, EdfRegion::kVersion, OwnDirectory::places(), &roll).ok());
    const MutatingLiar first(name_);
    while (!over) {
      MutatingLiar lies(name_);
      // The bells of the real ones may be written, too.
      std::vector<SealedMemory> bells;
      const linux_platform::Descriptor self(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
      for (const RollEntry & entry : roll.entries()) {
        bells.emplace_back();
        const auto adopted = SealedMemory::adopt(
          self.get(), entry.descriptors[1], sizeof(EdfBell), true, &bells.back());
        if (adopted != SealedMemory::Adopted::kYes) {
          bells.pop_back();
        }
      }
      // As at the next spin: the directory is looked at again.
      DeadlineScheduler::Slot slot = 0;
      EXPECT_TRUE(one->bands->enter(&slot).ok());
      one->bands->leave(slot);
      // Long enough to be found.
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      while (!over && std::chrono::steady_clock::now() < end) {
        lies.mutate(random);
        if (random() % 500 == 0) {  // some lies last
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (random() % 50 == 0 && !bells.empty()) {
          auto * const bell = static_cast<EdfBell *>(bells[random() % bells.size()].data());
          (random() % 2 == 0 ? bell->rings : bell->comers) =
            static_cast<uint32_t>(plausible(random));
        }
        ++mutations;
      }
    }
  });
  std::mt19937_64 random(2);
  uint64_t events = 0;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto goes_on = [&] {
    return !clock.is_over() || (lowered == 0 && std::chrono::steady_clock::now() < last);
  };
  while (goes_on() && !HasFailure()) {
    std::mt19937_64 seed(random());
    run_events(random() % 2 == 0 ? *one : *other, seed, 100);
    events += 100;
  }
  over = true;
  liar.join();
  RecordProperty("mutations", std::to_string(mutations));
  std::printf(
    "%lu mutations, %lu events, %lu times a job was lowered for them\n", mutations.load(), events,
    lowered);
  EXPECT_GT(mutations, 1000u);
  EXPECT_GT(lowered, 0u) << "nobody has listened: this was no test";
  // And when they have gone, the real ones are ordered together again.
  EdfProgram & first = *one;
  EdfProgram & second = *other;
  first.enter();
  second.enter();
  wait_until(
    [&] {
      EXPECT_EQ(first.start(1, 1), 0);
      EXPECT_EQ(first.start(2, 2), 0);
      EXPECT_EQ(second.start(1, 3), 0);
      return first.priority_of(1) == kRun && first.priority_of(2) == kRun &&
             second.priority_of(1) < kRun;
    },
    "the order is there again");
}

TEST_F(Hostile, names_in_the_directory_do_no_harm)
{
  Roll roll;
  ASSERT_TRUE(Roll::open(name_, EdfRegion::kVersion, OwnDirectory::places(), &roll).ok());
  const int directory = roll.directory().descriptor();
  struct stat pid_namespace{};
  ASSERT_EQ(stat("/proc/self/ns/pid", &pid_namespace), 0);
  ProcessFacts self;
  ASSERT_TRUE(OtherProcess::facts_of_self(&self));
  const Clock clock;
  std::mt19937_64 random(3);
  std::vector<std::string> names;
  while (!clock.is_over() && !HasFailure()) {
    for (int i = 0; i < 50; ++i) {
      // Half right, so that it gets far.
      const auto number = [&](uint64_t right) {
        return std::to_string(random() % 4 != 0 ? right : plausible(random));
      };
      const auto signed_number = [&](uint64_t right) {
        return (random() % 10 == 0 ? "-" : "") + number(right);
      };
      const std::string name =
        name_ + "~" + number(EdfRegion::kVersion) + "~" + number(pid_namespace.st_ino) + "~" +
        signed_number(static_cast<uint64_t>(random() % 2 == 0 ? getpid() : 1)) + "~" +
        number(self.born) + "~" + signed_number(random() % 30) + "~" + signed_number(random() % 30);
      switch (random() % 4) {
        case 0:
          mkdirat(directory, name.c_str(), 0700);
          break;
        case 1:
          static_cast<void>(!symlinkat("/etc/passwd", directory, name.c_str()));
          break;
        case 2:
          mkfifoat(directory, name.c_str(), 0600);
          break;
        default:
          // A pipe may have this name by now: do not wait for somebody who reads it.
          close(openat(directory, name.c_str(), O_CREAT | O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0600));
      }
      names.push_back(name);
    }
    EdfProgram one(name_, 1, kRun, kThreads);
    ASSERT_TRUE(one.made.ok()) << one.made.message();
    if (random() % 2 == 0) {
      for (const RollEntry & entry : roll.entries()) {
        roll.remove(entry.file);
      }
    }
    one.enter();
    EdfProgram other(name_, 1, kRun, kThreads);
    run_events(one, random, 20);
    run_events(other, random, 20);
    static_cast<void>(one.findings());
    for (const std::string & name : names) {
      unlinkat(directory, name.c_str(), 0);
      unlinkat(directory, name.c_str(), AT_REMOVEDIR);
    }
    names.clear();
  }
}

TEST_F(Hostile, words_of_the_messages_deadlines_do_no_harm)
{
  constexpr std::size_t kWords = DeadlineRing::kEntries * 8;
  std::unique_ptr<DeadlineRing> ring;
  ASSERT_TRUE(DeadlineRing::open(name_, &ring).ok());
  Roll roll;
  ASSERT_TRUE(Roll::open(name_, 2, OwnDirectory::places(), &roll).ok());
  ASSERT_EQ(roll.entries().size(), 1u);
  const linux_platform::Descriptor self(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  SealedMemory memory;
  ASSERT_EQ(
    SealedMemory::adopt(self.get(), roll.entries()[0].descriptors[0], kWords * 8, true, &memory),
    SealedMemory::Adopted::kYes);
  auto * const words = static_cast<std::atomic<uint64_t> *>(memory.data());
  std::atomic<bool> over{false};
  std::atomic<uint64_t> mutations{0};
  std::thread liar([&] {
    std::mt19937_64 random(5);
    while (!over) {
      // The word before, that of another entry, one bit, or a number.
      const std::size_t at = random() % kWords;
      switch (random() % 4) {
        case 0:
          words[at] = words[random() % kWords].load();
          break;
        case 1:
          words[at] ^= uint64_t{1} << (random() % 64);
          break;
        case 2:  // a whole entry, as it is
          for (std::size_t word = 0; word < 8; ++word) {
            words[at / 8 * 8 + word] = words[(at * 7919) % kWords / 8 * 8 + word].load();
          }
          break;
        default:
          words[at] = plausible(random);
      }
      ++mutations;
    }
  });
  const Clock clock;
  std::mt19937_64 random(6);
  uint64_t found = 0;
  uint64_t messages = 0;
  while (!clock.is_over() && !HasFailure()) {
    DeadlineRing::PublisherId id{};
    id[0] = static_cast<uint8_t>(random() % 5);
    const uint64_t number = random() % 3 == 0 ? plausible(random) : random() % 10000;
    const int64_t deadline =
      static_cast<int64_t>((number * 1000003 + id[0]) & static_cast<uint64_t>(INT64_MAX));
    if (random() % 4 == 0) {  // others are looked for long after they were sent
      ring->put(id, number, time_point_of(deadline));
    }
    if (const auto seen = ring->find(id, number)) {
      ASSERT_EQ(nanoseconds_of(*seen), deadline) << "another message's, or nobody's";
      ++found;
    }
    ++messages;
  }
  over = true;
  liar.join();
  std::printf("%lu mutations, %lu messages, %lu found\n", mutations.load(), messages, found);
  EXPECT_GT(found, 0u);
}

/// A hash may be computed by anybody. A deadline that cannot be is none, so that nobody computes with it.
TEST_F(Hostile, a_deadline_before_the_machine_started_is_none)
{
  std::unique_ptr<DeadlineRing> ring;
  ASSERT_TRUE(DeadlineRing::open(name_, &ring).ok());
  for (const int64_t deadline : {INT64_MIN, int64_t{-1}}) {
    ring->put({1}, 1, time_point_of(deadline));
    EXPECT_EQ(ring->find({1}, 1), std::nullopt);
  }
  ring->put({1}, 1, kNever);
  EXPECT_EQ(ring->find({1}, 1), kNever);
}

}  // namespace
}  // namespace rclrt_core
