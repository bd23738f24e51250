// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The simulated port: virtual time, a processor whose time callbacks use up, and lines with a baud
// rate, loss, corruption, duplication, delay and reordering. Nothing sleeps; a run is the same every time.
//
// Events (bytes that arrive, a transmission that ends, a timer) are interrupts: they run in
// SimWorld::step(), also in the middle of SimWorld::work(), and the work interrupted goes on
// afterwards with what it had left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rclrt_micro/port.h"

namespace rclrt_micro
{
using SimBytes = std::vector<uint8_t>;

class SimWorld
{
public:
  [[nodiscard]] uint64_t now_ns() const { return now_ns_; }

  // Around each event. At its exit a processor looks for software interrupts.
  std::function<void()> on_interrupt_entry;
  std::function<void()> on_interrupt_exit;

  // Runs `event` at `time_ns`, after those of the same time that were asked for earlier.
  void at(uint64_t time_ns, std::function<void()> event)
  {
    events_.emplace(time_ns < now_ns_ ? now_ns_ : time_ns, std::move(event));
  }

  // Goes to the next event that is not after `until_ns` and runs it; without one goes there. False
  // when there was none.
  bool step(uint64_t until_ns)
  {
    const auto next = events_.begin();
    if (next == events_.end() || next->first > until_ns) {
      now_ns_ = until_ns > now_ns_ ? until_ns : now_ns_;
      return false;
    }
    now_ns_ = next->first > now_ns_ ? next->first : now_ns_;
    const auto event = std::move(next->second);
    events_.erase(next);
    if (on_interrupt_entry) {
      on_interrupt_entry();
    }
    event();
    if (on_interrupt_exit) {
      on_interrupt_exit();
    }
    return true;
  }

  // Would step(now_ns()) run anything?
  [[nodiscard]] bool due() const { return !events_.empty() && events_.begin()->first <= now_ns_; }

  // Time passes with interrupts masked: what falls due meanwhile comes afterwards.
  void hold(uint64_t duration_ns) { now_ns_ += duration_ns; }

  void run_until(uint64_t time_ns)
  {
    while (step(time_ns)) {
    }
  }

  // The processor is busy for `duration_ns`, not counting what interrupts and callbacks that preempt
  // take.
  void work(uint64_t duration_ns)
  {
    while (duration_ns > 0) {
      const auto next = events_.begin();
      if (next == events_.end() || next->first >= now_ns_ + duration_ns) {
        now_ns_ += duration_ns;
        return;
      }
      const uint64_t used = next->first > now_ns_ ? next->first - now_ns_ : 0;
      duration_ns -= used;
      step(now_ns_ + used);
    }
  }

private:
  uint64_t now_ns_ = 0;
  std::multimap<uint64_t, std::function<void()>> events_;
};

// One direction of a line: a frame after the other.
class SimLine
{
public:
  struct Faults
  {
    double loss = 0;         // probability, per frame
    double corruption = 0;   // one bit of the frame is flipped
    double duplication = 0;  // the frame arrives twice
    uint64_t jitter_ns =
      0;  // a frame arrives up to this much later, and so after its successors ...
    bool by_stream = false;  // ... of other streams: those of its own wait for it
  };

  // `byte_ns`: time of a byte on the line; 86806 at 115200 baud, 8N1.
  SimLine(SimWorld & world, uint64_t byte_ns, uint32_t seed = 1)
  : world_(world), byte_ns_(byte_ns), random_(seed)
  {
  }

  std::function<void(const SimBytes &)> deliver;
  std::function<uint8_t(const SimBytes &)> stream_of;  // of a frame; needed for `by_stream`
  Faults faults;

  // Puts `frame` on the line behind what is there. `done` is called when its last byte has left.
  void send(const SimBytes & frame, std::function<void()> done = {})
  {
    free_at_ns_ = std::max(free_at_ns_, world_.now_ns()) + frame.size() * byte_ns_;
    bytes_ += frame.size();
    int copies = happens(faults.loss) ? 0 : 1;
    copies += copies > 0 && happens(faults.duplication) ? 1 : 0;
    for (int i = 0; i < copies; ++i) {
      SimBytes arriving = frame;
      if (happens(faults.corruption)) {
        arriving[random_() % arriving.size()] ^= static_cast<uint8_t>(1U << random_() % 8);
      }
      uint64_t at_ns = free_at_ns_ + (faults.jitter_ns == 0 ? 0 : random_() % faults.jitter_ns);
      if (faults.by_stream) {
        uint64_t & last_ns = arrives_ns_[stream_of(frame)];
        at_ns = last_ns = std::max(at_ns, last_ns);
      }
      world_.at(at_ns, [this, arriving] { deliver(arriving); });
    }
    if (done) {
      world_.at(free_at_ns_, std::move(done));
    }
  }

