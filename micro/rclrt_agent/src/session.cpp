// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "session.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace rclrt_agent
{
namespace
{
bool is_question(uint8_t id) { return id == RCLRT_GET_INFO || id == RCLRT_TIMESTAMP; }
}  // namespace

Session::Session(const SessionOptions & options, Backend & backend)
: options_(options),
  backend_(backend),
  outgoing_(options.outgoing),
  allowance_(options.messages_per_s)
{
  storage_.limit = options_.storage;
}

Session::~Session() { close(); }

void Session::on_outgoing(const void * whose, std::function<void()> call)
{
  const std::lock_guard lock(on_outgoing_mutex_);
  speaker_ = whose;
  on_outgoing_.swap(call);
  if (call) {
    call();
  }
}

void Session::off_outgoing(const void * whose)
{
  const std::lock_guard lock(on_outgoing_mutex_);
  if (speaker_ == whose) {
    speaker_ = nullptr;
    on_outgoing_ = {};
  }
}

bool Session::speaks_through(const void * whose) const
{
  const std::lock_guard lock(on_outgoing_mutex_);
  return speaker_ == whose;
}

void Session::say_outgoing() const
{
  const std::lock_guard lock(on_outgoing_mutex_);
  if (on_outgoing_) {
    on_outgoing_();
  }
}

// ---- Messages from the line

uint8_t Session::said_by(uint8_t stream) const
{
  return options_.streams_say_urgency ? urgency_of_stream(stream) : uint8_t{0};
}

uint8_t Session::urgency_in(uint8_t stream) const
{
  const std::lock_guard lock(inbox_mutex_);
  const auto learned = learned_.find(stream);
  return learned == learned_.end() ? said_by(stream) : learned->second;
}

// Under inbox_mutex_. `first`: its first submessage, if there is one.
uint8_t Session::urgency_of(const Message & message, const rclrt_submessage * first)
{
  const auto learned = learned_.find(message.header.stream);
  const uint8_t own = learned == learned_.end() ? said_by(message.header.stream) : learned->second;
  const bool writes = first != nullptr && first->id == RCLRT_WRITE_DATA;
  const auto topic = writes ? allowances_.find(first->object) : allowances_.end();
  const bool client_may = allowance_.use(message.at);
  const bool topic_may = topic == allowances_.end() || topic->second.use(message.at);
  over_budget_ += client_may && topic_may ? 0 : 1;
  return client_may && topic_may ? own : uint8_t{0};
}

// After a message for this object came on this stream: what the next ones are.
void Session::learn(uint8_t stream, uint16_t object)
{
  const auto found = objects_.find(object);
  if (found == objects_.end() || found->second.learned_on == stream) {
    return;
  }
  found->second.learned_on = stream;
  const bool shared = stream == RCLRT_STREAM_BEST_EFFORT || stream == RCLRT_STREAM_RELIABLE;
  const int own = shared ? -1 : own_urgency(found->second);
  const std::lock_guard lock(inbox_mutex_);
  if (own >= 0) {
    learned_[stream] = static_cast<uint8_t>(own);
  }
  if (options_.messages_per_s_of) {
    const auto name = ros_name(found->second);
    allowances_.insert_or_assign(object, Allowance(name ? options_.messages_per_s_of(*name) : 0));
  }
}

int Session::post(View message, TimePoint now)
{
  Message kept;
  rclrt_reader reader;
  rclrt_reader_init(&reader, message.data, message.size);
  rclrt_read_message_header(&reader, &kept.header);
  if (reader.failed) {
    return -1;
  }
  if (
    kept.header.stream == RCLRT_STREAM_NONE &&
    is_done_at_once({message.data + reader.at, message.size - reader.at}, now)) {
    say_outgoing();
    return -1;
  }
  kept.submessages = {message.data + reader.at, message.data + message.size};
  kept.at = now;
  rclrt_submessage first;
  const bool sound = rclrt_read_submessage(&reader, &first);
  const bool leaves = sound && first.id == RCLRT_DELETE && first.object == RCLRT_OBJECT_CLIENT;

  const std::lock_guard lock(inbox_mutex_);
  heard_ = now;
  ++received_;
  if (
    inbox_size_ >= options_.inbox ||
    inbox_bytes_ + kept.submessages.size() > options_.inbox_bytes) {
    ++inbox_dropped_;
    return -1;
  }
  ++inbox_size_;
  inbox_bytes_ += kept.submessages.size();
  leaving_ = leaving_ || leaves;
  const uint8_t urgency = urgency_of(kept, sound ? &first : nullptr);
  kept.urgency = urgency;
  inbox_[static_cast<uint8_t>(kHighestUrgency - urgency)].push_back(std::move(kept));
  return urgency;
}

// Whether these are questions and acknowledgements alone: then they are done. An acknowledgement only if nothing that came
// before it waits; a question in any case, for a client that gets no answer in time believes that the agent is gone.
bool Session::is_done_at_once(View submessages, TimePoint now)
{
  rclrt_reader reader;
  rclrt_submessage sub;
  bool any = false;
  bool acknowledges = false;
  rclrt_reader_init(&reader, submessages.data, submessages.size);
  while (rclrt_read_submessage(&reader, &sub)) {
    if (sub.id != RCLRT_ACKNACK && !is_question(sub.id)) {
      return false;
    }
    any = true;
    acknowledges = acknowledges || sub.id == RCLRT_ACKNACK;
  }
  if (!any || reader.failed) {
    return false;
  }
  {
    const std::lock_guard lock(inbox_mutex_);
    if (acknowledges && (inbox_size_ > 0 || busy_.load(std::memory_order_acquire))) {
      return false;
    }
    heard_ = now;
    ++received_;
  }
  rclrt_reader_init(&reader, submessages.data, submessages.size);
  while (rclrt_read_submessage(&reader, &sub)) {
    if (sub.id == RCLRT_ACKNACK) {
      outgoing_.on_acknack(sub.of.acknack, now);
    } else {
      answer(sub, now);
    }
  }
  return true;
}

// To a question. Changes nothing of the session.
void Session::answer(const rclrt_submessage & sub, TimePoint at)
{
  if (sub.id == RCLRT_GET_INFO) {
    outgoing_.answer(agent_info(sub.request, sub.object, true));
    return;
  }
  const int64_t now = options_.clock ? options_.clock() : at.time_since_epoch().count();
  rclrt_submessage answer{};
  answer.id = RCLRT_TIMESTAMP_REPLY;
  auto & times = answer.of.timestamp_reply;
  times.originate = sub.of.timestamp;
  times.receive = {
    static_cast<int32_t>(now / 1'000'000'000), static_cast<uint32_t>(now % 1'000'000'000)};
  times.transmit = times.receive;
  outgoing_.answer(write(answer));
}

bool Session::work()
{
  for (const auto & other : take_replaced()) {
    other->close();
  }
  std::vector<Object> trash;
  bool worked = false;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    used_.store(true, std::memory_order_relaxed);
    worked = working_;
    // Taken under both locks, so that messages of one stream are worked on in their order.
    Message message;
    {
      const std::lock_guard inbox_lock(inbox_mutex_);
      for (auto queue = inbox_.begin(); !worked && queue != inbox_.end(); ++queue) {
        if (!queue->second.empty()) {
          message = std::move(queue->second.front());
          queue->second.pop_front();
          --inbox_size_;
          inbox_bytes_ -= message.submessages.size();
          worked = true;
        }
      }
      more = inbox_size_ > 0;
      at_hand_ = worked && !working_ ? message.urgency : at_hand_;
      for (const auto & [rank, waiting] : inbox_) {
        if (!waiting.empty()) {
          next_urgency_.store(kHighestUrgency - rank, std::memory_order_relaxed);
          break;
        }
      }
      busy_.store(worked, std::memory_order_relaxed);
    }
    if (ended()) {
      drop_message();
    } else if (worked) {
      if (!working_) {
        begin(std::move(message));
      }
      working_ = !go_on();
      more = more || working_;
      if (working_) {
        next_urgency_.store(at_hand_, std::memory_order_relaxed);
      }
    }
    busy_.store(working_, std::memory_order_release);
    trash.swap(trash_);
  }
  if (worked) {
    say_outgoing();
  }
  return more;
}

