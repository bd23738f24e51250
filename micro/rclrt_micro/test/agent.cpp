// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
#include "agent.hpp"

#include <cstring>

namespace
{
using Bytes = Agent::Bytes;

bool before(uint16_t a, uint16_t b) { return static_cast<int16_t>(a - b) < 0; }

Bytes to_bytes(rclrt_bytes from) { return {from.data, from.data + from.size}; }

Bytes write(const rclrt_submessage & sub)
{
  static Bytes scratch(70000);
  rclrt_writer writer;
  rclrt_writer_init(&writer, scratch.data(), scratch.size());
  rclrt_write_submessage(&writer, &sub);
  return {scratch.begin(), scratch.begin() + static_cast<std::ptrdiff_t>(writer.at)};
}

std::string string_at(const Bytes & body, size_t at)
{
  char text[256];
  rclrt_reader reader;
  rclrt_reader_init(&reader, body.data(), body.size());
  reader.at = at;
  rclrt_read_string(&reader, text, sizeof(text));
  return text;
}

std::string between(const std::string & text, const std::string & begin, const std::string & end)
{
  const size_t from = text.find(begin);
  const size_t to = text.find(end, from);
  return from == std::string::npos || to == std::string::npos
           ? ""
           : text.substr(from + begin.size(), to - from - begin.size());
}
}  // namespace

void Agent::receive(const Bytes & bytes)
{
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_reader_init(&reader, bytes.data(), bytes.size());
  rclrt_read_message_header(&reader, &header);
  if (reader.failed) {
    return;
  }
  const Bytes rest(bytes.begin() + static_cast<std::ptrdiff_t>(reader.at), bytes.end());
  const bool outside =
    header.session == RCLRT_SESSION_NONE || header.session == RCLRT_SESSION_NONE_WITH_KEY;
  if (!outside && !client_) {
    return;
  }
  if (outside || header.stream == RCLRT_STREAM_NONE) {
    handle(header.stream, rest.data(), rest.size());
  } else if (header.stream < RCLRT_STREAM_RELIABLE) {
    auto & input = inputs_[header.stream];
    if (!input.started || !before(header.sequence, input.expected)) {
      input.started = true;
      input.expected = static_cast<uint16_t>(header.sequence + 1);
      handle(header.stream, rest.data(), rest.size());
    }
  } else {
    on_reliable(header.stream, header.sequence, rest);
  }
}

void Agent::on_reliable(uint8_t stream, uint16_t sequence, const Bytes & rest)
{
  auto & input = inputs_[stream];
  const auto distance = static_cast<uint16_t>(sequence - input.expected);
  if (distance < 16 && input.ahead.count(sequence) == 0) {
    if (refuse && input.refused.count(sequence) == 0 && refuse(stream, sequence)) {
      input.refused.insert(sequence);
      if (options.acknowledge_everything) {
        acknowledge(stream, sequence);
      }
      return;
    }
    input.refused.erase(sequence);
    input.ahead[sequence] = rest;
    deliver_ready(stream);
  }
  if (options.acknowledge_everything && client_) {
    acknowledge(stream, sequence);
  }
}

void Agent::deliver_ready(uint8_t stream)
{
  for (;;) {
    auto & input = inputs_[stream];
    const auto next = input.ahead.find(input.expected);
    if (next == input.ahead.end()) {
      return;
    }
    const Bytes rest = std::move(next->second);
    input.ahead.erase(next);
    input.expected++;
    handle(stream, rest.data(), rest.size());
  }
}

void Agent::acknowledge(uint8_t stream, std::optional<uint16_t> last)
{
  auto & input = inputs_[stream];
  rclrt_submessage sub{};
  sub.id = RCLRT_ACKNACK;
  sub.of.acknack.stream = stream;
  sub.of.acknack.first_unacked = input.expected;
  uint16_t end = input.expected;
  if (last && before(end, static_cast<uint16_t>(*last + 1))) {
    end = static_cast<uint16_t>(*last + 1);
  }
  for (const auto & entry : input.ahead) {
    end = before(end, entry.first) ? entry.first : end;
  }
  for (uint16_t i = 0; i < 16 && static_cast<uint16_t>(input.expected + i) != end; ++i) {
    if (input.ahead.count(static_cast<uint16_t>(input.expected + i)) == 0) {
      sub.of.acknack.missing = static_cast<uint16_t>(sub.of.acknack.missing | 1U << i);
    }
  }
  send_(message(RCLRT_STREAM_NONE, 0, write(sub)));
}

