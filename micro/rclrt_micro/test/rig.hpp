// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A client's daemon and an agent on a simulated line.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "agent.hpp"
#include "rclrt_micro/daemon.h"
#include "rclrt_micro/sim.hpp"
#include "rclrt_micro/xrce.h"

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kByte115200 = 86'806;  // ns, 10 bits
constexpr uint8_t kKey[4] = {0xCA, 0xFE, 0x00, 0x01};

// Throws if what a test or benchmark is built on does not hold.
inline void require(bool holds, const char * what)
{
  if (!holds) {
    throw std::runtime_error(what);
  }
}

// Throws if a call that must succeed has failed.
inline void must(rclrt_ret ret, const char * file = __builtin_FILE(), int line = __builtin_LINE())
{
  const std::string where = std::string(file) + ":" + std::to_string(line) + ": ";
  require(ret == RCLRT_OK, (where + rclrt_ret_text(ret)).c_str());
}

// Frames out of a serial line, as any peer would find them.
class Deframer
{
public:
  explicit Deframer(rclrt_framing framing, rclrt_check check = RCLRT_CHECK_ARC)
  : framing_(framing), check_(check)
  {
    rclrt_scanner_init(&scanner_, 4096);
  }

  std::vector<Agent::Bytes> feed(const Agent::Bytes & bytes)
  {
    if (framing_ == RCLRT_FRAMING_DATAGRAM) {
      return {bytes};
    }
    std::vector<Agent::Bytes> messages;
    for (const uint8_t byte : bytes) {
      if (framing_ == RCLRT_FRAMING_SERIAL) {
        serial(byte, messages);
      } else {
        line_.push_back(byte);
        if (line_.size() >= 2 && line_.size() == 2U + (line_[0] | line_[1] << 8)) {
          messages.emplace_back(line_.begin() + 2, line_.end());
          line_.clear();
        }
      }
    }
    return messages;
  }

  static Agent::Bytes frame(
    rclrt_framing framing, const Agent::Bytes & message, uint8_t source,
    rclrt_check check = RCLRT_CHECK_ARC)
  {
    if (framing == RCLRT_FRAMING_DATAGRAM) {
      return message;
    }
    if (framing == RCLRT_FRAMING_LENGTH) {
      Agent::Bytes bytes = {
        static_cast<uint8_t>(message.size()), static_cast<uint8_t>(message.size() >> 8)};
      bytes.insert(bytes.end(), message.begin(), message.end());
      return bytes;
    }
    rclrt_frame_encoder encoder;
    rclrt_frame_encoder_init(
      &encoder, check, source, source == 0 ? 1 : 0, message.data(),
      static_cast<uint16_t>(message.size()));
    Agent::Bytes bytes(rclrt_frame_wire_size(&encoder));
    rclrt_frame_encode(&encoder, bytes.data(), bytes.size());
    return bytes;
  }

private:
  void serial(uint8_t byte, std::vector<Agent::Bytes> & messages)
  {
    if (byte == RCLRT_FRAME_FLAG) {
      line_.clear();
    }
    line_.push_back(byte);
    if (rclrt_scan_byte(&scanner_, byte) != RCLRT_SCAN_FRAME) {
      return;
    }
    Agent::Bytes payload(scanner_.length);
    uint16_t length = 0;
    if (
      rclrt_frame_decode(
        check_, line_.data(), line_.size(), nullptr, 0, payload.data(), payload.size(), &length) ==
      RCLRT_OK) {
      messages.push_back(payload);
    }
  }

  rclrt_framing framing_;
  rclrt_check check_;
  rclrt_scanner scanner_{};
  Agent::Bytes line_;
};

struct RigOptions
{
  RigOptions() = default;
  // From a function that changes what differs from the defaults.
  template <typename Change, typename = std::enable_if_t<std::is_invocable_v<Change, RigOptions &>>>
  RigOptions(const Change & change)
  {
    change(*this);
  }

