// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include "platform/linux/own_file.hpp"

namespace rclrt_core
{
namespace
{

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share the words");

// Of the layout: raise the version with every change.
const char * const kName = "rclrt_deadlines_1";
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

Status failed(const std::string & path, const char * what)
{
  return Status::error(path + ": " + what + ": " + std::generic_category().message(errno));
}

}  // namespace

Status DeadlineRing::open(const std::string & name, std::unique_ptr<DeadlineRing> * ring)
{
  if (name.empty() || name.size() > 100 || name.find('/') != std::string::npos) {
    return Status::error(
      "'" + name + "' cannot be the name of shared memory: 1 to 100 bytes, no '/'");
  }
  const std::string path = "/dev/shm/" + name + "." + std::to_string(geteuid());
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    return failed(path, "opening");
  }
  constexpr std::size_t kBytes = sizeof(Entry) * kEntries;
  struct stat status{};
  Status result;
  void * memory = MAP_FAILED;
  // Who is first makes it, and it does no harm if two do.
  if (fstat(descriptor, &status) != 0) {
    result = failed(path, "asking for its size");
  } else if (Status own = linux_platform::check_own_file(path, status); !own.ok()) {
    result = std::move(own);
  } else if (status.st_size != 0 && status.st_size != static_cast<off_t>(kBytes)) {
    result = Status::error(
      path + ": " + std::to_string(status.st_size) + " bytes, but must be " +
      std::to_string(kBytes) + ": it is not ours; remove it");
  } else if (const int error = posix_fallocate(descriptor, 0, kBytes); error != 0) {
    errno = error;
    result = failed(path, "making room");
  } else {
    memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      result = failed(path, "mapping");
    }
  }
  close(descriptor);
  if (result.ok()) {
    ring->reset(new DeadlineRing(static_cast<Entry *>(memory)));
  }
  return result;
}

DeadlineRing::~DeadlineRing() { munmap(entries_, sizeof(Entry) * kEntries); }

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

uint64_t DeadlineRing::hash(const Key & key, uint64_t deadline) noexcept
{
  uint64_t sum = kSeed;
  for (const uint64_t word : {key.id[0], key.id[1], key.number, deadline}) {
    sum = mix(sum ^ word) + word;
  }
  return mix(sum);
}

// The messages of one publisher lie side by side: the last kEntries of a single one all have room.
DeadlineRing::Entry & DeadlineRing::entry_of(const Key & key) const noexcept
{
  return entries_[(mix(key.id[0] ^ mix(key.id[1])) + key.number) % kEntries];
}

void DeadlineRing::put(const PublisherId & publisher, uint64_t number, TimePoint deadline) noexcept
{
  const Key key = key_of(publisher, number);
  const auto deadline_ns = static_cast<uint64_t>(nanoseconds_of(deadline));
  Entry & entry = entry_of(key);
  const uint64_t words[5] = {key.id[0], key.id[1], key.number, deadline_ns, hash(key, deadline_ns)};
  for (std::size_t i = 0; i < 5; ++i) {
    entry.words[i].store(words[i], std::memory_order_relaxed);
  }
}

std::optional<TimePoint> DeadlineRing::find(
  const PublisherId & publisher, uint64_t number) const noexcept
{
  const Key key = key_of(publisher, number);
  const Entry & entry = entry_of(key);
  uint64_t words[5];
  for (std::size_t i = 0; i < 5; ++i) {
    words[i] = entry.words[i].load(std::memory_order_relaxed);
  }
  const bool is_it = words[0] == key.id[0] && words[1] == key.id[1] && words[2] == key.number &&
                     words[4] == hash(key, words[3]);
  return is_it ? std::optional<TimePoint>(time_point_of(static_cast<int64_t>(words[3])))
               : std::nullopt;
}

}  // namespace rclrt_core
