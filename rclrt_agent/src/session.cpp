// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "session.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace rclrt_agent
{

Session::Session(const SessionOptions & options, Backend & backend)
: options_(options), backend_(backend), outgoing_(options.outgoing)
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

int Session::post(View message, TimePoint now)
{
  Message kept;
  rclrt_reader reader;
  rclrt_reader_init(&reader, message.data, message.size);
  rclrt_read_message_header(&reader, &kept.header);
  if (reader.failed) {
    return -1;
  }
  kept.submessages = {message.data + reader.at, message.data + message.size};
  kept.at = now;
  const uint8_t urgency = urgency_in(kept.header.stream);

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
  inbox_[static_cast<uint8_t>(kHighestUrgency - urgency)].push_back(std::move(kept));
  return urgency;
}

bool Session::work()
{
  std::vector<Object> trash;
  bool worked = false;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    // Taken under both locks, so that messages of one stream are worked on in their order.
    Message message;
    {
      const std::lock_guard inbox_lock(inbox_mutex_);
      for (auto queue = inbox_.begin(); queue != inbox_.end(); ++queue) {
        if (!queue->second.empty()) {
          message = std::move(queue->second.front());
          queue->second.pop_front();
          --inbox_size_;
          inbox_bytes_ -= message.submessages.size();
          worked = true;
          break;
        }
      }
      more = inbox_size_ > 0;
    }
    if (worked && !closed_) {
      handle_message(message);
    }
    trash.swap(trash_);
  }
  if (worked) {
    say_outgoing();
  }
  return more;
}

void Session::handle_message(const Message & message)
{
  now_ = message.at;
  const uint8_t stream = message.header.stream;
  const View submessages = view_of(message.submessages);
  if (stream == RCLRT_STREAM_NONE) {
    handle(stream, submessages);
  } else {
    Incoming & in = incoming(stream);
    (void)in.put(message.header.sequence, submessages);
    if (is_reliable(stream)) {
      acknacks_.insert(stream);
    }
    deliver(stream, in);
  }
  answer_heartbeats();
  if (reset_) {
    reset_ = false;
    incoming_.clear();
    acknacks_.clear();
    heartbeats_.clear();
    outgoing_.reset(true);
  }
  for (const uint8_t id : acknacks_) {
    outgoing_.owe_acknack(incoming(id).acknack(), urgency_in(id), now_);
  }
  acknacks_.clear();
}

void Session::deliver(uint8_t stream, Incoming & in)
{
  Bytes submessages;
  while (goes_on() && in.take(&submessages)) {
    handle(stream, view_of(submessages));
  }
}

Incoming & Session::incoming(uint8_t stream)
{
  return incoming_.try_emplace(stream, stream, storage_).first->second;
}

void Session::handle(uint8_t stream, View submessages, bool assembled)
{
  rclrt_reader reader;
  rclrt_submessage sub;
  rclrt_reader_init(&reader, submessages.data, submessages.size);
  while (!give_up_.load(std::memory_order_relaxed) && rclrt_read_submessage(&reader, &sub)) {
    if (sub.id == RCLRT_FRAGMENT) {
      if (!is_reliable(stream) || assembled) {
        ++counters_.malformed;
        return;
      }
      Incoming & in = incoming(stream);
      if (in.fragment(sub.of.data, (sub.flags & RCLRT_FLAG_LAST_FRAGMENT) != 0)) {
        const Bytes whole = in.assembled();
        handle(stream, view_of(whole), true);
      }
      return;  // a fragment is the last submessage
    }
    if (sub.id > RCLRT_TIMESTAMP_REPLY) {
      ++counters_.malformed;
      return;
    }
    handle(stream, sub);
  }
  counters_.malformed += reader.failed ? 1 : 0;
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
      outgoing_.answer(agent_info(sub.request, sub.object, true));
      break;
    case RCLRT_READ_DATA:
      on_read(sub);
      break;
    case RCLRT_WRITE_DATA:
      on_write(sub);
      if (stream != RCLRT_STREAM_BEST_EFFORT && stream != RCLRT_STREAM_RELIABLE) {
        const auto object = objects_.find(sub.object);
        const int own = object == objects_.end() ? -1 : own_urgency(object->second);
        if (own >= 0) {
          const std::lock_guard lock(inbox_mutex_);
          learned_[stream] = static_cast<uint8_t>(own);
        }
      }
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
    case RCLRT_TIMESTAMP: {
      const int64_t now = options_.clock ? options_.clock() : now_.time_since_epoch().count();
      rclrt_submessage answer{};
      answer.id = RCLRT_TIMESTAMP_REPLY;
      auto & times = answer.of.timestamp_reply;
      times.originate = sub.of.timestamp;
      times.receive = {
        static_cast<int32_t>(now / 1'000'000'000), static_cast<uint32_t>(now % 1'000'000'000)};
      times.transmit = times.receive;
      outgoing_.answer(write(answer));
      break;
    }
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

// What heartbeats have released is delivered here and not where they are read: it may hold heartbeats, and so on.
void Session::answer_heartbeats()
{
  while (goes_on() && !heartbeats_.empty()) {
    const auto [stream, last] = *heartbeats_.begin();
    heartbeats_.erase(heartbeats_.begin());
    Incoming & in = incoming(stream);
    deliver(stream, in);
    acknacks_.erase(stream);
    outgoing_.owe_acknack(in.acknack(&last), urgency_in(stream), now_);
  }
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

void Session::restart()
{
  give_up_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    give_up_.store(closed_, std::memory_order_relaxed);
    incoming_.clear();
    acknacks_.clear();
    heartbeats_.clear();
    readings_.clear();
    const std::lock_guard inbox_lock(inbox_mutex_);
    inbox_.clear();
    inbox_size_ = 0;
    inbox_bytes_ = 0;
  }
  outgoing_.reset(false);
}

void Session::close()
{
  std::map<uint16_t, Object> objects;
  std::vector<Object> trash;
  give_up_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    readings_.clear();
    for (const auto & [id, object] : objects_) {
      outgoing_.forget(id);
    }
    objects.swap(objects_);
    trash.swap(trash_);
    outgoing_.end();
    ended_.store(true, std::memory_order_release);
  }
  say_outgoing();  // the line lets go
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
  SessionCounters counters = counters_;
  counters.received = received_;
  counters.dropped = inbox_dropped_;
  return counters;
}

std::size_t Session::objects() const
{
  const std::lock_guard lock(mutex_);
  return objects_.size();
}

Bytes agent_info(uint16_t request, uint16_t object, bool in_session)
{
  uint8_t info[64];
  rclrt_writer writer;
  rclrt_writer_init(&writer, info, sizeof(info));
  rclrt_write_bytes(&writer, "      ", 6);  // alignment counts from the begin of the payload
  rclrt_write_agent_info(&writer, 1);
  rclrt_submessage answer{};
  answer.id = RCLRT_INFO;
  answer.request = request;
  answer.object = object;
  answer.of.result.implementation = in_session ? 1 : 0;
  answer.of.result.info = {info + 6, writer.at - 6};
  return write(answer);
}

}  // namespace rclrt_agent