void Session::begin(Message && message)
{
  now_ = message.at;
  const uint8_t stream = message.header.stream;
  if (stream == RCLRT_STREAM_NONE) {
    open(stream, std::move(message.submessages), false);
    return;
  }
  (void)incoming(stream).put(message.header.sequence, view_of(message.submessages));
  if (is_reliable(stream)) {
    acknacks_.insert(stream);
  }
  releases_ = stream;
}

void Session::open(uint8_t stream, Bytes bytes, bool assembled)
{
  part_ = std::make_unique<Part>();
  part_->stream = stream;
  part_->assembled = assembled;
  part_->bytes = std::move(bytes);
  rclrt_reader_init(&part_->reader, part_->bytes.data(), part_->bytes.size());
}

// A piece of the message at hand. Whether it is done.
bool Session::go_on()
{
  for (int budget = kPiece; budget > 0; --budget) {
    if (give_up_.load(std::memory_order_relaxed)) {
      drop_message();
      return true;
    }
    if (part_ != nullptr) {
      handle_part(&budget);
    } else if (reset_ || !next_part()) {
      finish();
      return true;
    }
  }
  return false;
}

// What heartbeats have released comes after the message that had them, and not where they are read: it may hold
// heartbeats, and so on.
bool Session::next_part()
{
  Bytes submessages;
  if (releases_ && incoming(*releases_).take(&submessages)) {
    open(*releases_, std::move(submessages), false);
    return true;
  }
  if (releases_ && answers_) {
    acknacks_.erase(*releases_);
    outgoing_.owe_acknack(
      incoming(*releases_).acknack(&*answers_), urgency_in(*releases_), now_, true);
  }
  releases_.reset();
  answers_.reset();
  if (heartbeats_.empty()) {
    return false;
  }
  releases_ = heartbeats_.begin()->first;
  answers_ = heartbeats_.begin()->second;
  heartbeats_.erase(heartbeats_.begin());
  return true;
}

