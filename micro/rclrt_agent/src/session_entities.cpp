// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The entities of a session, and their data.
#include <algorithm>
#include <mutex>
#include <utility>

#include "rclrt_core/job.hpp"
#include "representation.hpp"
#include "session.hpp"

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kLongestBody = 4096;
// As many as may have been taken from ROS at once: no more than the executor has threads, as a rule.
constexpr std::size_t kMostHeld = 8;

bool is_endpoint(uint8_t kind) { return kind == RCLRT_DATAWRITER || kind == RCLRT_DATAREADER; }

// What kind of object another belongs to; 0 for participants.
uint8_t parent_kind(uint8_t kind)
{
  switch (kind) {
    case RCLRT_PARTICIPANT:
      return 0;
    case RCLRT_DATAWRITER:
      return RCLRT_PUBLISHER;
    case RCLRT_DATAREADER:
      return RCLRT_SUBSCRIBER;
    default:
      return RCLRT_PARTICIPANT;
  }
}

}  // namespace

Source * Session::Object::source() const
{
  if (reader) {
    return reader.get();
  }
  if (requester) {
    return requester.get();
  }
  return replier.get();
}

std::shared_ptr<void> Session::take_place() const
{
  // Threads of several sessions count it up and down, each for its own entities; nothing else depends on it: relaxed.
  const auto count = options_.all;
  if (count->fetch_add(1, std::memory_order_relaxed) >= options_.all_objects) {
    count->fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  return {count.get(), [count](void *) { count->fetch_sub(1, std::memory_order_relaxed); }};
}

uint8_t Session::create(const rclrt_submessage & sub)
{
  const rclrt_create & asked = sub.of.create;
  if (
    asked.kind < RCLRT_PARTICIPANT || asked.kind > RCLRT_REPLIER ||
    (sub.object & 0x0FU) != asked.kind || asked.body.size > kLongestBody) {
    return RCLRT_STATUS_INVALID_DATA;
  }
  Object object;
  object.kind = asked.kind;
  object.representation = asked.representation;
  object.body = bytes_of(asked.body);
  if (asked.kind != RCLRT_PARTICIPANT) {
    object.parent = asked.parent;
    const auto parent = objects_.find(asked.parent);
    if (parent == objects_.end() || parent->second.kind != parent_kind(asked.kind)) {
      return RCLRT_STATUS_UNKNOWN_REFERENCE;
    }
    object.node = parent->second.node;
  }

  const auto old = objects_.find(sub.object);
  if (old != objects_.end()) {
    const bool reuse = (sub.flags & RCLRT_FLAG_REUSE) != 0;
    const bool replace = (sub.flags & RCLRT_FLAG_REPLACE) != 0;
    const bool same = old->second.representation == object.representation &&
                      old->second.body == object.body && old->second.parent == object.parent;
    if (reuse && same) {
      return RCLRT_STATUS_OK_MATCHED;
    }
    if (!replace) {
      return reuse ? RCLRT_STATUS_MISMATCH : RCLRT_STATUS_ALREADY_EXISTS;
    }
  } else {
    object.place = objects_.size() < options_.objects ? take_place() : nullptr;
    if (!object.place) {
      return RCLRT_STATUS_RESOURCES;
    }
  }

  const auto description = describe(asked, options_.references);
  if (!description) {
    return asked.representation == RCLRT_BY_REFERENCE ? RCLRT_STATUS_UNKNOWN_REFERENCE
                                                      : RCLRT_STATUS_INVALID_DATA;
  }
  object.description = *description;
  if (is_endpoint(asked.kind) && asked.representation == RCLRT_BY_BINARY) {
    const auto topic = objects_.find(description->topic);
    if (topic == objects_.end() || topic->second.kind != RCLRT_TOPIC) {
      return RCLRT_STATUS_UNKNOWN_REFERENCE;
    }
    object.description.name = topic->second.description.name;
    object.description.type = topic->second.description.type;
  }

  try {
    if (asked.kind == RCLRT_PARTICIPANT) {
      object.node = backend_.make_node(object.description.name, asked.domain, key());
    }
    if (old != objects_.end()) {
      object.place = std::move(old->second.place);
      discard(sub.object);
    }
    make(sub.object, &object);
  } catch (const Refused & refused) {
    return refused.status();
  } catch (const std::exception &) {
    return RCLRT_STATUS_DDS_ERROR;
  }
  if (Source * const source = object.source()) {
    const std::lock_guard lock(reads_mutex_);
    reads_[sub.object].source = source;
  }
  objects_[sub.object] = std::move(object);
  return RCLRT_STATUS_OK;
}

void Session::make(uint16_t id, Object * object)
{
  const std::weak_ptr<Sink> sink = weak_from_this();
  switch (object->kind) {
    case RCLRT_DATAWRITER:
      object->writer = object->node->make_writer(object->description);
      if (options_.deadline_of) {
        const auto name = ros_name(*object);
        object->deadline = name ? options_.deadline_of(*name) : rclrt_core::Duration(0);
      }
      break;
    case RCLRT_DATAREADER:
      object->reader = object->node->make_reader(object->description, id, sink);
      break;
    case RCLRT_REQUESTER:
      object->requester = object->node->make_requester(object->description, id, sink);
      break;
    case RCLRT_REPLIER:
      object->replier = object->node->make_replier(object->description, id, sink);
      break;
    default:
      break;
  }
}

void Session::discard(uint16_t id)
{
  const auto found = objects_.find(id);
  {
    const std::lock_guard lock(reads_mutex_);
    reads_.erase(id);
  }
  outgoing_.forget(id);  // afterwards nobody asks for room for it
  {
    const std::lock_guard lock(inbox_mutex_);
    allowances_.erase(id);
  }
  trash_.push_back(std::move(found->second));
  objects_.erase(found);
}

uint8_t Session::delete_object(uint16_t id)
{
  if (objects_.count(id) == 0) {
    return RCLRT_STATUS_UNKNOWN_REFERENCE;
  }
  // With all that belongs to it: two generations at most.
  std::vector<uint16_t> gone = {id};
  for (std::size_t i = 0; i < gone.size(); ++i) {
    for (const auto & [child, object] : objects_) {
      if (object.kind != RCLRT_PARTICIPANT && object.parent == gone[i]) {
        gone.push_back(child);
      }
    }
  }
  for (auto object = gone.rbegin(); object != gone.rend(); ++object) {
    discard(*object);
  }
  return RCLRT_STATUS_OK;
}

std::optional<std::string> Session::ros_name(const Object & object)
{
  const bool service = object.kind == RCLRT_REQUESTER || object.kind == RCLRT_REPLIER;
  const auto & name = object.description.name;
  return service ? ros_service(name) : ros_topic(name);
}

int Session::own_urgency(const Object & object) const
{
  if (!options_.urgency_of) {
    return -1;
  }
  const auto ros = ros_name(object);
  return ros ? std::min<int>(options_.urgency_of(*ros), kHighestUrgency) : -1;
}

void Session::on_read(const rclrt_submessage & sub)
{
  const rclrt_read_data & asked = sub.of.read_data;
  const auto object = objects_.find(sub.object);
  if (object == objects_.end() || object->second.source() == nullptr) {
    status(RCLRT_STREAM_RELIABLE, sub, RCLRT_STATUS_UNKNOWN_REFERENCE);
    return;
  }
  Reading reading;
  reading.request = sub.request;
  reading.stream = asked.preferred_stream;
  const int own = own_urgency(object->second);
  reading.urgency = own >= 0 ? static_cast<uint8_t>(own) : said_by(asked.preferred_stream);
  const uint16_t samples = asked.has_delivery ? asked.delivery.max_samples : uint16_t{1};
  reading.left = samples == UINT16_MAX ? UINT32_MAX : samples;
  if (asked.has_delivery && asked.delivery.max_elapsed_s != 0) {
    reading.until = now_ + std::chrono::seconds(asked.delivery.max_elapsed_s);
  }
  const std::lock_guard lock(reads_mutex_);
  Read & read = reads_.at(sub.object);
  read.reading.reset();
  if (samples == 0) {
    return;
  }
  read.reading = reading;
  for (; !read.held.empty() && read.reading; read.held.pop_front()) {
    deliver(sub.object, &read, view_of(read.held.front()));
  }
  read.source->resume();
}

void Session::on_write(const rclrt_submessage & sub)
{
  const auto found = objects_.find(sub.object);
  constexpr unsigned kFormat = 0x0E;
  bool written = false;
  const View data = sub.of.data;
  if (found != objects_.end() && (sub.flags & kFormat) == 0) {
    const Object & object = found->second;
    if (object.writer) {
      if (options_.deadline_of) {
        // The job and what it publishes. Without a deadline, too: else that of the last one stayed.
        const bool has = object.deadline > rclrt_core::Duration(0);
        rclrt_core::inherit_deadline(has ? now_ + object.deadline : rclrt_core::kNever);
      }
      written = object.writer->write(data);
    } else if (object.requester) {
      written = object.requester->request(sub.request, data);
    } else if (object.replier && data.size >= RCLRT_SAMPLE_IDENTITY) {
      written = object.replier->reply(
        data.data, {data.data + RCLRT_SAMPLE_IDENTITY, data.size - RCLRT_SAMPLE_IDENTITY});
    }
  }
  ++(written ? counters_.written : counters_.refused);
}

// ---- Data for the client

bool Session::wants(uint16_t object)
{
  const std::lock_guard lock(reads_mutex_);
  const auto read = reads_.find(object);
  if (read == reads_.end() || !read->second.reading) {
    return false;
  }
  const Reading & reading = *read->second.reading;
  if (reading.until != rclrt_core::kNever && reading.until <= std::chrono::steady_clock::now()) {
    read->second.reading.reset();
    return false;
  }
  if (!is_reliable(reading.stream) || outgoing_.has_room(reading.stream)) {
    return true;
  }
  Source * const source = read->second.source;
  outgoing_.when_room(reading.stream, object, [source] { source->resume(); });
  return false;
}

void Session::send(uint16_t object, const Bytes & prefix, View cdr)
{
  {
    const std::lock_guard lock(reads_mutex_);
    Bytes data = prefix;
    data.insert(data.end(), cdr.data, cdr.data + cdr.size);
    const auto read = reads_.find(object);
    if (read != reads_.end() && read->second.reading) {
      deliver(object, &read->second, view_of(data));
    } else if (read != reads_.end() && read->second.held.size() < kMostHeld) {
      read->second.held.push_back(std::move(data));  // wants() had said yes, and it cannot go back
    } else {
      ++lost_;
    }
  }
  say_outgoing();
}

// Under reads_mutex_. There is a reading.
void Session::deliver(uint16_t object, Read * read, View data)
{
  Reading & reading = *read->reading;
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.request = reading.request;
  sub.object = object;
  sub.of.data = data;
  // wants() has said that there is room, so a little more than the bound is possible.
  const auto put = outgoing_.put(reading.stream, reading.urgency, write(sub), true);
  ++(put == Outgoing::Put::kTaken ? delivered_ : lost_);
  if (reading.left != UINT32_MAX && --reading.left == 0) {
    read->reading.reset();
  }
}

void Session::data(uint16_t object, View cdr) { send(object, {}, cdr); }

void Session::lost(uint16_t, uint64_t count)
{
  const std::lock_guard lock(reads_mutex_);
  lost_ += count;
}

void Session::request(uint16_t object, const uint8_t * identity, View cdr)
{
  send(object, {identity, identity + RCLRT_SAMPLE_IDENTITY}, cdr);
}

void Session::reply(uint16_t object, uint16_t request, View cdr)
{
  const Bytes prefix = {
    static_cast<uint8_t>(request >> 8U), static_cast<uint8_t>(request),
    static_cast<uint8_t>(object >> 8U), static_cast<uint8_t>(object)};
  send(object, prefix, cdr);
}

}  // namespace rclrt_agent
