// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "line_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>

namespace rclrt_agent
{
namespace
{

constexpr int kBurst = 32;  // messages sent before the line is read again
constexpr int kAtOnce = 4;  // by a thread that has other things to do

TimePoint monotonic_now() { return std::chrono::steady_clock::now(); }

}  // namespace

void Descriptor::reset(int fd)
{
  if (fd_ >= 0) {
    ::close(fd_);
  }
  fd_ = fd;
}

void LineThread::Bell::ring()
{
  const uint64_t one = 1;
  // Fails only if the counter is full, and then the thread wakes up as well.
  [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof(one));
}

LineThread::LineThread(Agent & agent) : agent_(agent), bell_(std::make_shared<Bell>())
{
  bell_->event.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

LineThread::~LineThread() { stop(); }

void LineThread::start()
{
  thread_ = std::thread([this] { run(); });
}

void LineThread::stop()
{
  stop_.store(true, std::memory_order_relaxed);
  bell_->ring();
  if (thread_.joinable()) {
    thread_.join();
  }
  for (auto & [address, peer] : peers_) {
    peer.session->off_outgoing(peer.told.get());
  }
  peers_.clear();
}

LineCounters LineThread::counters() const
{
  return {
    received_.load(std::memory_order_relaxed), sent_.load(std::memory_order_relaxed),
    broken_.load(std::memory_order_relaxed), failures_.load(std::memory_order_relaxed)};
}

void LineThread::attach(uint64_t address, const std::shared_ptr<Session> & session)
{
  const auto found = peers_.find(address);
  if (
    found != peers_.end() && found->second.session == session &&
    session->speaks_through(found->second.told.get())) {
    return;
  }
  drop(address);
  // It may have had another address.
  for (auto peer = peers_.begin(); peer != peers_.end(); ++peer) {
    if (peer->second.session == session) {
      drop(peer->first);
      break;
    }
  }
  Peer & peer = peers_[address];
  peer.session = session;
  peer.told = std::make_shared<Told>();
  const auto tell = [this, bell = bell_, told = peer.told, address, of = session.get()] {
    if (told->rung.load(std::memory_order_relaxed)) {
      return;
    }
    if ((sends_at_once() && send_at_once(address, of, told.get())) || told->rung.exchange(true)) {
      return;
    }
    {
      const std::lock_guard lock(bell->mutex);
      bell->ready.push_back(address);
    }
    bell->ring();
  };
  session->on_outgoing(peer.told.get(), tell);
}

rclrt_front_end::PiMutex & LineThread::sending(Told & told) const
{
  return takes_time() ? sending_ : told.sending;
}

// By the thread that has something for the client. Whether the line's thread need not know.
bool LineThread::send_at_once(uint64_t address, Session * session, Told * told)
{
  const std::lock_guard lock(sending(*told));
  if (session->ended()) {
    return false;
  }
  const TimePoint now = monotonic_now();
  Bytes message;
  for (int i = 0; i < kAtOnce && can_send(address, now) && session->outgoing().next(now, &message);
       ++i) {
    transmit(address, message, now);
    sent_.fetch_add(1, std::memory_order_relaxed);
  }
  return !has_rest() && session->outgoing().due() >= told->planned;
}

void LineThread::drop(uint64_t address)
{
  const auto found = peers_.find(address);
  if (found != peers_.end()) {
    {
      const std::lock_guard lock(sending(*found->second.told));
      schedule(address, &found->second, rclrt_core::kNever);
    }
    found->second.session->off_outgoing(found->second.told.get());
    peers_.erase(found);
  }
}

// Under sending().
void LineThread::schedule(uint64_t address, Peer * peer, TimePoint due)
{
  if (peer->due != rclrt_core::kNever) {
    schedule_.erase({peer->due, address});
  }
  peer->due = due;
  peer->told->planned = due;
  if (due != rclrt_core::kNever) {
    schedule_.insert({due, address});
  }
}

void LineThread::receive(uint64_t address, View message, TimePoint now)
{
  received_.fetch_add(1, std::memory_order_relaxed);
  const auto found = peers_.find(address);
  // A copy: attach() may replace it.
  const auto session = found == peers_.end() ? nullptr : found->second.session;
  const auto told = found == peers_.end() ? nullptr : found->second.told;
  // As if the bell had been rung: this thread looks in any case, below.
  const bool looks = told != nullptr && !told->rung.exchange(true, std::memory_order_acq_rel);
  try {
    agent_.receive(*this, address, session, message, now);
  } catch (const std::exception &) {
    // Nothing could be made for a new client, or the process is about to end. The other clients go on.
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  if (looks) {
    (void)told->rung.exchange(false, std::memory_order_acq_rel);
    const auto peer = peers_.find(address);
    if (peer != peers_.end() && peer->second.told == told) {
      look(address, &peer->second, TimePoint::min());
    }
  }
}

// Whether another place speaks for the session now.
bool LineThread::has_left(const Peer & peer)
{
  return !peer.session->speaks_through(peer.told.get());
}

// When a peer is to send next, if ever again.
void LineThread::look(uint64_t address, Peer * peer, TimePoint earliest)
{
  const bool ended =
    peer->session->ended();  // first: a thread that sees it sees the last answer, too
  bool leaves = has_left(*peer);
  if (!leaves) {
    const std::lock_guard lock(sending(*peer->told));
    const TimePoint due = peer->session->outgoing().due();
    leaves = ended && due == rclrt_core::kNever;
    // Where others send, a look that was planned stays: else each message of theirs would have to plan it anew.
    const bool stays = sends_at_once() && peer->due > earliest && peer->due < due;
    if (!leaves && !stays) {
      schedule(address, peer, std::max(due, earliest));
    }
  }
  if (leaves) {
    drop(address);
  }
}

void LineThread::collect()
{
  std::vector<uint64_t> ready;
  {
    const std::lock_guard lock(bell_->mutex);
    ready.swap(bell_->ready);
  }
  for (const uint64_t address : ready) {
    const auto found = peers_.find(address);
    if (found != peers_.end()) {
      found->second.told->rung.store(false, std::memory_order_release);
      look(address, &found->second, TimePoint::min());
    }
  }
}

void LineThread::send_all(TimePoint now)
{
  Bytes message;
  std::vector<uint64_t> looked;
  for (int i = 0; i < kBurst && !schedule_.empty() && schedule_.begin()->first <= now; ++i) {
    const uint64_t address = schedule_.begin()->second;
    Peer & peer = peers_.at(address);
    if (has_left(peer)) {
      drop(address);
      continue;
    }
    {
      const std::lock_guard lock(sending(*peer.told));
      if (!can_send(address, now)) {
        looked.push_back(address);
        schedule(address, &peer, rclrt_core::kNever);
        continue;
      }
      if (peer.session->outgoing().next(now, &message)) {
        transmit(address, message, now);
        sent_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    look(address, &peer, now);  // others that are due come before its next one
  }
  for (const uint64_t address : looked) {
    const auto found = peers_.find(address);
    if (found != peers_.end()) {
      const std::lock_guard lock(sending(*found->second.told));
      schedule(address, &found->second, now);
    }
  }
}

void LineThread::run()
{
  std::vector<pollfd> polled;
  while (!stopping()) {
    TimePoint now = monotonic_now();
    polled.clear();
    polled.push_back({bell_->event.get(), POLLIN, 0});
    TimePoint next = rclrt_core::kNever;
    for (const auto & [due, address] : schedule_) {
      const std::lock_guard lock(sending(*peers_.at(address).told));
      if (can_send(address, now)) {
        next = due;
        break;
      }
    }
    const TimePoint until = std::min(next, prepare(&polled, now));
    timespec wait{};
    const timespec * timeout = nullptr;
    if (until != rclrt_core::kNever) {
      const auto left = std::max(until, now) - now;
      wait.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
      wait.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
      timeout = &wait;
    }
    const int count = ::ppoll(polled.data(), polled.size(), timeout, nullptr);
    now = monotonic_now();
    if (count > 0 && (polled[0].revents & POLLIN) != 0) {
      uint64_t rung = 0;
      [[maybe_unused]] const auto got = ::read(bell_->event.get(), &rung, sizeof(rung));
    }
    if (count > 0) {
      read(polled, now);
    }
    collect();
    send_all(now);
  }
}

}  // namespace rclrt_agent