  [[nodiscard]] uint64_t bytes() const { return bytes_; }

private:
  bool happens(double probability)
  {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }

  SimWorld & world_;
  uint64_t byte_ns_;
  uint64_t free_at_ns_ = 0;
  uint64_t bytes_ = 0;
  std::map<uint8_t, uint64_t> arrives_ns_;  // the last frame of a stream
  std::mt19937 random_;
};

// The microcontroller's side: a port, and a transport that receives and transmits by interrupt.
class SimLevels;

class SimPort
{
public:
  SimPort(SimWorld & world, SimLine & out) : world_(world), out_(out)
  {
    port.context = this;
    port.now_ns = [](void * self) { return of(self).world_.now_ns(); };
    port.enter = [](void * self) {
      if (of(self).on_enter && !of(self).inside_) {
        of(self).on_enter();
      }
      if (of(self).inside_) {
        throw std::logic_error("a critical section inside another");
      }
      of(self).inside_ = true;
      return uint32_t{0};
    };
    port.leave = [](void * self, uint32_t) {
      of(self).inside_ = false;
      if (of(self).on_leave) {
        of(self).on_leave();
      }
    };
    port.pend = nullptr;
    transport.context = this;
    transport.open = [](void * self) { return of(self).is_open = true; };
    transport.close = [](void * self) { of(self).is_open = false; };
    transport.write = [](void * self, const uint8_t * bytes, size_t size) -> ptrdiff_t {
      of(self).out_.send(SimBytes(bytes, bytes + size), [self] { of(self).transmitted(); });
      return 0;
    };
    transport.read = [](void * self, uint8_t *, size_t, uint64_t timeout_ns) -> ptrdiff_t {
      const uint64_t now = of(self).world_.now_ns();
      of(self).world_.step(timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns);
      return 0;
    };
  }

  SimPort(const SimPort &) = delete;
  SimPort & operator=(const SimPort &) = delete;

  rclrt_port port{};
  rclrt_transport transport{};
  std::function<void()> transmitted;  // the completion interrupt
  std::function<void()> on_enter;     // just before every critical section, for tests
  std::function<void()> on_leave;     // just after it
  bool is_open = false;

private:
  friend class SimLevels;

  static SimPort & of(void * self) { return *static_cast<SimPort *>(self); }

  SimWorld & world_;
  SimLine & out_;
  bool inside_ = false;
  SimLevels * levels_ = nullptr;
};

// Preemption levels on one processor and one stack: what is pended runs at the exit of the interrupt,
// on top of what it interrupts, if its level is higher. As the interrupt controller of a
// microcontroller does it.
class SimLevels
{
public:
  SimLevels(SimWorld & world, SimPort & port, std::function<void(unsigned level)> run)
  : run_(std::move(run))
  {
    instance_of(port) = this;
    port.port.pend = [](void * self, unsigned level) {
      instance_of(*static_cast<SimPort *>(self))->pending_ |= 1U << level;
    };
    world.on_interrupt_exit = [this] { dispatch(); };
  }

  SimLevels(const SimLevels &) = delete;
  SimLevels & operator=(const SimLevels &) = delete;

  // While `level` is the ceiling, nothing at it or below begins. Returns what to restore.
  int raise(int level)
  {
    const int before = current_;
    current_ = level > current_ ? level : current_;
    return before;
  }

  void restore(int level)
  {
    current_ = level;
    dispatch();
  }

  void dispatch()
  {
    for (int level = 31; level > current_; --level) {
      if ((pending_ >> level & 1U) != 0) {
        pending_ &= ~(1U << level);
        const int before = current_;
        current_ = level;
        run_(static_cast<unsigned>(level));
        current_ = before;
        level = 32;  // it may have pended others
      }
    }
  }

private:
  static SimLevels *& instance_of(SimPort & port) { return port.levels_; }

  std::function<void(unsigned)> run_;
  uint32_t pending_ = 0;
  int current_ = -1;
};
}  // namespace rclrt_micro
