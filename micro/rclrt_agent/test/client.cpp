// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A client of rclrt_micro on this machine, for tests:
//
//   client serial DEVICE | udp PORT | tcp PORT   [key [silent | stamps]]
//
// Int32 on /down comes back on /up, plus 1000. The service /micro_state answers with the label "micro". A negative
// number on /down is a request to the service /ros_state; the number that is answered comes on /up. A string on
// /long_down comes back on /long_up, unless `silent` or `stamps`. The parameter "limit" (0 to 100) says on /rosout that
// it has changed. Prints "ready" when all entities are there, and "lost"
// when the agent is gone; with `stamps` each number on /down and when it came, in ns of the monotonic clock.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "rclrt_micro/client.h"
#include "rclrt_micro/parameters.h"
#include "rclrt_micro/posix.h"

namespace
{
constexpr uint64_t kMs = 1'000'000;
constexpr uint16_t kCapacity = 512;
constexpr std::size_t kLong = 8192;

struct State
{
  uint8_t id = 0;
  char label[32] = "";
};

void encode_nothing(const void *, rclrt_writer * writer) { rclrt_write_u8(writer, 0); }
void decode_nothing(void *, rclrt_reader * reader) { (void)rclrt_read_u8(reader); }
void encode_state(const void * message, rclrt_writer * writer)
{
  rclrt_write_u8(writer, static_cast<const State *>(message)->id);
  rclrt_write_string(writer, static_cast<const State *>(message)->label);
}
void decode_state(void * message, rclrt_reader * reader)
{
  auto & state = *static_cast<State *>(message);
  state.id = rclrt_read_u8(reader);
  rclrt_read_string(reader, state.label, sizeof(state.label));
}

const rclrt_type kRequest = {
  "lifecycle_msgs::srv::dds_::GetState_Request_", encode_nothing, decode_nothing};
const rclrt_type kResponse = {
  "lifecycle_msgs::srv::dds_::GetState_Response_", encode_state, decode_state};

struct Client
{
  rclrt_posix line{};
  rclrt_daemon daemon{};
  rclrt_session session{};
  rclrt_node_handle node{};
  rclrt_executor executor{};
  std::vector<rclrt_node> nodes = std::vector<rclrt_node>(48);
  std::vector<uint8_t> node_bytes = std::vector<uint8_t>(48 * kCapacity);
  std::vector<rclrt_slot> slots = std::vector<rclrt_slot>(64);
  std::vector<uint8_t> ring = std::vector<uint8_t>(16384);
  std::vector<uint8_t> piece = std::vector<uint8_t>(64);
  std::vector<uint8_t> input = std::vector<uint8_t>(kCapacity);
  std::vector<uint8_t> session_buffer = std::vector<uint8_t>(kLong + 64);
  std::vector<uint8_t> take_buffer = std::vector<uint8_t>(kCapacity);
  std::vector<uint8_t> assembly = std::vector<uint8_t>(kLong + 64);
  rclrt_heap_node * timer_slots[4] = {};

  rclrt_publisher up{}, long_up{};
  rclrt_subscription down{}, long_down{};
  rclrt_service service{};
  rclrt_client asker{};
  rclrt_parameters parameters{};
  rclrt_parameter table[2] = {
    {"limit", "of nothing", RCLRT_PARAMETER_INTEGER, false, {}, 0, 100},
    {"version", nullptr, RCLRT_PARAMETER_INTEGER, true, {}, 0, 0}};
  rclrt_rosout rosout{};
  int32_t got = 0;
  bool silent = false;
  bool stamps = false;
  std::vector<char> text = std::vector<char>(kLong);
  rclrt_string got_text{text.data(), kLong};
  State request, response, answer;

