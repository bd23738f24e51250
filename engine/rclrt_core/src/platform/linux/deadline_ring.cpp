// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_ring.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <system_error>
#include <tuple>
#include <utility>

#include "platform/linux/other_process.hpp"
#include "platform/linux/roll.hpp"
#include "platform/linux/sealed_memory.hpp"

namespace rclrt_core
{
namespace
{

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share the words");

using linux_platform::Descriptor;
using linux_platform::OtherProcess;
using linux_platform::OwnDirectory;
using linux_platform::ProcessFacts;
using linux_platform::Roll;
using linux_platform::RollEntry;
using linux_platform::SealedMemory;

const char * const kName = "rclrt_deadlines";
constexpr uint32_t kVersion = 4;                // of the layout: raise it with every change
constexpr uint64_t kSeed = 0x72636c72746564f1;  // so that no entry of zeros matches its hash

std::atomic<DeadlineRing *> ring_of_process{nullptr};

// The finaliser of MurmurHash3, which spreads every bit over all others.
uint64_t mix(uint64_t value) noexcept
{
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccd;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53;
  return value ^ (value >> 33);
}

// One process at a time looks for the memory or makes it, for at most about a second.
Status lock(const OwnDirectory & directory, Descriptor * file)
{
  const char * const name = "lock";
  const std::string path = directory.path() + "/" + name;
  *file = Descriptor(openat(
    directory.descriptor(), name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file->is_open()) {
    return Status::error(path + ": opening: " + std::generic_category().message(errno));
  }
  for (int i = 0; i < 1000; ++i) {
    if (flock(file->get(), LOCK_EX | LOCK_NB) == 0) {
      return {};
    }
    usleep(1000);
  }
  return Status::error(path + ": another program has it locked; let it go on, or end it");
}

}  // namespace

struct DeadlineRing::Impl
{
  ~Impl() { roll.remove(roll.own()); }

  // Takes the memory of the oldest process with the same rights, so that all take the same. If there is none, `memory`
  // stays empty.
  Status adopt(const ProcessFacts & self)
  {
    std::vector<RollEntry> entries = roll.entries();
    std::sort(entries.begin(), entries.end(), [](const RollEntry & a, const RollEntry & b) {
      return std::tie(a.born, a.process) < std::tie(b.born, b.process);
    });
    for (const RollEntry & entry : entries) {
      OtherProcess other;
      const OtherProcess::Found found = OtherProcess::open(entry.process, entry.born, &other);
      auto adopted = SealedMemory::Adopted::kNotOurs;
      if (found == OtherProcess::Found::kGone) {
        roll.remove(entry.file);
      } else if (
        found == OtherProcess::Found::kYes && entry.version == kVersion &&
        other.facts().user == self.user && other.facts().may_raise == self.may_raise) {
        adopted = SealedMemory::adopt(other.folder(), entry.descriptors[0], kBytes, true, &memory);
      }
      if (adopted == SealedMemory::Adopted::kYes) {
        return {};
      }
      // A table of our own would not be found by the processes that share that one.
      if (found == OtherProcess::Found::kUnknown || adopted == SealedMemory::Adopted::kNotNow) {
        return Status::error(
          "table of process " + std::to_string(entry.process) + ": " +
          std::generic_category().message(errno));
      }
    }
    return {};
  }

