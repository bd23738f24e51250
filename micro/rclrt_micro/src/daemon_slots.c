/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Readers: their streams and sinks, which loses a slot when there is none, and where slots go when a reader
 * does. Functions that say "in a critical section" are called there; the others are not.
 */
#include "daemon_internal.h"

void daemon_free_slot(struct rclrt_daemon * daemon, struct rclrt_slot * slot)
{
  rclrt_list_push_back(&daemon->free_slots, &slot->link);
}

/* In a critical section. */
static void free_held(struct rclrt_daemon * daemon, struct rclrt_input_stream * input)
{
  for (unsigned i = 0; i < RCLRT_WINDOW; ++i) {
    if (input->held[i] != NULL) {
      daemon_free_slot(daemon, input->held[i]);
      input->held[i] = NULL;
    }
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
    for (unsigned i = 0; i < RCLRT_WINDOW; ++i) {
      struct rclrt_slot * held = input_of(link)->held[i];
      if (held != NULL && held->sink == sink) {
        held->sink = &daemon->others;
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
    input->started = false;
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
  struct rclrt_slot ** victim = NULL;
  uint16_t ahead = 0;
  for (struct rclrt_link * link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    struct rclrt_input_stream * input = input_of(link);
    for (uint16_t i = 1; i < RCLRT_WINDOW; ++i) {
      struct rclrt_slot ** held = &input->held[(uint16_t)(input->expected + i) % RCLRT_WINDOW];
      if (*held == NULL) {
        continue;
      }
      const uint8_t of = (*held)->sink->priority;
      const bool may = of < priority || (gap != NULL && (of == priority || input == gap));
      const uint8_t least = victim == NULL ? RCLRT_PRIORITIES : (*victim)->sink->priority;
      if (may && (of < least || (of == least && i > ahead))) {
        victim = held;
        ahead = i;
      }
    }
  }
  struct rclrt_slot * slot = victim == NULL ? NULL : *victim;
  if (slot != NULL) {
    *victim = NULL;
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