void Agent::handle(uint8_t stream, const uint8_t * data, size_t size)
{
  rclrt_reader reader;
  rclrt_submessage sub;
  rclrt_reader_init(&reader, data, size);
  while (rclrt_read_submessage(&reader, &sub) && sub.id <= RCLRT_TIMESTAMP_REPLY) {
    received[sub.id]++;
    handle(stream, sub);
  }
}

void Agent::handle(uint8_t stream, const rclrt_submessage & sub)
{
  if (!client_ && sub.id != RCLRT_CREATE_CLIENT && sub.id != RCLRT_GET_INFO) {
    return;
  }
  rclrt_submessage answer{};
  switch (sub.id) {
    case RCLRT_CREATE_CLIENT:
      on_create_client(sub);
      break;
    case RCLRT_CREATE:
      status(stream, sub, create(sub));
      break;
    case RCLRT_DELETE:
      on_delete(stream, sub);
      break;
    case RCLRT_GET_INFO: {
      Bytes info(64);
      rclrt_writer writer;
      rclrt_writer_init(&writer, info.data(), info.size());
      rclrt_write_bytes(&writer, "      ", 6);
      rclrt_write_agent_info(&writer, 1);
      answer.id = RCLRT_INFO;
      answer.request = sub.request;
      answer.object = sub.object;
      answer.of.result.implementation = client_ ? 1 : 0;
      answer.of.result.info = {info.data() + 6, writer.at - 6};
      send_(message(RCLRT_STREAM_NONE, 0, write(answer)));
      break;
    }
    case RCLRT_READ_DATA:
      on_read(sub);
      break;
    case RCLRT_WRITE_DATA:
      on_write(sub);
      break;
    case RCLRT_ACKNACK:
      on_acknack(sub.of.acknack);
      break;
    case RCLRT_HEARTBEAT: {
      auto & input = inputs_[sub.of.heartbeat.stream];
      while (before(input.expected, sub.of.heartbeat.first_unacked)) {
        input.ahead.erase(input.expected++);
        input.assembly.clear();
      }
      deliver_ready(sub.of.heartbeat.stream);
      acknowledge(sub.of.heartbeat.stream, sub.of.heartbeat.last_unacked);
      break;
    }
    case RCLRT_FRAGMENT: {
      auto & assembly = inputs_[stream].assembly;
      assembly.insert(assembly.end(), sub.of.data.data, sub.of.data.data + sub.of.data.size);
      if ((sub.flags & RCLRT_FLAG_LAST_FRAGMENT) != 0) {
        const Bytes whole = std::move(assembly);
        assembly.clear();
        handle(stream, whole.data(), whole.size());
      }
      break;
    }
    case RCLRT_TIMESTAMP:
      answer.id = RCLRT_TIMESTAMP_REPLY;
      answer.of.timestamp_reply.originate = sub.of.timestamp;
      // This agent's clock is 1000 s ahead of the client's virtual one.
      answer.of.timestamp_reply.receive.s = static_cast<int32_t>(1000 + now_ns_ / 1'000'000'000);
      answer.of.timestamp_reply.receive.ns = static_cast<uint32_t>(now_ns_ % 1'000'000'000);
      answer.of.timestamp_reply.transmit = answer.of.timestamp_reply.receive;
      send_(message(RCLRT_STREAM_NONE, 0, write(answer)));
      break;
    default:
      break;
  }
}

void Agent::on_create_client(const rclrt_submessage & sub)
{
  const auto & asked = sub.of.create_client;
  const Bytes key(asked.key, asked.key + 4);
  if (!client_ || client_->key != key || client_->session != asked.session) {
    restart();
  }
  inputs_.clear();
  outputs_.clear();
  client_ = Client{asked.session, key, asked.mtu};
  rclrt_submessage answer{};
  answer.id = RCLRT_STATUS_AGENT;
  send_(message(RCLRT_STREAM_NONE, 0, write(answer)));
}

uint8_t Agent::create(const rclrt_submessage & sub)
{
  const Object object{
    sub.of.create.kind, sub.of.create.representation, to_bytes(sub.of.create.body),
    sub.of.create.parent};
  if (object.kind != RCLRT_PARTICIPANT && objects_.count(object.parent) == 0) {
    return RCLRT_STATUS_UNKNOWN_REFERENCE;
  }
  const auto old = objects_.find(sub.object);
  if (old != objects_.end()) {
    const bool same = old->second.body == object.body;
    if ((sub.flags & RCLRT_FLAG_REUSE) != 0 && same) {
      return RCLRT_STATUS_OK_MATCHED;
    }
    if ((sub.flags & RCLRT_FLAG_REPLACE) == 0) {
      return (sub.flags & RCLRT_FLAG_REUSE) != 0 ? RCLRT_STATUS_MISMATCH
                                                 : RCLRT_STATUS_ALREADY_EXISTS;
    }
  }
  objects_[sub.object] = object;
  return RCLRT_STATUS_OK;
}

void Agent::on_delete(uint8_t stream, const rclrt_submessage & sub)
{
  if (sub.object == RCLRT_OBJECT_CLIENT) {
    rclrt_submessage answer{};
    answer.id = RCLRT_STATUS;
    answer.request = sub.request;
    answer.object = sub.object;
    send_(message(RCLRT_STREAM_NONE, 0, write(answer)));
    restart();
    return;
  }
  readings_.erase(sub.object);
  status(
    stream, sub, objects_.erase(sub.object) > 0 ? RCLRT_STATUS_OK : RCLRT_STATUS_UNKNOWN_REFERENCE);
}

void Agent::on_read(const rclrt_submessage & sub)
{
  const auto & read = sub.of.read_data;
  if (objects_.count(sub.object) == 0) {
    status(RCLRT_STREAM_RELIABLE, sub, RCLRT_STATUS_UNKNOWN_REFERENCE);
    return;
  }
  if (read.delivery.max_samples == 0) {
    readings_.erase(sub.object);
  } else {
    readings_[sub.object] = {sub.request, read.preferred_stream};
  }
}

std::string Agent::topic_of(uint16_t endpoint) const
{
  const auto found = objects_.find(endpoint);
  if (found == objects_.end()) {
    return "";
  }
  const Object & object = found->second;
  const std::string text(object.body.begin(), object.body.end());
  if (object.kind == RCLRT_REQUESTER || object.kind == RCLRT_REPLIER) {
    return object.representation == RCLRT_BY_XML ? between(text, "service_name=\"", "\"")
                                                 : string_at(object.body, 0);
  }
  if (object.representation == RCLRT_BY_XML) {
    return between(text, "<name>", "</name>");
  }
  const auto topic =
    objects_.find(static_cast<uint16_t>(object.body.at(0) << 8 | object.body.at(1)));
  return topic == objects_.end() ? "" : string_at(topic->second.body, 0);
}

void Agent::on_write(const rclrt_submessage & sub)
{
  const auto writer = objects_.find(sub.object);
  if (writer == objects_.end()) {
    return;
  }
  const Bytes data = to_bytes(sub.of.data);
  const std::string topic = topic_of(sub.object);
  if (writer->second.kind == RCLRT_REPLIER) {
    uint32_t number = 0;
    if (data.size() < RCLRT_SAMPLE_IDENTITY) {
      return;
    }
    std::memcpy(&number, data.data() + 20, 4);
    const auto request = requests_.find(number);
    if (request != requests_.end()) {
      const auto [id, requester] = request->second;
      Bytes reply = {
        static_cast<uint8_t>(id >> 8), static_cast<uint8_t>(id),
        static_cast<uint8_t>(requester >> 8), static_cast<uint8_t>(requester)};
      reply.insert(reply.end(), data.begin() + RCLRT_SAMPLE_IDENTITY, data.end());
      send_data(requester, reply);
    }
    return;
  }
  if (writer->second.kind == RCLRT_REQUESTER) {
    requests_[next_request_] = {sub.request, sub.object};
    Bytes request(RCLRT_SAMPLE_IDENTITY, 0xAB);
    std::memset(request.data() + 16, 0, 4);
    std::memcpy(request.data() + 20, &next_request_, 4);
    next_request_++;
    request.insert(request.end(), data.begin(), data.end());
    for (const auto & [id, object] : objects_) {
      if (object.kind == RCLRT_REPLIER && topic_of(id) == topic) {
        send_data(id, request);
      }
    }
    return;
  }
  if (on_data) {
    on_data(topic, data);
  }
  publish(topic, data);
}

void Agent::publish(const std::string & topic, const Bytes & data)
{
  for (const auto & [id, object] : objects_) {
    if (object.kind == RCLRT_DATAREADER && topic_of(id) == topic) {
      send_data(id, data);
    }
  }
}

void Agent::send_data(uint16_t reader, const Bytes & data)
{
  const auto reading = readings_.find(reader);
  if (reading == readings_.end()) {
    return;
  }
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.request = reading->second.request;
  sub.object = reader;
  sub.of.data = {data.data(), data.size()};
  send_on(reading->second.stream, sub);
}

void Agent::status(uint8_t stream, const rclrt_submessage & to, uint8_t status)
{
  rclrt_submessage sub{};
  sub.id = RCLRT_STATUS;
  sub.request = to.request;
  sub.object = to.object;
  sub.of.result.status = status;
  send_on(stream >= RCLRT_STREAM_RELIABLE ? RCLRT_STREAM_RELIABLE : RCLRT_STREAM_BEST_EFFORT, sub);
}

void Agent::send_on(uint8_t stream, const rclrt_submessage & sub)
{
  auto & output = outputs_[stream];
  std::vector<Bytes> parts = {write(sub)};
  const size_t room = client_->mtu - (client_->session < RCLRT_SESSION_NONE ? 8U : 4U);
  if (parts[0].size() > room) {
    const Bytes whole = std::move(parts[0]);
    parts.clear();
    for (size_t at = 0; at < whole.size(); at += room - 4) {
      rclrt_submessage fragment{};
      fragment.id = RCLRT_FRAGMENT;
      fragment.of.data = {whole.data() + at, std::min(room - 4, whole.size() - at)};
      fragment.flags = at + room - 4 >= whole.size() ? RCLRT_FLAG_LAST_FRAGMENT : 0;
      parts.push_back(write(fragment));
    }
  }
  for (const auto & part : parts) {
    const uint16_t sequence = stream == RCLRT_STREAM_NONE ? uint16_t{0} : output.next++;
    const Bytes bytes = message(stream, sequence, part);
    if (stream >= RCLRT_STREAM_RELIABLE) {
      if (output.unacked.empty()) {
        output.heartbeat_ns = now_ns_ + options.heartbeat_ns;
      }
      output.unacked[sequence] = bytes;
    }
    send_(bytes);
  }
}

void Agent::on_acknack(const rclrt_acknack & acknack)
{
  auto & output = outputs_[acknack.stream];
  if (before(output.next, acknack.first_unacked)) {
    return;  // what was never sent cannot be acknowledged
  }
  while (!output.unacked.empty() && before(output.oldest()->first, acknack.first_unacked)) {
    output.unacked.erase(output.oldest());
  }
  for (uint16_t i = 0; i < 16; ++i) {
    const auto entry = output.unacked.find(static_cast<uint16_t>(acknack.first_unacked + i));
    if ((acknack.missing >> i & 1U) != 0 && entry != output.unacked.end()) {
      send_(entry->second);
    }
  }
}

uint64_t Agent::tick(uint64_t now_ns)
{
  now_ns_ = now_ns;
  uint64_t due = UINT64_MAX;
  for (auto & [stream, output] : outputs_) {
    if (output.unacked.empty()) {
      continue;
    }
    if (now_ns >= output.heartbeat_ns) {
      output.heartbeat_ns = now_ns + options.heartbeat_ns;
      rclrt_submessage sub{};
      sub.id = RCLRT_HEARTBEAT;
      sub.of.heartbeat = {output.oldest()->first, static_cast<uint16_t>(output.next - 1), stream};
      send_(message(RCLRT_STREAM_NONE, 0, write(sub)));
    }
    due = std::min(due, output.heartbeat_ns);
  }
  return due;
}

void Agent::restart()
{
  client_.reset();
  objects_.clear();
  readings_.clear();
  inputs_.clear();
  outputs_.clear();
  requests_.clear();
}

Bytes Agent::message(uint8_t stream, uint16_t sequence, const Bytes & submessages) const
{
  rclrt_message_header header{};
  header.session = client_ ? client_->session : static_cast<uint8_t>(RCLRT_SESSION_NONE);
  header.stream = stream;
  header.sequence = sequence;
  if (client_) {
    std::copy(client_->key.begin(), client_->key.end(), header.key);
  }
  Bytes bytes(8 + submessages.size());
  rclrt_writer writer;
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  rclrt_write_message_header(&writer, &header);
  rclrt_write_bytes(&writer, submessages.data(), submessages.size());
  bytes.resize(writer.at);
  return bytes;
}
