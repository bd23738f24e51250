// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What serial, UDP and TCP lines have in common: a thread that waits for the operating system and for
/// sessions that have something to send.
///
/// A session is asked for its next message only when the operating system has room for one. So what is urgent waits
/// for one message, not for a buffer of them. The thread that has a message while there is room sends it, whichever that is;
/// this thread sends the others when there is room again.
#pragma once

#include <poll.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent.hpp"

namespace rclrt_agent
{

/// A file descriptor that is closed at the end.
class Descriptor
{
public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor && other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor & operator=(Descriptor && other) noexcept
  {
    std::swap(fd_, other.fd_);
    return *this;
  }
  void reset(int fd = -1);
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

private:
  int fd_;
};

struct LineCounters
{
  uint64_t received = 0;  ///< messages
  uint64_t sent = 0;
  uint64_t broken = 0;    ///< frames with a wrong checksum, cut short, too long
  uint64_t failures = 0;  ///< of the operating system, or for want of a resource
};

class LineThread : public Line
{
public:
  explicit LineThread(Agent & agent);
  ~LineThread() override;
  LineThread(const LineThread &) = delete;
  LineThread & operator=(const LineThread &) = delete;

  void start();
  /// Idempotent. Subclasses call it in their destructors.
  void stop();
  LineCounters counters() const;
  virtual std::string name() const = 0;
  /// Whether it tells by itself when it listens.
  virtual bool tells() const { return false; }

  void send(uint64_t address, const Bytes & message) override { transmit(address, message, {}); }
  void attach(uint64_t address, const std::shared_ptr<Session> & session) override;
  bool same_host(uint64_t a, uint64_t b) const override { return a == b; }

protected:
  /// Adds what is to be waited for. Returns when to look again at the latest.
  virtual TimePoint prepare(std::vector<pollfd> * polled, TimePoint now) = 0;
  /// Reads what has come. `polled`: as prepare() has left it, with results.
  virtual void read(const std::vector<pollfd> & polled, TimePoint now) = 0;
  /// Whether the operating system has room for a message.
  virtual bool can_send(uint64_t address, TimePoint now) = 0;
  /// A message of a session.
  virtual void transmit(uint64_t address, const Bytes & message, TimePoint now) = 0;
  /// Whether can_send() and transmit() may be called by any thread, under the mutex of sending(): then a thread that has
  /// something for a client sends it, and does not wake this thread for that.
  virtual bool sends_at_once() const { return false; }
  /// Whether this thread has to see to what transmit() has been given: there was no room for all of it. Under the same.
  virtual bool has_rest() const { return false; }

  void receive(uint64_t address, View message, TimePoint now);
  /// Nothing of this address is sent any more.
  void detach(uint64_t address) { drop(address); }
  /// Whether a session speaks from there.
  bool has_session(uint64_t address) const { return peers_.count(address) > 0; }
  bool stopping() const { return stop_.load(std::memory_order_relaxed); }

  // A line that takes time (see Told::sending) guards with it what it knows of what it has sent.
  mutable rclrt_front_end::PiMutex sending_;
  // Counted by whoever sends or reads, read by others for statistics: relaxed.
  std::atomic<uint64_t> sent_{0}, received_{0}, broken_{0}, failures_{0};

private:
  /// What a session tells this thread. Its address names this place to the session.
  struct Told
  {
    // Set by the thread that rings, cleared by the line's thread before it looks; so a bell that is not rung means that the thread
    // still has to look. acq_rel: what was queued before is seen then.
    std::atomic<bool> rung{false};
    // Held by the thread that takes messages from the session, until they are sent, so that they leave in order. On a line that
    // takes time all clients share `sending_` instead: one message at a time. Under either only Outgoing is locked.
    rclrt_front_end::PiMutex sending;
    TimePoint planned = rclrt_core::kNever;  // Peer::due, under that mutex
  };
  struct Peer
  {
    std::shared_ptr<Session> session;
    TimePoint due = rclrt_core::kNever;
    std::shared_ptr<Told> told;
  };
  /// What other threads tell this one; outlives the line, because sessions may.
  struct Bell
  {
    Descriptor event;
    rclrt_front_end::PiMutex mutex;
    std::vector<uint64_t> ready;
    void ring();
  };

  void run();
  void drop(uint64_t address);
  void collect();
  void send_all(TimePoint now);
  void schedule(uint64_t address, Peer * peer, TimePoint due);
  rclrt_front_end::PiMutex & sending(Told & told) const;
  bool send_at_once(uint64_t address, Session * session, Told * told);
  static bool has_left(const Peer & peer);
  void look(uint64_t address, Peer * peer, TimePoint earliest);

  Agent & agent_;
  const std::shared_ptr<Bell> bell_;
  std::map<uint64_t, Peer> peers_;  // of the line's thread alone, as the next
  std::set<std::pair<TimePoint, uint64_t>>
    schedule_;  // peers that have something to send, and when
  // Written by stop(), read by the thread, which the bell wakes: relaxed.
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rclrt_agent
