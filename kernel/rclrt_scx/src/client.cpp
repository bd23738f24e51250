// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_scx/client.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <utility>

#include "bpf_calls.hpp"
#include "seccomp.hpp"

namespace rclrt_scx
{
namespace
{

void say(std::string * why, const std::string & text)
{
  if (why != nullptr) {
    *why = text;
  }
}

std::string cannot_open(const std::string & path, int error)
{
  switch (error) {
    case ENOENT:
      return "no EDF scheduler is loaded (" + path +
             " is not there): load one with `rclrt scx load`";
    case EACCES:
      return "may not open " + path +
             ": load the scheduler with `rclrt scx load --group <a group of this user>`";
    case EPERM:
    case ENOSYS:
      // A filter refuses before the kernel has looked at the path. What is not there is not there all the same.
      if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
        return cannot_open(path, ENOENT);
      }
      if (error == EPERM || has_seccomp_filter()) {
        return "may not open " + path + ": " + refused_bpf(has_seccomp_filter());
      }
      return "this kernel has no bpf(2): it cannot run a sched_ext scheduler";
    default:
      return "cannot open " + path + ": " + std::strerror(error);
  }
}

/// Map the pinned array, or nullptr and why.
void * map_pin(const std::string & path, std::size_t bytes, int protection, std::string * why)
{
  const int fd = open_pin(path.c_str(), 0);
  if (fd < 0) {
    say(why, cannot_open(path, errno));
    return nullptr;
  }
  void * memory = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  const int error = errno;
  close(fd);  // The mapping keeps the array.
  if (memory == MAP_FAILED) {
    say(
      why, "cannot map " + path + ": " + std::strerror(error) +
             "; it is not the array of this version: `rclrt scx unload`, then load again");
    return nullptr;
  }
  return memory;
}

/// Empty if client and loader understand each other.
std::string mismatch(const rclrt_scx_state & state)
{
  if (state.magic != RCLRT_SCX_MAGIC) {
    return "the pinned state is not of an rclrt scheduler: `rclrt scx unload`, then load again";
  }
  if (state.version != RCLRT_SCX_VERSION) {
    return "the loaded scheduler speaks version " + std::to_string(state.version) +
           " of the slot table, this program version " + std::to_string(RCLRT_SCX_VERSION) +
           ": build both from one source, then `rclrt scx unload` and load again";
  }
  if (state.slots == 0 || state.slots > RCLRT_SCX_MAX_SLOTS) {
    return "the pinned state is corrupt (" + std::to_string(state.slots) +
           " slots): `rclrt scx unload`, then load again";
  }
  return {};
}

bool is_deadline(int64_t value) { return value > RCLRT_SCX_NO_DEADLINE; }

}  // namespace

std::unique_ptr<Client> Client::open(std::string * why, const char * directory)
{
  std::unique_ptr<Client> client(new Client);
  client->directory_ = directory;
  const Table table(directory, "state");
  if (table.error() != 0) {
    say(why, cannot_open(client->directory_ + "/state", table.error()));
    return nullptr;
  }
  rclrt_scx_state state{};
  const std::string problem = table.read(0, state) ? mismatch(state) : mismatch({});
  if (!problem.empty()) {
    say(why, problem);
    return nullptr;
  }
  client->state_ = static_cast<const rclrt_scx_state *>(
    map_pin(client->directory_ + "/state", sizeof(rclrt_scx_state), PROT_READ, why));
  client->slots_bytes_ = (state.slots + 1) * sizeof(rclrt_scx_slot);
  client->slots_ =
    client->state_ == nullptr
      ? nullptr
      : static_cast<rclrt_scx_slot *>(map_pin(
          client->directory_ + "/slots", client->slots_bytes_, PROT_READ | PROT_WRITE, why));
  if (client->slots_ == nullptr) {
    return nullptr;
  }
  if (!client->in_force()) {
    say(
      why, "the EDF scheduler was ejected (" + client->exit_reason() +
             "); threads run under the fair class: `rclrt scx unload`, then load again");
    return nullptr;
  }
  const std::string bind = std::string(directory) + "/bind";
  client->bind_fd_ = open_pin(bind.c_str(), 0);
  if (client->bind_fd_ < 0) {
    say(why, cannot_open(bind, errno));
    return nullptr;
  }
  return client;
}

