// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/edf_neighbours.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace rclrt_core::linux_platform
{
namespace
{

constexpr std::size_t kStack = std::size_t{256} * 1024;
// However often others say that somebody has come.
constexpr auto kBetweenScans = std::chrono::milliseconds(50);

// The futex is not private to the process: other processes wake.
void sleep_on(const std::atomic<uint32_t> & word, uint32_t seen, Duration at_most) noexcept
{
#ifdef RCLRT_SANITIZE_thread
  usleep(0);  // the sanitizer holds signals back in system calls that it does not know
#endif
  timespec time{};
  time.tv_nsec = static_cast<long>(at_most.count());
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, at_most.count() == 0 ? nullptr : &time, nullptr, 0);
}

void wake(std::atomic<uint32_t> & word) noexcept
{
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

std::string shortage()
{
  return "it cannot be looked at now: " + std::generic_category().message(errno) +
         ". The next spin looks again";
}

void ring_and_wake(EdfBell & bell) noexcept
{
  bell.rings.fetch_add(1, std::memory_order_seq_cst);
  wake(bell.rings);
}

}  // namespace

Status EdfNeighbours::make(
  Platform & platform, Mutex & mutex, const Options & options,
  std::unique_ptr<EdfNeighbours> * neighbours)
{
  std::unique_ptr<EdfNeighbours> made(new EdfNeighbours(platform, mutex, options));
  Status opened = made->open();
  if (opened.ok()) {
    *neighbours = std::move(made);
  }
  return opened;
}

Status EdfNeighbours::open()
{
  Status status = Roll::open(options_.name, EdfRegion::kVersion, options_.places, &roll_);
  if (status.ok() && !OtherProcess::facts_of_self(&self_)) {
    status = Status::error("/proc/self: cannot be read; mount /proc");
  }
  if (status.ok()) {
    status = SealedMemory::make(
      "rclrt_edf_jobs", sizeof(EdfRegion), SealedMemory::Writers::kMaker, &region_memory_);
  }
  if (status.ok()) {
    status = SealedMemory::make(
      "rclrt_edf_bell", sizeof(EdfBell), SealedMemory::Writers::kEverybody, &bell_memory_);
  }
  if (!status.ok()) {
    return status;
  }
  region_ = new (region_memory_.data()) EdfRegion{};
  bell_ = new (bell_memory_.data()) EdfBell{};
  region_->runners.store(options_.runners, std::memory_order_relaxed);
  region_->run_priority.store(options_.run_priority, std::memory_order_relaxed);
  // Now others may find it. Of two that come at once at least one sees the other, and tells it.
  return roll_.add(self_.born, region_memory_.descriptor(), bell_memory_.descriptor());
}

EdfNeighbours::~EdfNeighbours() { stop(); }

Status EdfNeighbours::start(EdfTable & table, std::function<void()> look)
{
  table_ = &table;
  scan();
  tell_all();
  ThreadOptions options;
  options.name = "rclrt_edf";
  options.stack_size = kStack;
  Status started =
    platform_.start_thread(options, [this, look = std::move(look)] { attend(look); }, {}, &thread_);
  if (!started.ok()) {
    stop();
  }
  return started;
}

void EdfNeighbours::stop() noexcept
{
  if (!region_) {
    return;
  }
  is_over_.store(true, std::memory_order_seq_cst);
  // Again and again: the word of the bell is anybody's, and a wake-up may get lost by it.
  while (thread_ && !has_ended_.load(std::memory_order_seq_cst)) {
    ring_and_wake(*bell_);
    usleep(1000);
  }
  thread_.reset();
  if (self_.born != 0 && !roll_.own().empty()) {
    roll_.remove(roll_.own());
  }
  region_->closed.store(1, std::memory_order_release);
  tell_all();
  region_ = nullptr;
}

// Tells all neighbours that this process has come or gone.
void EdfNeighbours::tell_all() noexcept
{
  for (const auto & neighbour : neighbours_) {
    if (neighbour) {
      neighbour->bell->comers.fetch_add(1, std::memory_order_seq_cst);
      ring_and_wake(*neighbour->bell);
    }
  }
}

void EdfNeighbours::look_around() noexcept
{
  is_to_scan_.store(true, std::memory_order_seq_cst);
  ring_and_wake(*bell_);
}

// One above the jobs: else it would wait for the job that is to give way.
void EdfNeighbours::be_urgent()
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = options_.run_priority + 1;
  const ThreadId self = platform_.current_thread();
  const int error = platform_.apply(self, attributes);
  if (error == 0) {
    return;
  }
  Finding finding = platform_.explain("deadlines of other processes", attributes, error);
  attributes.priority = options_.run_priority;
  static_cast<void>(platform_.apply(self, attributes));
  finding.what += "; a job of ours gives way to one of another process with a delay";
  const std::lock_guard<std::mutex> lock(telling_);
  attendant_.push_back(std::move(finding));
}