  rclrt_framing framing = RCLRT_FRAMING_SERIAL;
  uint64_t byte_ns = kByte115200;
  uint64_t agent_delay_ns = 0;  // between arrival at the agent and its answer
  uint16_t nodes = 16;
  uint16_t capacity = 512;
  uint16_t slots = 24;
  uint32_t ring = 4096;
  uint16_t piece = 1200;         // a frame in one piece
  rclrt_daemon_config policy{};  // what of it is not storage
  rclrt_micro::SimLine::Faults faults{};
  uint32_t seed = 1;  // of the faults
};

class Rig
{
public:
  explicit Rig(const RigOptions & with = {})
  : options(with),
    to_agent(world, with.byte_ns, with.seed),
    to_client(world, with.byte_ns, with.seed + 1),
    port(world, to_agent),
    agent([this](const Agent::Bytes & message) {
      sent_by_agent.push_back(message);
      if (on_agent_message && on_agent_message(message)) {
        return;
      }
      const auto frame = Deframer::frame(options.framing, message, 0, options.policy.check);
      world.at(world.now_ns() + options.agent_delay_ns, [this, frame] { to_client.send(frame); });
    }),
    nodes(with.nodes),
    node_bytes(size_t{with.nodes} * with.capacity),
    slots(with.slots),
    ring(with.ring),
    piece(with.piece),
    at_agent_(with.framing, with.policy.check)
  {
    to_agent.faults = options.faults;
    to_client.faults = options.faults;
    to_agent.stream_of = to_client.stream_of = [this](const Agent::Bytes & frame) {
      return Deframer(options.framing, options.policy.check).feed(frame).at(0).at(1);
    };
    to_agent.deliver = [this](const Agent::Bytes & bytes) {
      for (const auto & message : at_agent_.feed(bytes)) {
        sent_by_client.push_back(message);
        agent.receive(message);
      }
      arm_agent();
    };
    to_client.deliver = [this](const Agent::Bytes & bytes) {
      rclrt_daemon_received(&daemon, bytes.data(), bytes.size());
      arm();
    };
    port.transmitted = [this] {
      rclrt_daemon_transmitted(&daemon);
      arm();
    };
    agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      written.emplace_back(topic, data);
    };
    rclrt_daemon_config config = options.policy;
    config.framing = options.framing;
    config.nodes = nodes.data();
    config.node_count = options.nodes;
    config.node_bytes = node_bytes.data();
    config.message_capacity = options.capacity;
    config.slots = slots.data();
    config.slot_count = options.slots;
    config.ring = ring.data();
    config.ring_size = options.ring;
    config.piece = piece.data();
    config.piece_size = options.piece;
    must(rclrt_daemon_init(&daemon, &config, &port.port, &port.transport));
    daemon.on_abandoned_context = this;
    daemon.on_abandoned = [](void * context, const rclrt_output_stream * stream, uint16_t number) {
      static_cast<Rig *>(context)->abandoned.emplace_back(stream->id, number);
    };
  }

  // A message of the agent is here.
  void receive(const Agent::Bytes & message)
  {
    const auto frame = Deframer::frame(options.framing, message, 0, options.policy.check);
    rclrt_daemon_received(&daemon, frame.data(), frame.size());
  }

  // A message of the agent comes on the line, outside its own.
  void receive_later(const Agent::Bytes & message)
  {
    to_client.send(Deframer::frame(options.framing, message, 0, options.policy.check));
  }

  // The agent publishes.
  void publish(const std::string & topic, const Agent::Bytes & data)
  {
    agent.publish(topic, data);
    arm_agent();
  }

  // The daemon's timer interrupt.
  void arm()
  {
    const uint64_t due = rclrt_daemon_tick(&daemon);
    if (due != UINT64_MAX && (armed_ns_ <= world.now_ns() || due < armed_ns_)) {
      armed_ns_ = due;
      world.at(due, [this] { arm(); });
    }
  }

  void arm_agent()
  {
    const uint64_t due = agent.tick(world.now_ns());
    if (due != UINT64_MAX && (agent_armed_ns_ <= world.now_ns() || due < agent_armed_ns_)) {
      agent_armed_ns_ = due;
      world.at(due, [this] { arm_agent(); });
    }
  }

  // A session, a topic "t", its datawriter 0x15 and datareader 0x16 at the agent, without the line.
  // The reader's data comes on `read_stream`.
  void open(uint8_t read_stream)
  {
    rclrt_daemon_reset(&daemon, RCLRT_SESSION_DEFAULT, kKey);
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE_CLIENT;
    std::copy(kKey, kKey + 4, sub.of.create_client.key);
    sub.of.create_client.session = RCLRT_SESSION_DEFAULT;
    sub.of.create_client.mtu = static_cast<uint16_t>(options.capacity - 4);
    tell_agent(RCLRT_SESSION_NONE, sub);
    const rclrt_qos qos{true, false, 10};
    create(0x11, RCLRT_PARTICIPANT, 0, [](auto * w) { rclrt_binary_participant(w, "n"); });
    create(0x12, RCLRT_TOPIC, 0x11, [](auto * w) { rclrt_binary_topic(w, "t", "T"); });
    create(0x13, RCLRT_PUBLISHER, 0x11, [](auto * w) { rclrt_binary_group(w); });
    create(0x14, RCLRT_SUBSCRIBER, 0x11, [](auto * w) { rclrt_binary_group(w); });
    create(0x15, RCLRT_DATAWRITER, 0x13, [&qos](auto * w) {
      rclrt_binary_endpoint(w, RCLRT_DATAWRITER, 0x12, &qos);
    });
    create(0x16, RCLRT_DATAREADER, 0x14, [&qos](auto * w) {
      rclrt_binary_endpoint(w, RCLRT_DATAREADER, 0x12, &qos);
    });
    rclrt_submessage read{};
    read.id = RCLRT_READ_DATA;
    read.request = 30;
    read.object = 0x16;
    read.of.read_data.preferred_stream = read_stream;
    read.of.read_data.has_delivery = true;
    read.of.read_data.delivery.max_samples = 0xFFFF;
    tell_agent(RCLRT_SESSION_DEFAULT, read);
    while (world.step(world.now_ns() + 100 * kMs)) {
    }
    sent_by_agent.clear();
    sent_by_client.clear();
  }

  // Writes one WRITE_DATA of the datawriter.
  rclrt_ret write(
    rclrt_output_stream & stream, uint8_t priority, const Agent::Bytes & data,
    uint16_t request = 14, uint16_t writer_id = 0x15)
  {
    rclrt_node * node = nullptr;
    const auto ret = rclrt_daemon_acquire(&daemon, &stream, priority, &node);
    if (ret != RCLRT_OK) {
      return ret;
    }
    rclrt_writer writer = rclrt_daemon_writer(&daemon, node);
    const size_t begin = rclrt_data_begin(&writer, RCLRT_WRITE_DATA, request, writer_id);
    rclrt_write_bytes(&writer, data.data(), data.size());
    rclrt_submessage_end(&writer, begin);
    const auto committed = rclrt_daemon_commit(&daemon, node, &writer);
    arm();
    return committed;
  }

  // What there was too little of.
  [[nodiscard]] std::string shortage() const
  {
    const auto & last = daemon.shortage;
    return last.what + (": " + std::to_string(last.limit)) + " of " + std::to_string(last.needed);
  }

  void settle(uint64_t ms = 1000)
  {
    const uint64_t end = world.now_ns() + ms * kMs;
    world.run_until(end);
  }

  RigOptions options;
  std::function<bool(const Agent::Bytes &)> on_agent_message;  // true: it takes care of it
  rclrt_micro::SimWorld world;
  rclrt_micro::SimLine to_agent;
  rclrt_micro::SimLine to_client;
  rclrt_micro::SimPort port;
  Agent agent;
  rclrt_daemon daemon{};
  std::vector<Agent::Bytes> sent_by_client;                   // as they arrived
  std::vector<Agent::Bytes> sent_by_agent;                    // as they were sent
  std::vector<std::pair<std::string, Agent::Bytes>> written;  // what reached the agent for a topic
  std::vector<std::pair<uint8_t, uint16_t>> abandoned;        // stream and number
  std::vector<rclrt_node> nodes;
  std::vector<uint8_t> node_bytes;
  std::vector<rclrt_slot> slots;
  std::vector<uint8_t> ring;
  std::vector<uint8_t> piece;

