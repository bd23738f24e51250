/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/daemon.h"

#include <string.h>

#include "daemon_internal.h"

void daemon_count(struct rclrt_daemon * daemon, uint32_t * counter)
{
  const uint32_t token = daemon_enter(daemon);
  (*counter)++;
  daemon_leave(daemon, token);
}

enum rclrt_ret daemon_short(
  struct rclrt_daemon * daemon, const char * what, size_t limit, size_t needed)
{
  const struct rclrt_shortage shortage = {what, (uint32_t)limit, (uint32_t)needed};
  const uint32_t token = daemon_enter(daemon);
  daemon->shortage = shortage;
  daemon_leave(daemon, token);
  return RCLRT_ERR_STORAGE;
}

static bool is_power_of_two(uint32_t value) { return value != 0 && (value & (value - 1U)) == 0; }

/* True, and written down, if it is. */
static bool is_short(
  struct rclrt_shortage * shortage, const char * what, uint32_t limit, uint32_t needed)
{
  if (limit < needed) {
    shortage->what = what;
    shortage->limit = limit;
    shortage->needed = needed;
  }
  return limit < needed;
}

/* Writes down the first size that is too small. */
static bool find_shortage(
  struct rclrt_shortage * shortage, const struct rclrt_daemon_config * config)
{
  const uint32_t message = config->message_capacity;
  const uint32_t whole = message & ~(uint32_t)3;
  /* The longest frame: a flag, and everything behind it stuffed. */
  const uint32_t ring = 2U * (message + 6U) + 1U;
  const bool datagrams = config->framing == RCLRT_FRAMING_DATAGRAM && config->input != NULL;
  /* Of the ring only a part counts that is a power of two. */
  const uint32_t usable = is_power_of_two(config->ring_size) ? config->ring_size : 0;
  return is_short(shortage, "node_count", config->node_count, 1) ||
         is_short(
           shortage, "node_count, more than reserve", config->node_count, config->reserve + 1U) ||
         is_short(shortage, "message_capacity", whole, 64) ||
         is_short(shortage, "message_capacity, a multiple of 4", whole, message) ||
         is_short(shortage, "slot_count", config->slot_count, 1) ||
         is_short(shortage, "ring_size, a power of two", usable, ring) ||
         is_short(shortage, "piece_size", config->piece_size, 16) ||
         (datagrams && is_short(shortage, "input_size", config->input_size, message));
}

/* A critical section: interrupts find either no port, and drop what comes, or all that is behind it. */
static void set_port(struct rclrt_daemon * daemon, const struct rclrt_port * by, bool is_ready)
{
  const uint32_t token = by->enter(by->context);
  daemon->port = is_ready ? by : NULL;
  by->leave(by->context, token);
}

enum rclrt_ret daemon_init(
  struct rclrt_daemon * daemon, const struct rclrt_daemon_config * config,
  const struct rclrt_port * port, const struct rclrt_transport * transport,
  const struct rclrt_daemon_framing * framing)
{
  if (daemon == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const bool has_port = port != NULL && port->enter != NULL && port->leave != NULL;
  if (has_port) {
    set_port(daemon, port, false); /* the line may be open already, perhaps of an earlier start */
  }
  memset(daemon, 0, sizeof(*daemon)); /* whatever the storage held */
  if (config == NULL || !has_port || transport == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (
    port->now_ns == NULL || transport->write == NULL || transport->read == NULL ||
    config->nodes == NULL || config->node_bytes == NULL || config->slots == NULL ||
    config->ring == NULL || config->piece == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (find_shortage(&daemon->shortage, config)) {
    return RCLRT_ERR_STORAGE;
  }
  daemon->config = *config;
  if (daemon->config.heartbeat_ns == 0) {
    daemon->config.heartbeat_ns = 100U * UINT64_C(1000000);
  }
  daemon->framing = framing;
  daemon->transport = transport;
  daemon->session = RCLRT_SESSION_NONE;
  rclrt_list_init(&daemon->free);
  rclrt_queue_init(&daemon->execution);
  rclrt_list_init(&daemon->pending);
  rclrt_list_init(&daemon->outputs);
  rclrt_list_init(&daemon->inputs);
  rclrt_list_init(&daemon->sinks);
  rclrt_list_init(&daemon->free_slots);
  rclrt_list_init(&daemon->others.slots);
  daemon->take_answer = daemon_take_answer;
  daemon->others.priority = RCLRT_PRIORITIES - 1U;
  for (uint16_t i = 0; i < config->node_count; ++i) {
    struct rclrt_node * node = &config->nodes[i];
    memset(node, 0, sizeof(*node));
    node->bytes = config->node_bytes + (size_t)i * config->message_capacity;
    rclrt_list_push_back(&daemon->free, &node->link);
  }
  daemon->free_count = config->node_count;
  for (uint16_t i = 0; i < config->slot_count; ++i) {
    rclrt_list_push_back(&daemon->free_slots, &config->slots[i].link);
  }
  rclrt_scanner_init(&daemon->scanner, config->message_capacity);
  set_port(daemon, port, true);
  return RCLRT_OK;
}

void rclrt_daemon_reset(struct rclrt_daemon * daemon, uint8_t session, const uint8_t key[4])
{
  if (daemon == NULL || key == NULL) {
    return;
  }
  for (struct rclrt_link * link = rclrt_list_first(&daemon->outputs); link != NULL;
       link = rclrt_list_next(&daemon->outputs, link)) {
    daemon_empty_output(daemon, output_of(link));
  }
  const uint32_t token = daemon_enter(daemon);
  daemon->session = session;
  daemon->astray = false;
  daemon->beyond = 0;
  memcpy(daemon->key, key, sizeof(daemon->key));
  daemon_reset_receiving(daemon);
  daemon_leave(daemon, token);
}

enum rclrt_ret rclrt_daemon_add_output(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t id)
{
  if (daemon == NULL || stream == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(stream, 0, sizeof(*stream));
  stream->id = id;
  const uint32_t token = daemon_enter(daemon);
  rclrt_list_push_back(&daemon->outputs, &stream->link);
  daemon_leave(daemon, token);
  return RCLRT_OK;
}

void daemon_add_input(struct rclrt_daemon * daemon, struct rclrt_input_stream * stream, uint8_t id)
{
  memset(stream, 0, sizeof(*stream));
  stream->id = id;
  stream->priority = RCLRT_PRIORITIES - 1U; /* answers, until a sink says what else it is for */
  const uint32_t token = daemon_enter(daemon);
  rclrt_list_push_back(&daemon->inputs, &stream->link);
  daemon_leave(daemon, token);
}

enum rclrt_ret rclrt_daemon_poll(struct rclrt_daemon * daemon, uint64_t timeout_ns)
{
  if (daemon == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint64_t due = rclrt_daemon_tick(daemon);
  const uint64_t now = daemon_now(daemon);
  if (due <= now) {
    timeout_ns = 0;
  } else if (due - now < timeout_ns) {
    timeout_ns = due - now;
  }
  uint8_t * input = daemon->config.input;
  const size_t capacity = input == NULL ? 0 : daemon->config.input_size;
  const ptrdiff_t got =
    daemon->transport->read(daemon->transport->context, input, capacity, timeout_ns);
  if (got < 0 || got > (ptrdiff_t)capacity) {
    return RCLRT_ERR_TRANSPORT;
  }
  if (got > 0) {
    daemon_take_in(daemon, input, (size_t)got);
  }
  if (timeout_ns > 0 && got == 0) { /* time has passed; after bytes the next call looks */
    (void)rclrt_daemon_tick(daemon);
  }
  return RCLRT_OK;
}