void EdfNeighbours::attend(const std::function<void()> & look)
{
  be_urgent();
  uint32_t comers = 0;
  TimePoint next_scan{};
  while (!is_over_.load(std::memory_order_seq_cst)) {
    // The bell is read before anything that it announces.
    const uint32_t rings = bell_->rings.load(std::memory_order_seq_cst);
    const uint32_t come = bell_->comers.load(std::memory_order_seq_cst);
    if (come != comers) {
      comers = come;
      is_to_scan_.store(true, std::memory_order_seq_cst);
    }
    Duration at_most{};  // for ever
    if (is_to_scan_.load(std::memory_order_seq_cst)) {
      const TimePoint now = time_point_of(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
      if (now >= next_scan) {
        is_to_scan_.store(false, std::memory_order_seq_cst);
        scan();
        next_scan = now + kBetweenScans;
      } else {
        at_most = next_scan - now;
      }
    }
    look();
    sleep_on(bell_->rings, rings, at_most);
  }
  has_ended_.store(true, std::memory_order_seq_cst);
}

void EdfNeighbours::publish(const EdfTable & table) noexcept
{
  rclrt_core::publish(*region_, own_, table.own(own_));
}

void EdfNeighbours::look(EdfTable & table) noexcept
{
  uint32_t runners = options_.runners;
  const TimePoint now = platform_.now();
  for (uint32_t i = 0; i < kMaxNeighbours; ++i) {
    Neighbour * const other = neighbours_[i].get();
    if (!other || other->is_gone) {
      continue;
    }
    if (other->region->closed.load(std::memory_order_acquire) != 0) {
      other->is_gone = true;
      table.remove_others(i + 1);
      continue;
    }
    if (
      other->is_rung && other->region->answers.load(std::memory_order_relaxed) != other->answers) {
      other->is_rung = false;
      other->is_away = false;
    }
    if (other->is_rung && !other->is_away && now - other->rung_at >= kPatience) {
      other->is_away = other->was_away = true;
      other->is_read = false;
      table.remove_others(i + 1);
    }
    if (other->is_away) {
      continue;
    }
    runners = std::min(runners, other->runners);
    const uint64_t sequence = other->region->sequence.load(std::memory_order_seq_cst);
    if (other->is_read && sequence == other->sequence) {
      continue;
    }
    // If it cannot be read now, what it told before stands, and the next event tries again.
    if (read(*other->region, options_.run_priority, &scratch_)) {
      table.replace_others(i + 1, scratch_);
      other->sequence = scratch_.sequence;
      other->is_read = true;
    }
  }
  table.set_runners(runners);
}

bool EdfNeighbours::have_told_more() const noexcept
{
  return std::any_of(neighbours_.begin(), neighbours_.end(), [](const auto & other) {
    return other && other->is_read &&
           other->region->sequence.load(std::memory_order_seq_cst) != other->sequence;
  });
}

void EdfNeighbours::look_again() noexcept { ring_and_wake(*bell_); }

void EdfNeighbours::answer() noexcept { region_->answers.fetch_add(1, std::memory_order_relaxed); }

void EdfNeighbours::ring(uint32_t process) noexcept
{
  Neighbour & other = *neighbours_[process - 1];
  const uint64_t ours = region_->sequence.load(std::memory_order_relaxed);
  if (other.rung_for_theirs == other.sequence && other.rung_for_ours == ours) {
    return;
  }
  other.rung_for_theirs = other.sequence;
  other.rung_for_ours = ours;
  if (!other.is_rung) {
    other.is_rung = true;
    other.answers = other.region->answers.load(std::memory_order_relaxed);
    other.rung_at = platform_.now();
  }
  ring_and_wake(*other.bell);
}

bool EdfNeighbours::drop_if_gone(uint32_t process, EdfTable & table) noexcept
{
  Neighbour & other = *neighbours_[process - 1];
  if (other.is_gone || other.process.is_alive()) {
    return false;
  }
  other.is_gone = true;
  table.remove_others(process);
  return true;
}

bool EdfNeighbours::is_known(const RollEntry & entry) const
{
  return std::any_of(neighbours_.begin(), neighbours_.end(), [&](const auto & other) {
    return other && other->file == entry.file;
  });
}

// Returns why it cannot attach. Empty: it is attached, or there is nothing to say.
std::string EdfNeighbours::attach(const RollEntry & entry, std::unique_ptr<Neighbour> * neighbour)
{
  auto other = std::make_unique<Neighbour>();
  other->file = entry.file;
  switch (OtherProcess::open(entry.process, entry.born, &other->process)) {
    case OtherProcess::Found::kYes:
      break;
    case OtherProcess::Found::kGone:
      roll_.remove(entry.file);  // it has ended without a word
      return {};
    case OtherProcess::Found::kUnknown:
      return shortage();
  }
  const ProcessFacts & facts = other->process.facts();
  if (facts.user != self_.user) {
    return "it belongs to user " + std::to_string(facts.user);
  }
  // A process that may raise any thread must not depend on what a process says that may not.
  if (facts.may_raise != self_.may_raise) {
    return facts.may_raise ? "it has CAP_SYS_NICE, and this one has not"
                           : "it has no CAP_SYS_NICE, and this one has";
  }
  if (entry.version != EdfRegion::kVersion) {
    return "its table has version " + std::to_string(entry.version) + ", ours has " +
           std::to_string(EdfRegion::kVersion) + ": build both with the same release";
  }
  using Adopted = SealedMemory::Adopted;
  const int folder = other->process.folder();
  Adopted adopted = SealedMemory::adopt(
    folder, entry.descriptors[0], sizeof(EdfRegion), false, &other->region_memory);
  if (adopted == Adopted::kYes) {
    adopted =
      SealedMemory::adopt(folder, entry.descriptors[1], sizeof(EdfBell), true, &other->bell_memory);
  }
  switch (adopted) {
    case Adopted::kYes:
      break;
    case Adopted::kNotThere:
      roll_.remove(entry.file);  // its table has ended
      return {};
    case Adopted::kNotNow:
      return shortage();
    case Adopted::kNotAllowed:
      return "the kernel does not let this one look into it: it has capabilities that this one has "
             "not, or got them from its file (setcap). Give both RLIMIT_RTPRIO instead";
    case Adopted::kNotOurs:
      return "what it shares is no table";
  }
  const ino_t number = other->region_memory.number();
  const bool is_there_twice =
    number == region_memory_.number() ||
    std::any_of(neighbours_.begin(), neighbours_.end(), [number](const auto & known) {
      return known && known->region_memory.number() == number;
    });
  if (is_there_twice) {
    return {};
  }
  other->region = static_cast<const EdfRegion *>(other->region_memory.data());
  other->bell = static_cast<EdfBell *>(other->bell_memory.data());
  const int32_t run_priority = other->region->run_priority.load(std::memory_order_relaxed);
  if (run_priority != options_.run_priority) {
    other->bell->comers.fetch_add(1, std::memory_order_seq_cst);
    ring_and_wake(*other->bell);  // so that it tells its user, too
    return "it has run_priority " + std::to_string(run_priority) + ", this one " +
           std::to_string(options_.run_priority) + ": give both the same";
  }
  other->runners = std::max(1U, other->region->runners.load(std::memory_order_relaxed));
  other->process.close_folder();
  other->region_memory.close_descriptor();
  other->bell_memory.close_descriptor();
  *neighbour = std::move(other);
  return {};
}

// What they had mapped goes when the lock is free again.
void EdfNeighbours::drop_ended()
{
  for (uint32_t i = 0; i < kMaxNeighbours; ++i) {
    const Neighbour * const other = neighbours_[i].get();
    if (
      !other ||
      (other->process.is_alive() && other->region->closed.load(std::memory_order_acquire) == 0)) {
      continue;
    }
    std::unique_ptr<Neighbour> ended;
    const std::lock_guard<Mutex> lock(mutex_);
    table_->remove_others(i + 1);
    ended.swap(neighbours_[i]);
    --count_;
  }
}

// By one thread: first by the one that makes it, then by the attendant. Only the splicing is under the
// lock.
void EdfNeighbours::scan()
{
  std::vector<Finding> found;
  const Status mended = roll_.mend();
  if (!mended.ok()) {
    found.push_back(
      {options_.name,
       "processes that start from now on are not ordered with this one: " + mended.message(), 0,
       "Mend that; the next spin looks again"});
  }
  if (!roll_.directory().refused().empty()) {
    found.push_back(
      {options_.name,
       "the table is in " + roll_.directory().path() + ", since " + roll_.directory().refused(), 0,
       "Processes that cannot use it there are not ordered with this one"});
  }
  drop_ended();
  for (const RollEntry & entry : roll_.entries()) {
    if (entry.file == roll_.own() || is_known(entry)) {
      continue;
    }
    std::unique_ptr<Neighbour> added;
    std::string why = attach(entry, &added);
    if (added) {
      const auto place = std::find(neighbours_.begin(), neighbours_.end(), nullptr);
      if (place != neighbours_.end()) {
        const std::lock_guard<Mutex> lock(mutex_);
        *place = std::move(added);
        ++count_;
      } else {
        why = "there are more than " + std::to_string(kMaxNeighbours) + " others";
      }
    }
    if (!why.empty()) {
      found.push_back(
        {options_.name,
         "deadlines of process " + std::to_string(entry.process) +
           " are not ordered with those of this one: " + why,
         0, "Their jobs compete at the same priorities in the order of coming"});
    }
  }
  const std::lock_guard<std::mutex> lock(telling_);
  found_.swap(found);
}

std::vector<Finding> EdfNeighbours::findings() const
{
  struct
  {
    int32_t process;
    bool is_away;
  } silent[kMaxNeighbours];
  std::size_t count = 0;
  {
    const std::lock_guard<Mutex> lock(mutex_);
    for (const auto & other : neighbours_) {
      if (other && other->was_away && !other->is_gone && other->process.is_alive()) {
        silent[count++] = {other->process.number(), other->is_away};
      }
    }
  }
  std::unique_lock<std::mutex> lock(telling_);
  std::vector<Finding> all = found_;
  all.insert(all.end(), attendant_.begin(), attendant_.end());
  lock.unlock();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string process = std::to_string(silent[i].process);
    if (silent[i].is_away) {
      all.push_back(
        {options_.name,
         "process " + process +
           " does not answer (stopped, or in a debugger): its deadlines are not ordered with those "
           "of this one until it does",
         0, "Let it go on, or end it"});
    } else {
      all.push_back(
        {options_.name,
         "process " + process +
           " did not answer for a while: its deadlines were not ordered with those of this one",
         0, "It answers again; nothing is to be done", Severity::kNote});
    }
  }
  return all;
}

}  // namespace rclrt_core::linux_platform