  void publish(const rclrt_publisher & publisher, const void * message)
  {
    // The test counts every one: wait for room.
    while (rclrt_publish(const_cast<rclrt_publisher *>(&publisher), message) == RCLRT_ERR_AGAIN) {
      rclrt_daemon_poll(&daemon, 5 * kMs);
      rclrt_session_handle(&session);
    }
  }
};

[[noreturn]] void fail(const char * what, rclrt_ret ret)
{
  std::fprintf(stderr, "%s: %s\n", what, rclrt_ret_text(ret));
  std::exit(1);
}

#define TRY(call)                     \
  do {                                \
    const rclrt_ret try_ret = (call); \
    if (try_ret != RCLRT_OK) {        \
      fail(#call, try_ret);           \
    }                                 \
  } while (false)

void on_down(void * context, const void * message)
{
  auto & client = *static_cast<Client *>(context);
  const int32_t number = *static_cast<const int32_t *>(message);
  if (number < 0) {
    uint16_t id = 0;
    (void)rclrt_client_request(&client.asker, &client.request, &id);
    return;
  }
  if (client.stamps) {
    std::printf(
      "down %d %llu\n", static_cast<int>(number),
      static_cast<unsigned long long>(client.line.port.now_ns(client.line.port.context)));
    std::fflush(stdout);
  }
  const int32_t back = number + 1000;
  client.publish(client.up, &back);
}

void on_long_down(void * context, const void * message)
{
  auto & client = *static_cast<Client *>(context);
  if (!client.silent) {
    client.publish(client.long_up, message);
  }
}

bool on_request(void *, const void *, void * response)
{
  auto & state = *static_cast<State *>(response);
  state.id = 3;
  std::strcpy(state.label, "micro");
  return true;
}

void on_answer(void * context, const void * response, uint16_t)
{
  auto & client = *static_cast<Client *>(context);
  const int32_t id = static_cast<const State *>(response)->id;
  client.publish(client.up, &id);
}

void on_change(void * context, const rclrt_parameter *)
{
  (void)RCLRT_LOG(&static_cast<Client *>(context)->rosout, INFO, "limit has changed");
}

void connect(Client & client, const std::string & kind, const char * where, uint8_t key)
{
  rclrt_framing framing = RCLRT_FRAMING_DATAGRAM;
  if (kind == "serial") {
    framing = RCLRT_FRAMING_SERIAL;
    TRY(rclrt_posix_serial(&client.line, where, 115200));
  } else if (kind == "tcp") {
    framing = RCLRT_FRAMING_LENGTH;
    TRY(rclrt_posix_tcp(&client.line, "127.0.0.1", static_cast<uint16_t>(std::atoi(where))));
  } else {
    TRY(rclrt_posix_udp(&client.line, "127.0.0.1", static_cast<uint16_t>(std::atoi(where))));
  }
  rclrt_daemon_config config{};
  config.framing = framing;
  config.nodes = client.nodes.data();
  config.node_count = static_cast<uint16_t>(client.nodes.size());
  config.node_bytes = client.node_bytes.data();
  config.message_capacity = kCapacity;
  config.slots = client.slots.data();
  config.slot_count = static_cast<uint16_t>(client.slots.size());
  config.ring = client.ring.data();
  config.ring_size = static_cast<uint32_t>(client.ring.size());
  config.piece = client.piece.data();
  config.piece_size = static_cast<uint16_t>(client.piece.size());
  config.input = client.input.data();
  config.input_size = static_cast<uint16_t>(client.input.size());
  TRY(rclrt_daemon_init(&client.daemon, &config, &client.line.port, &client.line.transport));
  const uint8_t bytes[4] = {0x11, 0x22, 0x33, key};
  TRY(rclrt_session_init(
    &client.session, &client.daemon, RCLRT_SESSION_DEFAULT, bytes, client.session_buffer.data(),
    static_cast<uint16_t>(client.session_buffer.size())));
  client.session.answer_timeout_ns = 20'000 * kMs;  // lines of tests lose much
  TRY(rclrt_executor_init(
    &client.executor, &client.session, client.timer_slots, uint16_t{4}, client.take_buffer.data()));
  TRY(rclrt_session_connect(&client.session, 20'000 * kMs));
}

void create(Client & client)
{
  const rclrt_qos qos = rclrt_qos_reliable();
  TRY(rclrt_node_init(&client.node, &client.session, "board/micro", 0));
  TRY(rclrt_publisher_init(&client.up, &client.node, &rclrt_type_int32, "/up", qos, 3));
  TRY(rclrt_publisher_init(&client.long_up, &client.node, &rclrt_type_string, "/long_up", qos, 1));
  TRY(rclrt_subscription_init(&client.down, &client.node, &rclrt_type_int32, "/down", qos));
  TRY(rclrt_subscription_init(
    &client.long_down, &client.node, &rclrt_type_string, "/long_down", qos));
  TRY(rclrt_subscription_accept_long(
    &client.long_down, client.assembly.data(), static_cast<uint16_t>(client.assembly.size())));
  TRY(rclrt_service_init(&client.service, &client.node, &kRequest, &kResponse, "/micro_state"));
  TRY(rclrt_client_init(&client.asker, &client.node, &kRequest, &kResponse, "/ros_state", 2));
  TRY(rclrt_executor_add_subscription(
    &client.executor, &client.down, &client.got, on_down, &client, 5, RCLRT_ON_NEW_DATA));
  TRY(rclrt_executor_add_subscription(
    &client.executor, &client.long_down, &client.got_text, on_long_down, &client, 1,
    RCLRT_ON_NEW_DATA));
  TRY(rclrt_executor_add_service(
    &client.executor, &client.service, &client.request, &client.response, on_request, &client, 4));
  TRY(rclrt_executor_add_client(
    &client.executor, &client.asker, &client.answer, on_answer, &client, 4));
  TRY(rclrt_rosout_init(&client.rosout, &client.node, 0));
  TRY(
    rclrt_parameters_init(&client.parameters, &client.node, &client.executor, client.table, 2, 1));
  client.parameters.on_change = on_change;
  client.parameters.context = &client;
}
}  // namespace

int main(int argc, char ** argv)
{
  if (argc < 3) {
    std::fputs("client serial DEVICE | udp PORT | tcp PORT [key [silent | stamps]]\n", stderr);
    return 2;
  }
  static Client client;
  connect(client, argv[1], argv[2], static_cast<uint8_t>(argc > 3 ? std::atoi(argv[3]) : 1));
  client.silent = argc > 4;
  client.stamps = argc > 4 && std::string(argv[4]) == "stamps";
  create(client);
  std::puts("ready");
  std::fflush(stdout);
  for (uint64_t asked = 0;;) {
    (void)rclrt_executor_spin_some(&client.executor, 100 * kMs);
    const uint64_t now = client.line.port.now_ns(client.line.port.context);
    if (now - asked > 1000 * kMs) {
      asked = now;
      if (rclrt_session_keep_alive(&client.session, 5000 * kMs) != RCLRT_OK) {
        std::puts("lost");
        std::fflush(stdout);
      }
    }
  }
}
