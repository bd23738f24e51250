// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_watch/live_follower.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace rclrt_watch
{
namespace
{

// Nobody makes more of these; a file with holes may claim to have them.
constexpr uint32_t kMaxChunks = 100'000;
constexpr uint64_t kMaxCapacity = uint64_t{1} << 20;
constexpr uint64_t kMaxRecords = uint64_t{1} << 21;
constexpr uint64_t kMaxNames = uint64_t{8} << 20;
constexpr std::size_t kMaxFiles = 4096;
/// Records of all rings that are read at once: 16 MiB.
constexpr uint64_t kMaxAtOnce = uint64_t{1} << 17;

/// The longest time between two instants of a job: a thousand hours.
constexpr int64_t kLongest = 3'600'000'000'000'000;
constexpr int64_t kEarliest = int64_t{1} << 61;

uint64_t pid_namespace()
{
  struct stat status{};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/// What follows the name of the program in /proc/PID/stat: from the third field on.
std::string state_of(uint32_t process)
{
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() ? text.substr(end + 2) : "";
}

/// Field 22 of it, the low 32 bits.
uint32_t born_of(const std::string & state)
{
  std::size_t at = 0;
  for (int field = 3; field < 22 && at != std::string::npos; ++field) {
    at = state.find(' ', at);
    at = at != std::string::npos ? at + 1 : at;
  }
  uint64_t born = 0;
  for (; at < state.size() && state[at] >= '0' && state[at] <= '9'; ++at) {
    born = born * 10 + static_cast<uint64_t>(state[at] - '0');
  }
  return static_cast<uint32_t>(born);
}

}  // namespace

bool is_sane(const rclrt_job_record & record)
{
  const int64_t times[] = {record.release_ns, record.ready_ns, record.start_ns, record.end_ns};
  const bool are_near = std::all_of(std::begin(times), std::end(times), [](int64_t time) {
    return time > -kEarliest && time < kEarliest;
  });
  return are_near && record.ready_ns <= record.start_ns && record.start_ns <= record.end_ns &&
         record.end_ns - record.release_ns < kLongest &&
         record.release_ns - record.ready_ns < kLongest && record.cpu_ns < kLongest;
}

LiveFollower::~LiveFollower()
{
  if (file_ >= 0) {
    close(file_);
  }
}

LiveFollower::LiveFollower(LiveFollower && other) noexcept { *this = std::move(other); }

LiveFollower & LiveFollower::operator=(LiveFollower && other) noexcept
{
  std::swap(file_, other.file_);
  std::swap(is_open_, other.is_open_);
  std::swap(header_, other.header_);
  std::swap(writer_, other.writer_);
  std::swap(next_chunk_, other.next_chunk_);
  std::swap(chunks_, other.chunks_);
  std::swap(capacity_, other.capacity_);
  std::swap(names_, other.names_);
  std::swap(rings_, other.rings_);
  std::swap(callbacks_, other.callbacks_);
  std::swap(lost_, other.lost_);
  return *this;
}

bool LiveFollower::open(const std::string & path)
{
  file_ = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status{};
  rclrt_trace_chunk chunk{};
  if (
    file_ < 0 || fstat(file_, &status) != 0 || !S_ISREG(status.st_mode) ||
    !read_bytes(0, &header_, sizeof(header_)) ||
    std::memcmp(header_.magic, RCLRT_TRACE_MAGIC, sizeof(header_.magic)) != 0 ||
    header_.version != RCLRT_TRACE_VERSION || header_.record_size != sizeof(rclrt_job_record)) {
    return false;
  }
  if (
    read_bytes(sizeof(header_), &chunk, sizeof(chunk)) && chunk.type == RCLRT_CHUNK_PROCESS &&
    !read_bytes(sizeof(header_) + sizeof(chunk), &writer_, sizeof(writer_))) {
    return false;
  }
  is_open_ = !has_ended() && look();
  return is_open_;
}

bool LiveFollower::is_of_this_process() const
{
  return header_.process == static_cast<uint32_t>(getpid()) &&
         writer_.pid_namespace == pid_namespace();
}

bool LiveFollower::has_ended() const
{
  if (writer_.pid_namespace == 0 || writer_.pid_namespace != pid_namespace()) {
    // Its process cannot be seen from here, but its lock can.
    return flock(file_, LOCK_SH | LOCK_NB) == 0 && flock(file_, LOCK_UN) == 0;
  }
  const std::string state = state_of(header_.process);
  if (state.empty()) {
    const std::string folder = "/proc/" + std::to_string(header_.process);
    return access(folder.c_str(), F_OK) != 0 && errno == ENOENT;  // else: no descriptor is left
  }
  return state[0] == 'Z' || state[0] == 'X' || born_of(state) != writer_.born;
}

bool LiveFollower::is_removed() const
{
  struct stat status{};
  return fstat(file_, &status) == 0 && status.st_nlink == 0;
}

bool LiveFollower::look()
{
  struct stat status{};
  // The header first: the executor is known when there are callbacks.
  const uint32_t process = header_.process;
  if (
    !read_bytes(0, &header_, sizeof(header_)) || header_.process != process ||
    fstat(file_, &status) != 0) {
    return false;
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size + 8 <= next_chunk_) {
    return false;  // it was cut short
  }
  rclrt_trace_chunk chunk{};
  while (next_chunk_ + sizeof(chunk) <= size && read_bytes(next_chunk_, &chunk, sizeof(chunk)) &&
         chunk.type != RCLRT_CHUNK_NONE) {
    const uint64_t content = next_chunk_ + sizeof(chunk);
    if (content + chunk.size > size) {
      return true;  // it grows
    }
    bool is_good = ++chunks_ <= kMaxChunks;
    if (chunk.type == RCLRT_CHUNK_CALLBACK) {
      is_good = is_good && add_callback(content, chunk.size);
    } else if (chunk.type == RCLRT_CHUNK_RING) {
      is_good = is_good && add_ring(content, chunk.size);
    }
    if (!is_good) {
      return false;
    }
    next_chunk_ = content + (uint64_t{chunk.size} + 7) / 8 * 8;
  }
  return true;
}

bool LiveFollower::read(std::vector<rclrt_job_record> * records)
{
  const std::size_t before = records->size();
  for (Ring & ring : rings_) {
    const uint64_t read = records->size() - before;
    if (!read_ring(ring, kMaxAtOnce > read ? kMaxAtOnce - read : 0, records)) {
      return false;
    }
  }
  const auto first = records->begin() + static_cast<std::ptrdiff_t>(before);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t latest = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  // What ends in the future would never be old enough to be forgotten.
  const auto end = std::remove_if(first, records->end(), [latest](const rclrt_job_record & record) {
    return !is_sane(record) || record.end_ns > latest;
  });
  lost_ += static_cast<uint64_t>(records->end() - end);
  records->erase(end, records->end());
  return true;
}

bool LiveFollower::read_bytes(uint64_t at, void * to, std::size_t size) const
{
  return pread(file_, to, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

bool LiveFollower::head_of(const Ring & ring, uint64_t * head) const
{
  return read_bytes(ring.at, head, sizeof(*head));
}

bool LiveFollower::add_callback(uint64_t at, uint64_t size)
{
  rclrt_trace_callback entry{};
  if (size < sizeof(entry) || !read_bytes(at, &entry, sizeof(entry))) {
    return false;
  }
  names_ += entry.name_length;
  if (
    entry.name_length > size - sizeof(entry) || entry.name_length > RCLRT_TRACE_MAX_NAME ||
    names_ > kMaxNames) {
    return false;
  }
  std::string name(entry.name_length, '\0');
  if (!read_bytes(at + sizeof(entry), name.data(), name.size())) {
    return false;
  }
  callbacks_[entry.id] = std::move(name);
  return true;
}

bool LiveFollower::add_ring(uint64_t at, uint64_t size)
{
  rclrt_trace_ring entry{};
  if (size < sizeof(entry) || !read_bytes(at, &entry, sizeof(entry))) {
    return false;
  }
  Ring ring;
  ring.at = at;
  ring.capacity = entry.capacity;
  capacity_ += ring.capacity;
  const uint64_t room = (size - sizeof(entry)) / sizeof(rclrt_job_record);
  if (
    ring.capacity == 0 || (ring.capacity & (ring.capacity - 1)) != 0 || ring.capacity > room ||
    ring.capacity > kMaxCapacity || capacity_ > kMaxRecords) {
    return false;
  }
  ring.next = is_open_ ? 0 : entry.head;
  rings_.push_back(ring);
  return true;
}

// As the specification says: take the head, copy, take the head again, give up what may have been overwritten.
bool LiveFollower::read_ring(Ring & ring, uint64_t most, std::vector<rclrt_job_record> * records)
{
  uint64_t head = 0;
  if (!head_of(ring, &head)) {
    return false;
  }
  if (head <= ring.next) {
    ring.next = head;  // or somebody else has written it
    return true;
  }
  const auto oldest = [&ring](uint64_t of) {
    return of >= ring.capacity ? of - ring.capacity + 1 : 0;
  };
  const uint64_t first = std::max({ring.next, oldest(head), head - std::min(head, most)});
  const std::size_t before = records->size();
  const uint64_t slots = ring.at + sizeof(rclrt_trace_ring);
  const uint64_t begin = first % ring.capacity;
  const uint64_t straight = std::min(head - first, ring.capacity - begin);
  const auto at = [slots](uint64_t slot) { return slots + slot * sizeof(rclrt_job_record); };
  uint64_t now = 0;
  if (
    !read_span(at(begin), straight, records) ||
    !read_span(at(0), head - first - straight, records) || !head_of(ring, &now)) {
    return false;
  }
  const uint64_t whole = std::max(first, std::min(head, oldest(now)));
  const auto copied = records->begin() + static_cast<std::ptrdiff_t>(before);
  records->erase(copied, copied + static_cast<std::ptrdiff_t>(whole - first));
  lost_ += whole - ring.next;
  ring.next = head;
  return true;
}

bool LiveFollower::read_span(
  uint64_t at, uint64_t count, std::vector<rclrt_job_record> * records) const
{
  const std::size_t before = records->size();
  records->resize(before + count);
  return read_bytes(at, records->data() + before, count * sizeof(rclrt_job_record));
}

std::vector<std::string> live_traces()
{
  const std::string user = std::to_string(geteuid());
  std::vector<std::string> found;
  for (const std::string & place : {"/dev/shm/rclrt-" + user, "/run/user/" + user + "/rclrt"}) {
    struct stat status{};
    if (
      lstat(place.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      continue;  // others may put files there
    }
    std::error_code error;
    std::filesystem::directory_iterator entry(place, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".trace" && found.size() < kMaxFiles) {
        found.push_back(entry->path());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace rclrt_watch
