// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One client: its streams and its entities.
///
/// A line gives it messages (post()), threads of the executor work on them (work(), never two at once), data for the
/// client comes from ROS by the functions of Sink, and the line takes what is to be sent from outgoing().
///
/// Thread-safe. One lock, with priority inheritance, guards streams and entities; entities of ROS are created
/// under it and destroyed without it. Another one guards what is read from ROS: under that nothing of ROS is called, so
/// threads of the middleware may bring data while they hold its locks. Bounded: entities, bytes that wait, messages not
/// yet worked on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend.hpp"
#include "incoming.hpp"
#include "outgoing.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_agent
{

/// How many messages a second may come from a client, or for a topic, before they lose their urgency. Not
/// thread-safe.
class Allowance
{
public:
  /// `per_s`: 0 is without limit. A tenth of it may come at once, and one in any case.
  explicit Allowance(double per_s = 0) : per_s_(per_s), left_(most()) {}

  /// Whether one more may come now; then it is used.
  bool use(rclrt_core::TimePoint now)
  {
    if (per_s_ <= 0) {
      return true;
    }
    const std::chrono::duration<double> passed = now - at_;
    left_ = std::min(most(), left_ + std::max(0.0, passed.count()) * per_s_);
    at_ = now;
    const bool may = left_ >= 1;
    left_ -= may ? 1 : 0;
    return may;
  }

private:
  double most() const { return std::max(1.0, per_s_ / 10); }

  double per_s_;
  double left_;
  rclrt_core::TimePoint at_{};
};

struct SessionOptions
{
  OutgoingOptions outgoing;
  /// Entities of a client. A client of rclrt_micro with as many topics and services as it can have makes 379.
  std::size_t objects = 512;
  /// Entities of all clients together, and how many there are.
  std::size_t all_objects = 32768;
  std::shared_ptr<std::atomic<std::size_t>> all = std::make_shared<std::atomic<std::size_t>>(0);
  std::size_t storage = 1U << 18U;  ///< bytes that wait for missing messages
  std::size_t inbox = 64;           ///< messages not yet worked on; beyond, they are dropped
  std::size_t inbox_bytes = 1U << 18U;
  References references;
  /// Whether the number of a stream says how urgent it is (urgency_of_stream()): only for clients that number
  /// their streams so. Otherwise all have the lowest urgency.
  bool streams_say_urgency = false;
  /// Urgency of a topic or service by its name, -1 for none of its own. May be empty.
  std::function<int(const std::string & name)> urgency_of;
  /// Messages a second that keep their urgency, of the client and of each of its topics and services by name; 0: all.
  /// What is more has the lowest urgency, so that others come first.
  double messages_per_s = 0;
  std::function<double(const std::string & name)> messages_per_s_of;
  /// How long after a message came from the client it has its deadline, by its topic; 0: it has none. What ROS does
  /// with the message inherits that. May be empty.
  std::function<rclrt_core::Duration(const std::string & topic)> deadline_of;
  /// The agent's time, since 1970.
  std::function<int64_t()> clock;
};

struct SessionCounters
{
  uint64_t received = 0;
  uint64_t dropped = 0;  ///< the inbox was full
  uint64_t malformed = 0;
  uint64_t over_budget = 0;  ///< more a second than keep their urgency
  uint64_t written = 0;      ///< WRITE_DATA that went to ROS
  uint64_t refused = 0;      ///< WRITE_DATA that did not
  uint64_t delivered = 0;    ///< DATA that went to the client's queue
  uint64_t lost = 0;         ///< data for the client that never got into its queue
};

class Session : public Sink, public std::enable_shared_from_this<Session>
{
public:
  Session(const SessionOptions & options, Backend & backend);
  ~Session() override;

  const Key & key() const { return options_.outgoing.key; }
  uint8_t id() const { return options_.outgoing.session; }
  Outgoing & outgoing() { return outgoing_; }
  /// From now on `whose`, a place at a line, sends what is outgoing. `call` is called, by any thread, when there may
  /// be something new, and once when another place takes over. Must not block or call the session.
  void on_outgoing(const void * whose, std::function<void()> call);
  /// `whose` sends no longer; nothing happens if another place has taken over.
  void off_outgoing(const void * whose);
  bool speaks_through(const void * whose) const;

  /// A message from the line. Returns the urgency to work with, or -1: there is nothing to work on. It was dropped; or it
  /// was questions outside streams, or acknowledgements and nothing else waits: that is done at once, without another
  /// thread.
  int post(View message, TimePoint now);
  /// Go on with the message at hand, or begin the most urgent: up to the next entity that is made or deleted, and
  /// kPiece submessages at most. So a message full of them is as many jobs. Whether there is more.
  bool work();
  /// With which urgency to go on after work() has said that there is more.
  int next_urgency() const { return next_urgency_.load(std::memory_order_relaxed); }
  /// The client has greeted again: streams begin anew, entities stay. False if the client has ended.
  bool restart();
  /// This session takes the place of another, which works on nothing from now on. work() closes it before the next
  /// message: that may take long, and a line's thread calls this.
  void replace(const std::shared_ptr<Session> & other);
  /// Ends everything; no call of the sink is expected afterwards.
  void close();

  /// Ask the client whether it is there; any message of it is an answer.
  void ask();
  /// When the last message came.
  TimePoint heard() const;
  void hear(TimePoint now);
  SessionCounters counters() const;
  std::size_t objects() const;
  /// The client has said that it goes, or the agent has closed the session. Only answers remain to be sent.
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  /// The client has said that it goes, but nobody has worked on that yet.
  bool is_leaving() const;

  bool wants(uint16_t object) override;
  void data(uint16_t object, View cdr) override;
  void lost(uint16_t object, uint64_t count) override;
  void request(uint16_t object, const uint8_t * identity, View cdr) override;
  void reply(uint16_t object, uint16_t request, View cdr) override;

private:
  struct Object
  {
    uint8_t kind = 0;
    uint8_t representation = 0;
    Bytes body;
    uint16_t parent = 0;
    Description description;
    std::shared_ptr<BackendNode> node;  // a participant's own, of all others their participant's
    std::shared_ptr<Writer> writer;
    std::shared_ptr<Source> reader;
    std::shared_ptr<Requester> requester;
    std::shared_ptr<Replier> replier;
    rclrt_core::Duration deadline{0};  // of what it writes, from when that came
    std::shared_ptr<void> place;       // of all that there are; free when this goes
    int learned_on = -1;  // the stream of its messages, whose urgency is known since then

    Source * source() const;
  };
  // One more of all entities, as long as somebody has it; null if there are too many.
  std::shared_ptr<void> take_place() const;
  struct Reading
  {
    uint16_t request = 0;
    uint8_t stream = 0;
    uint8_t urgency = 0;
    uint32_t left = 0;  // samples; UINT32_MAX without end
    TimePoint until = rclrt_core::kNever;
  };
  /// An object that the client can read from.
  struct Read
  {
    Source * source = nullptr;
    std::optional<Reading> reading;
    // Taken from ROS when the client had just greeted anew; for its next reading.
    std::deque<Bytes> held;
  };
  struct Message
  {
    rclrt_message_header header{};
    Bytes submessages;
    TimePoint at;
    uint8_t urgency = 0;
  };
  /// What is being worked on: a message, one that it has released, or fragments that are whole.
  struct Part
  {
    uint8_t stream = 0;
    bool assembled = false;
    Bytes bytes;
    rclrt_reader reader{};  // of `bytes`
  };
  static constexpr int kPiece = 16;

  bool is_done_at_once(View submessages, TimePoint now);
  void answer(const rclrt_submessage & sub, TimePoint at);
  void begin(Message && message);
  bool go_on();
  void open(uint8_t stream, Bytes bytes, bool assembled);
  void handle_part(int * budget);
  bool next_part();
  void finish();
  void drop_message();
  std::vector<std::shared_ptr<Session>> take_replaced();
  void handle_fragment(const rclrt_submessage & sub);
  void handle(uint8_t stream, const rclrt_submessage & sub);
  uint8_t create(const rclrt_submessage & sub);
  void make(uint16_t id, Object * object);
  uint8_t delete_object(uint16_t id);
  void discard(uint16_t id);
  void on_read(const rclrt_submessage & sub);
  void on_write(const rclrt_submessage & sub);
  void on_heartbeat(const rclrt_heartbeat & heartbeat);
  void status(uint8_t stream, const rclrt_submessage & to, uint8_t status);
  void send(uint16_t object, const Bytes & prefix, View cdr);
  void deliver(uint16_t object, Read * read, View data);
  Incoming & incoming(uint8_t stream);
  static std::optional<std::string> ros_name(const Object & object);
  int own_urgency(const Object & object) const;
  uint8_t urgency_in(uint8_t stream) const;  // of messages from the client
  uint8_t urgency_of(const Message & message, const rclrt_submessage * first);
  void learn(uint8_t stream, uint16_t object);
  uint8_t said_by(uint8_t stream) const;
  void say_outgoing() const;

  const SessionOptions options_;
  Backend & backend_;
  mutable rclrt_front_end::PiMutex replaced_mutex_;  // nothing else is locked under it
  std::vector<std::shared_ptr<Session>> replaced_;   // to be closed
  Outgoing outgoing_;
  mutable rclrt_front_end::PiMutex on_outgoing_mutex_;
  const void * speaker_ = nullptr;
  std::function<void()> on_outgoing_;

  mutable rclrt_front_end::PiMutex inbox_mutex_;
  std::map<uint8_t, std::deque<Message>> inbox_;  // by 31 - urgency
  std::size_t inbox_size_ = 0;
  std::size_t inbox_bytes_ = 0;
  TimePoint heard_{};
  uint64_t inbox_dropped_ = 0;
  bool leaving_ = false;
  std::map<uint8_t, uint8_t> learned_;        // urgency of streams whose topic has one of its own
  Allowance allowance_;                       // of the client
  std::map<uint16_t, Allowance> allowances_;  // of its writers, requesters and repliers
  uint64_t over_budget_ = 0;
  uint64_t received_ = 0;

  mutable rclrt_front_end::PiMutex mutex_;
  Storage storage_;
  std::map<uint8_t, Incoming> incoming_;
  std::map<uint16_t, Object> objects_;
  uint8_t at_hand_ = 0;  // urgency of the message that is
  // Written under mutex_ by work(), read by the thread that has called it: relaxed.
  std::atomic<int> next_urgency_{0};
  bool working_ = false;  // a message is at hand
  // Tells post(), which looks under inbox_mutex_, that a message is at hand. Written under mutex_,
  // set under inbox_mutex_, too: so a message is always in the inbox or at hand. False when its
  // effects are there (release, acquire).
  std::atomic<bool> busy_{false};
  std::unique_ptr<Part> part_;       // of it
  std::optional<uint8_t> releases_;  // the stream of which messages in order are parts, too
  std::optional<uint16_t> answers_;  // then: what a heartbeat of that stream has said is the last
  std::set<uint8_t> acknacks_;       // streams to acknowledge when the message at hand is done
  std::map<uint8_t, uint16_t> heartbeats_;  // to answer then: the last number by stream
  bool reset_ = false;
  // Written by a thread about to lock mutex_ for restart() or close(), and by replace(); read by one that works on a
  // message under mutex_: the rest of that is given up. Nothing else depends on it: relaxed.
  std::atomic<bool> give_up_{false};
  // Written under mutex_, and by replace(); a thread that sees it sees the answer in outgoing_, and nothing else after close()
  // (release, acquire).
  std::atomic<bool> ended_{false};
  TimePoint now_{};
  SessionCounters counters_;   // but for those below
  std::vector<Object> trash_;  // destroyed without the lock

  // After mutex_, if both; then Outgoing's and what Source::resume() takes.
  mutable rclrt_front_end::PiMutex reads_mutex_;
  std::map<uint16_t, Read> reads_;  // of objects_, those that have a source
  uint64_t delivered_ = 0;
  uint64_t lost_ = 0;
  // Written under mutex_ by work(). replace() may read an old value: then it waits for that work. Relaxed.
  std::atomic<bool> used_{false};
};

}  // namespace rclrt_agent