void Session::finish()
{
  if (reset_) {
    drop_message();
    incoming_.clear();
    outgoing_.reset(true);
  }
  for (const uint8_t id : acknacks_) {
    outgoing_.owe_acknack(incoming(id).acknack(), urgency_in(id), now_);
  }
  acknacks_.clear();
}

void Session::drop_message()
{
  part_ = nullptr;
  releases_.reset();
  answers_.reset();
  acknacks_.clear();
  heartbeats_.clear();
  reset_ = false;
  working_ = false;
  busy_.store(false, std::memory_order_release);
}

Incoming & Session::incoming(uint8_t stream)
{
  return incoming_.try_emplace(stream, stream, storage_).first->second;
}

void Session::handle_part(int * budget)
{
  rclrt_submessage sub;
  if (!rclrt_read_submessage(&part_->reader, &sub)) {
    counters_.malformed += part_->reader.failed ? 1 : 0;
    part_ = nullptr;
  } else if (sub.id == RCLRT_FRAGMENT) {
    handle_fragment(sub);
  } else if (sub.id > RCLRT_TIMESTAMP_REPLY) {
    ++counters_.malformed;
    part_ = nullptr;
  } else {
    if (sub.id == RCLRT_CREATE || sub.id == RCLRT_DELETE) {
      *budget = 0;  // milliseconds, maybe: others come in between
    }
    handle(part_->stream, sub);
  }
}

// A fragment is the last submessage.
void Session::handle_fragment(const rclrt_submessage & sub)
{
  const uint8_t stream = part_->stream;
  if (!is_reliable(stream) || part_->assembled) {
    ++counters_.malformed;
    part_ = nullptr;
    return;
  }
  Incoming & in = incoming(stream);
  if (in.fragment(sub.of.data, (sub.flags & RCLRT_FLAG_LAST_FRAGMENT) != 0)) {
    open(stream, in.assembled(), true);
  } else {
    part_ = nullptr;
  }
}

void Session::handle(uint8_t stream, const rclrt_submessage & sub)
{
  switch (sub.id) {
    case RCLRT_CREATE:
      status(stream, sub, create(sub));
      break;
    case RCLRT_DELETE:
      if (sub.object == RCLRT_OBJECT_CLIENT) {
        rclrt_submessage answer{};
        answer.id = RCLRT_STATUS;
        answer.request = sub.request;
        answer.object = sub.object;
        outgoing_.answer(write(answer));
        ended_.store(true, std::memory_order_release);
      } else {
        status(stream, sub, delete_object(sub.object));
      }
      break;
    case RCLRT_GET_INFO:
    case RCLRT_TIMESTAMP:
      answer(sub, now_);
      break;
    case RCLRT_READ_DATA:
      on_read(sub);
      break;
    case RCLRT_WRITE_DATA:
      on_write(sub);
      learn(stream, sub.object);
      break;
    case RCLRT_ACKNACK:
      outgoing_.on_acknack(sub.of.acknack, now_);
      break;
    case RCLRT_HEARTBEAT:
      on_heartbeat(sub.of.heartbeat);
      break;
    case RCLRT_RESET:
      reset_ = true;
      break;
    default:
      break;  // of an agent, or INFO: that it came is all
  }
}