  static constexpr std::size_t kBytes = sizeof(Entry) * kEntries;
  Roll roll;
  SealedMemory memory;
};

DeadlineRing::DeadlineRing(std::unique_ptr<Impl> impl)
: impl_(std::move(impl)), entries_(static_cast<Entry *>(impl_->memory.data()))
{
}

DeadlineRing::~DeadlineRing() = default;

Status DeadlineRing::open(const std::string & name, std::unique_ptr<DeadlineRing> * ring)
{
  auto impl = std::make_unique<Impl>();
  ProcessFacts self;
  Descriptor locked;
  Status status = Roll::open(name, kVersion, OwnDirectory::places(), &impl->roll);
  if (status.ok() && !OtherProcess::facts_of_self(&self)) {
    status = Status::error("/proc/self: cannot be read; mount /proc");
  }
  if (status.ok()) {
    status = lock(impl->roll.directory(), &locked);
  }
  if (status.ok()) {
    status = impl->adopt(self);
  }
  if (status.ok() && !impl->memory.data()) {
    status = SealedMemory::make(
      "rclrt_deadlines", Impl::kBytes, SealedMemory::Writers::kEverybody, &impl->memory);
  }
  if (status.ok()) {
    status = impl->roll.add(self.born, impl->memory.descriptor(), -1);
  }
  if (status.ok()) {
    ring->reset(new DeadlineRing(std::move(impl)));
  }
  return status;
}

DeadlineRing * DeadlineRing::of_process() noexcept
{
  return ring_of_process.load(std::memory_order_acquire);  // pairs with join()
}

Status DeadlineRing::join()
{
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (of_process()) {
    return {};
  }
  std::unique_ptr<DeadlineRing> ring;
  const Status opened = open(kName, &ring);
  if (opened.ok()) {
    ring_of_process.store(
      ring.release(), std::memory_order_release);  // for the rest of the process
  }
  return opened;
}

DeadlineRing::Key DeadlineRing::key_of(const PublisherId & publisher, uint64_t number) noexcept
{
  Key key{};
  static_assert(sizeof(key.id) == sizeof(PublisherId), "two words");
  std::memcpy(key.id, publisher.data(), sizeof(key.id));
  key.number = number;
  return key;
}

uint64_t DeadlineRing::hash(const Key & key, uint64_t deadline, uint64_t written) noexcept
{
  uint64_t sum = kSeed;
  for (const uint64_t word : {key.id[0], key.id[1], key.number, deadline, written}) {
    sum = mix(sum ^ word) + word;
  }
  return mix(sum);
}

DeadlineRing::Entry * DeadlineRing::places_of(const Key & key) const noexcept
{
  const uint64_t sum = mix(key.id[0] ^ mix(key.id[1] ^ mix(key.number)));
  return &entries_[sum % (kEntries / kPlaces) * kPlaces];
}

// Two writers may choose the same place, and one of the two deadlines is lost. Clocks may be set: entries of the
// past and of the future are as good to overwrite.
void DeadlineRing::put(
  const PublisherId & publisher, uint64_t number, TimePoint deadline, uint64_t written) noexcept
{
  const Key key = key_of(publisher, number);
  Entry * const places = places_of(key);
  Entry * chosen = places;
  uint64_t distance = 0;
  for (Entry * place = places; place != places + kPlaces; ++place) {
    const auto word = [&](std::size_t i) {
      return place->words[i].load(std::memory_order_relaxed);
    };
    if (word(0) == key.id[0] && word(1) == key.id[1] && word(2) == key.number) {
      chosen = place;
      break;
    }
    const uint64_t other = word(4);
    const uint64_t away = other > written ? other - written : written - other;
    if (away >= distance) {
      distance = away;
      chosen = place;
    }
  }
  const auto deadline_ns = static_cast<uint64_t>(nanoseconds_of(deadline));
  const uint64_t words[6] = {key.id[0],   key.id[1], key.number,
                             deadline_ns, written,   hash(key, deadline_ns, written)};
  for (std::size_t i = 0; i < 6; ++i) {
    chosen->words[i].store(words[i], std::memory_order_relaxed);
  }
}

std::optional<DeadlineRing::Found> DeadlineRing::look_up(
  const PublisherId & publisher, uint64_t number) const noexcept
{
  const Key key = key_of(publisher, number);
  const Entry * const places = places_of(key);
  for (const Entry * place = places; place != places + kPlaces; ++place) {
    uint64_t words[6];
    for (std::size_t i = 0; i < 6; ++i) {
      words[i] = place->words[i].load(std::memory_order_relaxed);
    }
    // A time before the machine started is none: nobody has to compute with it.
    const auto deadline_ns = static_cast<int64_t>(words[3]);
    if (
      words[0] == key.id[0] && words[1] == key.id[1] && words[2] == key.number &&
      words[5] == hash(key, words[3], words[4]) && deadline_ns >= 0) {
      return Found{time_point_of(deadline_ns), words[4]};
    }
  }
  return std::nullopt;
}

namespace
{

// The two highest bits say what an entry is of. Middlewares number requests from 0 or 1 on, so none gets there.
constexpr uint64_t kReply = uint64_t{1} << 63;
constexpr uint64_t kNewest = uint64_t{1} << 62;
constexpr uint64_t kNumber = kNewest - 1;

uint64_t now_ns() noexcept
{
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t of_request(int64_t number) noexcept { return static_cast<uint64_t>(number) & kNumber; }
uint64_t of_reply(int64_t number) noexcept { return of_request(number) | kReply; }

}  // namespace

// Without a deadline as well: what is there of an older request is none of this one.
SentRequest::SentRequest(DeadlineRing * table, const ClientId & client, TimePoint deadline) noexcept
: table_(table), client_(client), deadline_(deadline)
{
  if (table_ != nullptr) {
    // A service that sees this entry sees the number of the request before it, too.
    std::atomic_thread_fence(std::memory_order_release);
    table_->put(client_, kNewest, deadline_, now_ns());
  }
}

void SentRequest::is_sent(int64_t number) const noexcept
{
  if (table_ != nullptr && deadline_ != kNever) {
    table_->put(client_, of_request(number), deadline_, now_ns());
  }
}

std::optional<TimePoint> deadline_of_request(
  const DeadlineRing * table, const ClientId & client, int64_t number,
  int64_t source_timestamp) noexcept
{
  if (table == nullptr) {
    return std::nullopt;
  }
  if (const auto known = table->find(client, of_request(number))) {
    return known;
  }
  const auto newest = table->look_up(client, kNewest);
  if (newest && static_cast<int64_t>(newest->written) <= source_timestamp) {
    return newest->deadline;
  }
  // Since the first look the client may have learnt the number, and stated its next request.
  std::atomic_thread_fence(std::memory_order_acquire);
  return table->find(client, of_request(number));
}

void state_deadline_of_reply(
  DeadlineRing * table, const ClientId & client, int64_t number, TimePoint deadline) noexcept
{
  if (table != nullptr && deadline != kNever) {
    table->put(client, of_reply(number), deadline, now_ns());
  }
}

std::optional<TimePoint> deadline_of_reply(
  const DeadlineRing * table, const ClientId & client, int64_t number) noexcept
{
  return table == nullptr ? std::nullopt : table->find(client, of_reply(number));
}

}  // namespace rclrt_core