Client::~Client()
{
  if (slots_ != nullptr) {
    munmap(slots_, slots_bytes_);
  }
  if (state_ != nullptr) {
    munmap(const_cast<rclrt_scx_state *>(state_), sizeof(*state_));
  }
  if (bind_fd_ >= 0) {
    close(bind_fd_);
  }
}

bool Client::in_force() const noexcept
{
  // Acquire: a thread that sees it fall also sees the reason, which the kernel wrote before.
  return __atomic_load_n(&state_->in_force, __ATOMIC_ACQUIRE) != 0;
}

std::string Client::exit_reason() const
{
  if (in_force()) {
    return {};
  }
  const std::string reason(
    state_->exit_reason, strnlen(state_->exit_reason, sizeof(state_->exit_reason)));
  const std::string message(
    state_->exit_message, strnlen(state_->exit_message, sizeof(state_->exit_message)));
  return message.empty() ? reason : reason + ": " + message;
}

rclrt_scx_mode Client::mode() const noexcept { return static_cast<rclrt_scx_mode>(state_->mode); }

Slot Client::bind_this_thread(std::string * why)
{
  rclrt_scx_bind request{RCLRT_SCX_BIND, 0};
  int error = run_bind(bind_fd_, request);
  if (error == 0 && (request.slot == 0 || request.slot > state_->slots)) {
    error = ERANGE;
  }
  switch (error) {
    case 0:
      break;
    case ENOSPC:
      say(
        why,
        "all " + std::to_string(state_->slots) +
          " slots of the EDF scheduler are taken: load it with more (`rclrt scx load --slots`)");
      return {};
    case EDQUOT:
    case EUSERS: {
      const bool process = error == EDQUOT;
      const uint32_t most =
        process ? RCLRT_SCX_MOST_OF_PROCESS(state_->slots) : RCLRT_SCX_MOST_OF_USER(state_->slots);
      say(
        why,
        std::string(process ? "this process already has " : "this user's processes already have ") +
          std::to_string(most) + " of the " + std::to_string(state_->slots) +
          " slots of the EDF scheduler, the most for one: load it with more (`rclrt scx load "
          "--slots`)");
      return {};
    }
    case EALREADY:
      say(why, "this thread already has slot " + std::to_string(request.slot) + ": keep that one");
      return {};
    case ESHUTDOWN:
      say(why, "the EDF scheduler is gone (" + exit_reason() + "): load it again");
      return {};
    default:
      say(why, std::string("cannot bind this thread to a slot: ") + std::strerror(error));
      return {};
  }
  Slot slot;
  slot.client_ = this;
  slot.word_ = slots_ + request.slot;
  slot.index_ = request.slot;
  slot.tid_ = static_cast<pid_t>(syscall(SYS_gettid));
  error = schedule_ext(0);
  if (error != 0) {
    say(why, std::string("cannot put this thread under SCHED_EXT: ") + std::strerror(error));
    slot.release();
  }
  return slot;
}

Slot::Slot(Slot && other) noexcept { *this = std::move(other); }

Slot & Slot::operator=(Slot && other) noexcept
{
  if (this != &other) {
    leave();
    client_ = std::exchange(other.client_, nullptr);
    word_ = std::exchange(other.word_, nullptr);
    index_ = other.index_;
    tid_ = other.tid_;
  }
  return *this;
}

Slot::~Slot() { leave(); }

void Slot::leave() noexcept
{
  if (word_ != nullptr && tid_ == static_cast<pid_t>(syscall(SYS_gettid))) {
    release();
  }
}

