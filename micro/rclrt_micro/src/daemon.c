/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's storage; and readers: their streams and sinks, which loses a slot when there is none, and where
 * slots go when a reader does. Functions that say "in a critical section" are called there.
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

uint64_t time_after(uint64_t from, uint64_t ns)
{
  return ns < UINT64_MAX - from ? from + ns : UINT64_MAX;
}

uint64_t time_since(uint64_t now, uint64_t since) { return now > since ? now - since : 0; }

enum rclrt_ret daemon_short(
  struct rclrt_daemon * daemon, const char * what, size_t limit, size_t needed)
{
  const struct rclrt_shortage shortage = {what, (uint32_t)limit, (uint32_t)needed};
  const uint32_t token = daemon_enter(daemon);
  daemon->shortage = shortage;
  daemon_leave(daemon, token);
  return RCLRT_ERR_STORAGE;
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
  const struct rclrt_daemon_framing * framing,
  enum rclrt_ret (*check)(
    struct rclrt_shortage * shortage, const struct rclrt_daemon_config * config))
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
  if (port->now_ns == NULL || transport->write == NULL || transport->read == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const enum rclrt_ret ret = check == NULL ? RCLRT_OK : check(&daemon->shortage, config);
  if (ret != RCLRT_OK) {
    return ret;
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

void daemon_free_slot(struct rclrt_daemon * daemon, struct rclrt_slot * slot)
{
  rclrt_list_push_back(&daemon->free_slots, &slot->link);
}

/* In a critical section. */
static void free_held(struct rclrt_daemon * daemon, struct rclrt_input_stream * input)
{
  while (input->held != NULL) {
    daemon_free_slot(daemon, daemon_pop_held(input));
  }
}

/* In a critical section. */
static void free_slots(struct rclrt_daemon * daemon, struct rclrt_sink * sink)
{
  struct rclrt_link * slot;
  while ((slot = rclrt_list_pop_front(&sink->slots)) != NULL) {
    daemon_free_slot(daemon, slot_of(slot));
  }
}

void rclrt_daemon_remove_input(struct rclrt_daemon * daemon, struct rclrt_input_stream * stream)
{
  if (daemon == NULL || stream == NULL || stream->link.next == NULL) {
    return;
  }
  const uint32_t token = daemon_enter(daemon);
  free_held(daemon, stream);
  rclrt_list_remove(&stream->link);
  daemon_leave(daemon, token);
}

void rclrt_daemon_remove_sink(struct rclrt_daemon * daemon, struct rclrt_sink * sink)
{
  if (daemon == NULL || sink == NULL || sink->link.next == NULL) {
    return;
  }
  const uint32_t token = daemon_enter(daemon);
  rclrt_list_remove(&sink->link);
  struct rclrt_link * link;
  while ((link = rclrt_list_pop_front(&sink->slots)) != NULL) {
    slot_of(link)->sink = &daemon->others;
    rclrt_list_push_back(&daemon->others.slots, link);
  }
  for (link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    for (struct rclrt_link * held = input_of(link)->held; held != NULL; held = held->next) {
      if (slot_of(held)->sink == sink) {
        slot_of(held)->sink = &daemon->others;
      }
    }
  }
  daemon_leave(daemon, token);
}

void daemon_reset_receiving(struct rclrt_daemon * daemon)
{
  struct rclrt_link * link;
  for (link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    struct rclrt_input_stream * input = input_of(link);
    free_held(daemon, input);
    input->taken = 0;
    input->ack_due = false;
    input->back = 0;
    input->expected = 0;
    input->highest = 0;
    input->waiting = 0;
    input->asked = 0;
    input->skips = 0;
    input->assembly_skips = 0;
    input->assembly_length = 0;
    input->assembly_broken = false;
  }
  for (link = rclrt_list_first(&daemon->sinks); link != NULL;
       link = rclrt_list_next(&daemon->sinks, link)) {
    free_slots(daemon, sink_of(link));
  }
  free_slots(daemon, &daemon->others);
}

/* In a critical section: the newest frame of the least urgent sink below `priority`, taken out of
 * line, or null. One step per sink. */
static struct rclrt_slot * evict_waiting(struct rclrt_daemon * daemon, uint8_t priority)
{
  struct rclrt_sink * victim = NULL;
  for (struct rclrt_link * link = rclrt_list_first(&daemon->sinks); link != NULL;
       link = rclrt_list_next(&daemon->sinks, link)) {
    struct rclrt_sink * sink = sink_of(link);
    const uint8_t limit = victim == NULL ? priority : victim->priority;
    if (sink->priority < limit && !rclrt_list_empty(&sink->slots)) {
      victim = sink;
    }
  }
  if (victim == NULL) {
    return NULL;
  }
  struct rclrt_slot * slot = slot_of(rclrt_list_last(&victim->slots));
  rclrt_list_remove(&slot->link);
  struct rclrt_input_stream * input = daemon_find_input(daemon, slot->stream);
  if (input != NULL) {
    daemon_forget_waiting(input, slot->sequence);
  }
  return slot;
}

/* In a critical section: of the held frames of the least urgent sink the furthest ahead, which is
 * asked for again when its turn comes nearer. `gap`: the stream whose next frame needs the slot, or
 * null. For that one its own held frames, and those of sinks as urgent, go too: none of its own can
 * be delivered before it. RCLRT_WINDOW steps per stream. */
static struct rclrt_slot * evict_held(
  struct rclrt_daemon * daemon, uint8_t priority, const struct rclrt_input_stream * gap)
{
  struct rclrt_link ** victim = NULL;
  uint16_t ahead = 0;
  for (struct rclrt_link * link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    struct rclrt_input_stream * input = input_of(link);
    for (struct rclrt_link ** held = &input->held; *held != NULL; held = &(*held)->next) {
      const uint8_t of = slot_of(*held)->sink->priority;
      const uint16_t i = (uint16_t)(slot_of(*held)->sequence - input->expected);
      const bool may = of < priority || (gap != NULL && (of == priority || input == gap));
      const uint8_t least = victim == NULL ? RCLRT_PRIORITIES : slot_of(*victim)->sink->priority;
      if (may && (of < least || (of == least && i > ahead))) {
        victim = held;
        ahead = i;
      }
    }
  }
  struct rclrt_slot * slot = victim == NULL ? NULL : slot_of(*victim);
  if (slot != NULL) {
    *victim = slot->link.next;
  }
  return slot;
}

/* In a critical section: the slot of a less urgent frame, or null. */
static struct rclrt_slot * evict(
  struct rclrt_daemon * daemon, uint8_t priority, const struct rclrt_input_stream * gap)
{
  struct rclrt_slot * slot = evict_waiting(daemon, priority);
  return slot != NULL ? slot : evict_held(daemon, priority, gap);
}

void daemon_use_readers(struct rclrt_daemon * daemon)
{
  daemon->take_answer = rclrt_daemon_take;
  daemon->evict = evict;
}

enum rclrt_ret rclrt_daemon_add_input(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * stream, uint8_t id, uint8_t * assembly,
  uint16_t assembly_capacity)
{
  if (daemon == NULL || stream == NULL || id == RCLRT_STREAM_NONE) {
    return RCLRT_ERR_ARGUMENT;
  }
  daemon_add_input(daemon, stream, id);
  const uint32_t token = daemon_enter(daemon);
  stream->assembly = assembly;
  stream->assembly_capacity = assembly == NULL ? 0 : assembly_capacity;
  daemon->assemble = daemon_assemble;
  daemon_use_readers(daemon);
  daemon_leave(daemon, token);
  return RCLRT_OK;
}

void daemon_set_priority(struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t priority)
{
  struct rclrt_input_stream * input =
    sink->stream == RCLRT_STREAM_NONE ? NULL : daemon_find_input(daemon, sink->stream);
  sink->priority = priority;
  if (input != NULL) {
    input->priority = priority;
  }
}

enum rclrt_ret rclrt_daemon_add_sink(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint16_t object, uint8_t stream,
  uint8_t priority)
{
  if (daemon == NULL || sink == NULL || object == 0 || priority >= RCLRT_PRIORITIES) {
    return RCLRT_ERR_ARGUMENT;
  }
  sink->object = object;
  sink->stream = stream;
  rclrt_list_init(&sink->slots);
  const uint32_t token = daemon_enter(daemon);
  daemon_use_readers(daemon);
  daemon_set_priority(daemon, sink, priority);
  rclrt_list_push_back(&daemon->sinks, &sink->link);
  daemon_leave(daemon, token);
  return RCLRT_OK;
}