void Session::on_heartbeat(const rclrt_heartbeat & heartbeat)
{
  if (!is_reliable(heartbeat.stream)) {
    return;
  }
  incoming(heartbeat.stream).on_heartbeat(heartbeat);
  heartbeats_[heartbeat.stream] = heartbeat.last_unacked;
}

void Session::status(uint8_t stream, const rclrt_submessage & to, uint8_t status)
{
  rclrt_submessage sub{};
  sub.id = RCLRT_STATUS;
  sub.request = to.request;
  sub.object = to.object;
  sub.of.result.status = status;
  const uint8_t on = is_reliable(stream) ? RCLRT_STREAM_RELIABLE : RCLRT_STREAM_BEST_EFFORT;
  outgoing_.put(on, kHighestUrgency, write(sub), true);
}

bool Session::restart()
{
  give_up_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    if (ended()) {
      return false;
    }
    give_up_.store(false, std::memory_order_relaxed);
    drop_message();
    incoming_.clear();
    {
      const std::lock_guard reads_lock(reads_mutex_);
      for (auto & [id, read] : reads_) {
        read.reading.reset();
      }
    }
    const std::lock_guard inbox_lock(inbox_mutex_);
    inbox_.clear();
    inbox_size_ = 0;
    inbox_bytes_ = 0;
    leaving_ = false;
  }
  outgoing_.reset(false);
  return true;
}

void Session::replace(const std::shared_ptr<Session> & other)
{
  other->ended_.store(true, std::memory_order_release);
  other->give_up_.store(true, std::memory_order_relaxed);
  auto all = other->take_replaced();  // a row of them would be closed by recursion
  if (other->used_.load(std::memory_order_relaxed)) {
    all.push_back(other);
  } else {
    other->close();  // has no entities, and a flood of greetings must not make a long row
  }
  const std::lock_guard lock(replaced_mutex_);
  replaced_.insert(replaced_.end(), all.begin(), all.end());
}

std::vector<std::shared_ptr<Session>> Session::take_replaced()
{
  std::vector<std::shared_ptr<Session>> replaced;
  const std::lock_guard lock(replaced_mutex_);
  replaced.swap(replaced_);
  return replaced;
}

void Session::close()
{
  std::map<uint16_t, Object> objects;
  std::vector<Object> trash;
  give_up_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    drop_message();
    {
      const std::lock_guard reads_lock(reads_mutex_);
      reads_.clear();
    }
    for (const auto & [id, object] : objects_) {
      outgoing_.forget(id);
    }
    objects.swap(objects_);
    trash.swap(trash_);
    outgoing_.end();
    ended_.store(true, std::memory_order_release);
  }
  say_outgoing();  // the line lets go
  for (const auto & other : take_replaced()) {
    other->close();
  }
}

void Session::ask()
{
  rclrt_submessage question{};
  question.id = RCLRT_GET_INFO;
  question.object = RCLRT_OBJECT_CLIENT;
  outgoing_.answer(write(question));
  say_outgoing();
}

bool Session::is_leaving() const
{
  const std::lock_guard lock(inbox_mutex_);
  return leaving_;
}

TimePoint Session::heard() const
{
  const std::lock_guard lock(inbox_mutex_);
  return heard_;
}

void Session::hear(TimePoint now)
{
  const std::lock_guard lock(inbox_mutex_);
  heard_ = now;
}

SessionCounters Session::counters() const
{
  const std::lock_guard lock(mutex_);
  const std::lock_guard inbox_lock(inbox_mutex_);
  const std::lock_guard reads_lock(reads_mutex_);
  SessionCounters counters = counters_;
  counters.delivered = delivered_;
  counters.lost = lost_;
  counters.received = received_;
  counters.dropped = inbox_dropped_;
  counters.over_budget = over_budget_;
  return counters;
}

std::size_t Session::objects() const
{
  const std::lock_guard lock(mutex_);
  return objects_.size();
}

}  // namespace rclrt_agent