bool Slot::set_deadline(int64_t deadline_ns) noexcept
{
  if (!is_deadline(deadline_ns) || word_ == nullptr) {
    return false;
  }
  // Release: whatever the job needs is stored before its urgency. Costs nothing where it matters.
  __atomic_store_n(&word_->deadline_ns, deadline_ns, __ATOMIC_RELEASE);
  return true;
}

bool Slot::set_budget(uint64_t runtime_ns, uint64_t period_ns, uint64_t left_ns) noexcept
{
  const bool is_possible = runtime_ns > 0 && runtime_ns <= period_ns;
  const bool is_none = runtime_ns == 0 && period_ns == 0;
  if (word_ == nullptr || period_ns > RCLRT_SCX_LONGEST_PERIOD_NS || (!is_possible && !is_none)) {
    return false;
  }
  // The kernel may see one store without the other: then there is another budget for an instant.
  __atomic_store_n(&word_->period_ns, period_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&word_->runtime_ns, runtime_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&word_->left_ns, left_ns, __ATOMIC_RELAXED);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t begun_ns =
    static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
  // Release: a thread that takes notice of this sees the others.
  __atomic_store_n(&word_->begun_ns, begun_ns, __ATOMIC_RELEASE);
  return true;
}

void Slot::clear_deadline() noexcept
{
  if (word_ == nullptr) {
    return;
  }
  const int64_t ended = __atomic_load_n(&word_->deadline_ns, __ATOMIC_RELAXED);
  if (is_deadline(ended)) {
    __atomic_store_n(&word_->ended_ns, ended, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&word_->deadline_ns, RCLRT_SCX_NO_DEADLINE, __ATOMIC_RELEASE);
}

int64_t Slot::deadline() const noexcept
{
  if (word_ == nullptr) {
    return RCLRT_SCX_NO_DEADLINE;
  }
  const int64_t own = __atomic_load_n(&word_->deadline_ns, __ATOMIC_RELAXED);
  const int64_t lent = __atomic_load_n(&word_->lent_ns, __ATOMIC_RELAXED);
  if (!is_deadline(own) || !is_deadline(lent)) {
    return is_deadline(own) ? own : is_deadline(lent) ? lent : RCLRT_SCX_NO_DEADLINE;
  }
  return own < lent ? own : lent;
}

int Slot::lend(int64_t deadline_ns) noexcept
{
  const int64_t before = deadline();
  if (
    word_ == nullptr || !is_deadline(deadline_ns) ||
    (is_deadline(before) && before <= deadline_ns)) {
    return 0;
  }
  int64_t lent = __atomic_load_n(&word_->lent_ns, __ATOMIC_RELAXED);
  do {
    if (is_deadline(lent) && lent <= deadline_ns) {
      return 0;  // Somebody earlier waits too, and has made the kernel look.
    }
  } while (!__atomic_compare_exchange_n(
    &word_->lent_ns, &lent, deadline_ns, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  return reconsider();
}

bool Slot::is_asleep() const noexcept
{
  if (word_ == nullptr) {
    return false;
  }
  // The deadline is stored, then this is read; the kernel clears this, then reads the deadline.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return __atomic_load_n(&word_->asleep, __ATOMIC_RELAXED) != 0;
}

int Slot::reconsider() const noexcept { return word_ == nullptr ? ENOENT : schedule_ext(tid_); }

void Slot::settle() noexcept
{
  if (
    word_ != nullptr &&
    is_deadline(__atomic_exchange_n(&word_->lent_ns, RCLRT_SCX_NO_DEADLINE, __ATOMIC_ACQ_REL))) {
    sched_yield();
  }
}

void Slot::release() noexcept
{
  if (word_ == nullptr) {
    return;
  }
  clear_deadline();
  rclrt_scx_bind request{RCLRT_SCX_RELEASE, 0};
  run_bind(client_->bind_fd_, request);
  word_ = nullptr;
  client_ = nullptr;
}

}  // namespace rclrt_scx