private:
  template <typename Body>
  void create(uint16_t id, rclrt_object_kind kind, uint16_t parent, Body && write_body)
  {
    uint8_t body[128];
    rclrt_writer writer;
    rclrt_writer_init(&writer, body, sizeof(body));
    write_body(&writer);
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE;
    sub.object = id;
    sub.of.create = {static_cast<uint8_t>(kind), RCLRT_BY_BINARY, {body, writer.at}, parent, 0};
    tell_agent(RCLRT_SESSION_DEFAULT, sub);
  }

  void tell_agent(uint8_t session, const rclrt_submessage & sub)
  {
    Agent::Bytes bytes(256);
    rclrt_writer writer;
    rclrt_writer_init(&writer, bytes.data(), bytes.size());
    const rclrt_message_header header{session, RCLRT_STREAM_NONE, 0, {}};
    rclrt_write_message_header(&writer, &header);
    rclrt_write_submessage(&writer, &sub);
    bytes.resize(writer.at);
    agent.receive(bytes);
  }

  Deframer at_agent_;
  uint64_t armed_ns_ = 0;
  uint64_t agent_armed_ns_ = 0;
};

inline Agent::Bytes number(uint32_t value)
{
  return {
    static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
    static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
}

// A stream to the agent; the session of the rig is open.
struct Output
{
  explicit Output(Rig & of, uint8_t id, uint8_t read_stream = 0x01) : rig(of)
  {
    rclrt_daemon_add_output(&rig.daemon, &stream, id);
    rig.open(read_stream);
  }
  Output(const Output &) = delete;
  Output & operator=(const Output &) = delete;

  rclrt_ret write(uint8_t priority, uint32_t value)
  {
    return rig.write(stream, priority, number(value));
  }
  // Sends a message of `size` bytes in all.
  rclrt_ret send_long(uint8_t priority, size_t size)
  {
    long_ = {RCLRT_WRITE_DATA, 1, 0, 0, 0, 14, 0, 0x15};
    long_[2] = static_cast<uint8_t>(size - 4);
    long_[3] = static_cast<uint8_t>((size - 4) >> 8);
    long_.resize(size, 1);
    const auto ret =
      rclrt_daemon_send_long(&rig.daemon, &stream, priority, long_.data(), long_.size());
    rig.arm();
    return ret;
  }

  Rig & rig;
  rclrt_output_stream stream{};

private:
  Agent::Bytes long_;  // it stays as it is until its end is cut
};

// The data of every DATA that `sink` has now. What is for nobody is thrown away, as a session does.
inline std::vector<Agent::Bytes> take_all(rclrt_daemon & daemon, rclrt_sink & sink)
{
  std::vector<Agent::Bytes> all;
  std::vector<uint8_t> buffer(daemon.config.message_capacity);
  rclrt_message message;
  while (rclrt_daemon_take(&daemon, &daemon.others, buffer.data(), buffer.size(), &message) ==
         RCLRT_OK) {
  }
  while (rclrt_daemon_take(&daemon, &sink, buffer.data(), buffer.size(), &message) == RCLRT_OK) {
    rclrt_reader reader;
    rclrt_submessage sub;
    rclrt_reader_init(&reader, message.submessages.data, message.submessages.size);
    while (rclrt_read_submessage(&reader, &sub)) {
      if (sub.id == RCLRT_DATA) {
        all.emplace_back(sub.of.data.data, sub.of.data.data + sub.of.data.size);
      }
    }
  }
  return all;
}

inline uint32_t number(const Agent::Bytes & bytes)
{
  return bytes.at(0) | static_cast<uint32_t>(bytes.at(1)) << 8 |
         static_cast<uint32_t>(bytes.at(2)) << 16 | static_cast<uint32_t>(bytes.at(3)) << 24;
}

// The first four bytes of what was written.
inline std::vector<uint32_t> numbers_of(const Rig & rig)
{
  std::vector<uint32_t> numbers;
  for (const auto & [topic, data] : rig.written) {
    numbers.push_back(number(data));
  }
  return numbers;
}

inline std::vector<uint32_t> up_to(uint32_t count)
{
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

inline size_t length_of(const rclrt_list & list)
{
  size_t count = 0;
  for (auto * link = rclrt_list_first(&list); link != nullptr;
       link = rclrt_list_next(&list, link)) {
    count++;
  }
  return count;
}

// Submessages, and messages of them, made by hand.
inline Agent::Bytes submessage(uint8_t id, uint8_t flags, const Agent::Bytes & body)
{
  const size_t size = body.size();
  Agent::Bytes bytes = {id, flags, static_cast<uint8_t>(size), static_cast<uint8_t>(size >> 8)};
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

inline uint8_t low_byte(uint16_t value) { return static_cast<uint8_t>(value); }
inline uint8_t high_byte(uint16_t value) { return static_cast<uint8_t>(value >> 8); }

inline Agent::Bytes data_for(uint16_t object, uint8_t value, size_t size = 4)
{
  Agent::Bytes body = {0, 1, high_byte(object), low_byte(object), value};
  if (size == 4) {
    body.resize(8);
  } else {
    body.resize(4 + size, value);
  }
  return submessage(RCLRT_DATA, 1, body);
}

inline Agent::Bytes heartbeat(uint8_t stream, uint16_t first, uint16_t last)
{
  return submessage(
    RCLRT_HEARTBEAT, 1,
    {low_byte(first), high_byte(first), low_byte(last), high_byte(last), stream});
}

inline Agent::Bytes acknack(uint8_t stream, uint16_t first, uint16_t missing = 0)
{
  return submessage(
    RCLRT_ACKNACK, 1,
    {low_byte(first), high_byte(first), high_byte(missing), low_byte(missing), stream});
}

inline Agent::Bytes status(uint16_t object, uint8_t value)
{
  return submessage(RCLRT_STATUS, 1, {0, 10, high_byte(object), low_byte(object), value, 0});
}

inline Agent::Bytes message_of(
  uint8_t stream, uint16_t sequence, const std::vector<Agent::Bytes> & parts)
{
  Agent::Bytes message = {RCLRT_SESSION_DEFAULT, stream, low_byte(sequence), high_byte(sequence)};
  for (const auto & part : parts) {
    message.resize((message.size() + 3) / 4 * 4);
    message.insert(message.end(), part.begin(), part.end());
  }
  return message;
}

// The data of one reader, straight from the line.
struct Reader
{
  // `own_stream`: 0 if its data comes on any.
  Reader(Rig & of, uint8_t stream, uint16_t object, uint8_t priority, uint8_t own_stream)
  : rig(of), daemon(of.daemon)
  {
    rclrt_daemon_add_input(&daemon, &input, stream, assembly, sizeof(assembly));
    rclrt_daemon_add_sink(&daemon, &sink, object, own_stream, priority);
    rclrt_daemon_reset(&daemon, RCLRT_SESSION_DEFAULT, kKey);
  }

  explicit Reader(Rig & of, uint8_t stream = 0x83, uint16_t object = 0x16, uint8_t priority = 3)
  : Reader(of, stream, object, priority, stream)
  {
  }

  void receive(const Agent::Bytes & message) { rig.receive(message); }
  // The first bytes of what there is now.
  std::vector<int> take()
  {
    std::vector<int> values;
    for (const auto & data : take_all(daemon, sink)) {
      values.push_back(data.at(0));
    }
    return values;
  }

  Rig & rig;
  rclrt_daemon & daemon;
  rclrt_input_stream input{};
  rclrt_sink sink{};
  uint8_t assembly[256]{};
};
