// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The table of clients, and all that happens outside sessions: greeting, ping, silence.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "session.hpp"

namespace rclrt_agent
{

/// A line, as the agent sees it. Its functions are called by the line's own thread, from inside
/// Agent::receive().
class Line
{
public:
  virtual ~Line() = default;
  /// A message outside all sessions.
  virtual void send(uint64_t address, const Bytes & message) = 0;
  /// From now on, messages from there belong to this session, and what it has to send goes there. Replaces.
  virtual void attach(uint64_t address, const std::shared_ptr<Session> & session) = 0;
  /// Whether two addresses are the same machine.
  virtual bool same_host(uint64_t a, uint64_t b) const = 0;
  virtual std::string describe(uint64_t address) const = 0;
  /// Whether a message holds up the next one while it is sent. Only then long ones go in short fragments.
  virtual bool takes_time() const { return false; }
};

struct AgentOptions
{
  SessionOptions session;
  std::size_t clients = 512;
  /// A client that says nothing for so long is gone; its entities stay for the grace time.
  Duration silence{30'000'000'000};
  Duration grace{30'000'000'000};
  /// An equal greeting within this time of the first is a late copy of it.
  Duration late_greeting{500'000'000};
  /// A client that was heard so recently does not change its machine.
  Duration settled{5'000'000'000};
};

struct ClientReport
{
  Key key{};
  std::string where;
  bool silent = false;
  std::size_t objects = 0;
  SessionCounters counters;
  OutgoingCounters outgoing;
};

struct AgentCounters
{
  uint64_t greetings = 0;
  uint64_t denied = 0;   ///< greetings of another machine, or beyond the limit
  uint64_t foreign = 0;  ///< messages of no session, or of another's
  uint64_t malformed = 0;
  uint64_t ended = 0;  ///< clients that went, or stayed silent beyond the grace time
};

/// Thread-safe.
class Agent
{
public:
  /// Have work() called for this session, soon, by some thread.
  using Dispatch = std::function<void(const std::shared_ptr<Session> & session, int urgency)>;

  Agent(Backend & backend, const AgentOptions & options, Dispatch dispatch);
  ~Agent();

  /// `attached`: the session at this address of the line, or null. By the line's thread.
  void receive(
    Line & line, uint64_t address, const std::shared_ptr<Session> & attached, View message,
    TimePoint now);
  /// One message of the session. Whether there are more.
  bool work(const std::shared_ptr<Session> & session);
  /// Ends what was silent too long. Call it every second or so.
  void tick(TimePoint now);

  std::vector<ClientReport> report(TimePoint now) const;
  AgentCounters counters() const;

private:
  struct Client
  {
    std::shared_ptr<Session> session;
    const Line * line = nullptr;
    uint64_t address = 0;
    TimePoint greeted;
    std::string where;
    Duration check{0};   // silence after which it wants to be asked; 0 is never
    unsigned asked = 0;  // since it was heard
  };

  void outside_sessions(
    Line & line, uint64_t address, const std::shared_ptr<Session> & attached,
    const rclrt_message_header & header, View submessages, TimePoint now);
  uint8_t greet(
    Line & line, uint64_t address, const std::shared_ptr<Session> & attached,
    const rclrt_create_client & asked, TimePoint now);
  struct Place
  {
    std::shared_ptr<Session> session;
    bool restart = false;
    std::vector<std::shared_ptr<Session>> gone;  // of which it takes the place
  };
  uint8_t find_place(
    Line & line, uint64_t address, const std::shared_ptr<Session> & attached,
    const rclrt_create_client & asked, TimePoint now, Place * place);
  bool may_take_over(const Client & client, Line & line, uint64_t address, TimePoint now) const;

  Backend & backend_;
  const AgentOptions options_;
  const Dispatch dispatch_;
  mutable rclrt_front_end::PiMutex mutex_;
  std::map<Key, Client> clients_;
  AgentCounters counters_;
};

/// Removes the shared memory of Fast DDS that processes which are gone have left in `folder`, and returns of how many. A
/// process holds a lock on a file beside its segment as long as it lives, so that it is gone can be seen. One that has
/// begun within `age` may not have taken it yet: its segment stays. What belongs to other users stays, too.
std::size_t remove_dead_segments(
  const std::string & folder = "/dev/shm", std::chrono::seconds age = std::chrono::seconds(10));

}  // namespace rclrt_agent
