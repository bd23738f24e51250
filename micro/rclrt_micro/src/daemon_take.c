/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Delivery: a frame out of the ring, checked, in the order of its stream, whole. Functions that say
 * "in a critical section" are called there; the others are not.
 */
#include <string.h>

#include "daemon_internal.h"

/* What becomes of a checked frame. */
enum verdict
{
  DELIVER,
  DISCARD,
  HOLD,
  MOVE, /* to the sink that its next part is for */
};

/* What is known of a part of a message on its way to whoever takes it. */
struct delivery
{
  size_t begin, end;                 /* of the part in the message */
  bool last;                         /* there is no other after it */
  struct rclrt_input_stream * input; /* or null */
  struct rclrt_sink * next;          /* to be notified; or null */
  uint16_t skips;                    /* of the stream, when this frame's turn came */
};

/* Where the part behind the one at `at` begins: a submessage, and ACKNACKs and HEARTBEATs behind
 * it. `size` if there is none. */
static size_t next_part(const uint8_t * bytes, size_t size, size_t at)
{
  do { /* ends: at least a header further each time */
    const size_t length = (size_t)(bytes[at + 2] | bytes[at + 3] << 8);
    const bool rest = length == 0 && bytes[at] == RCLRT_DATA;
    at = rest ? size : (at + RCLRT_SUBMESSAGE_HEADER + length + 3U) / 4U * 4U;
  } while (at + RCLRT_SUBMESSAGE_HEADER <= size && is_control(bytes[at]));
  return at + RCLRT_SUBMESSAGE_HEADER <= size ? at : size;
}

/* The part whose turn it is. False when there is none any more. */
static bool find_part(
  const uint8_t * bytes, size_t size, unsigned taken, struct delivery * delivery)
{
  for (; taken > 0 && delivery->begin < size; --taken) {
    delivery->begin = next_part(bytes, size, delivery->begin);
  }
  if (delivery->begin < size) {
    delivery->end = next_part(bytes, size, delivery->begin);
    delivery->last = delivery->end == size;
  }
  return delivery->begin < size;
}

/* In a critical section: for whom is the part at `at`? */
static struct rclrt_sink * sink_of_part(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, const uint8_t * bytes, size_t size,
  size_t at)
{
  const bool has_object = at + 8U <= size;
  const uint16_t object = (uint16_t)(has_object ? bytes[at + 6U] << 8 | bytes[at + 7U] : 0);
  return daemon_find_sink(daemon, bytes[at], object, slot->stream);
}

/* In a critical section: of a message alone, of which the agent has no other under way that is known, not
 * before what is published in answer. */
static void acknowledge(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, uint64_t now)
{
  if (input->prompt > 0) {
    input->prompt--;
  } else if (input->highest == input->expected && !input->ack_due) {
    input->ack_due = true;
    daemon->defers = true;
    daemon->defers_since = (uint32_t)now;
    return;
  }
  daemon_owe_ack(daemon, input);
}

/* In a critical section. */
static enum verdict judge(
  struct rclrt_daemon * daemon, struct rclrt_slot * slot,
  const struct rclrt_message_header * header, struct delivery * delivery, uint64_t now)
{
  struct rclrt_input_stream * input = daemon_find_input(daemon, header->stream);
  if (input == NULL) {
    return DELIVER; /* no order asked for */
  }
  delivery->input = input;
  delivery->skips = input->skips;
  if (!is_reliable(input->id)) {
    if (!daemon_in_time(daemon, input, header->sequence, now)) {
      return DISCARD;
    }
    if (delivery->last) {
      input->highest = 1;
      input->expected = (uint16_t)(header->sequence + 1U);
    }
    return DELIVER;
  }
  if (header->sequence == input->expected && !delivery->last) {
    input->taken = (uint16_t)(slot->taken + 1U);
    return DELIVER;
  }
  if (header->sequence == input->expected) {
    delivery->next = daemon_advance(input);
    acknowledge(daemon, input, now);
    return DELIVER;
  }
  daemon_owe_ack(daemon, input);
  const uint16_t ahead = (uint16_t)(header->sequence - input->expected);
  struct rclrt_link ** held = &input->held;
  while (*held != NULL && (uint16_t)(slot_of(*held)->sequence - input->expected) < ahead) {
    held = &(*held)->next;
  }
  const bool twice = *held != NULL && slot_of(*held)->sequence == header->sequence;
  if (ahead >= RCLRT_WINDOW || twice) {
    daemon->counters.duplicates++;
    return DISCARD;
  }
  daemon_forget_waiting(input, header->sequence);
  slot->link.next = *held;
  *held = &slot->link;
  return HOLD;
}

/* In a critical section: the slot comes first in the line of the reader that its next part is for. */
static void line_up_part(
  struct rclrt_slot * slot, struct rclrt_sink * sink, struct delivery * delivery)
{
  slot->sink = sink;
  rclrt_list_push_front(&sink->slots, &slot->link);
  delivery->next = sink;
}

/* Pieces before a gap and after it are not one message: what is there is dropped, and what comes up
 * to the last piece, for whether the next one is the first of its message cannot be seen. */
static void restart_assembly(struct rclrt_input_stream * input, uint16_t skips)
{
  if (input->assembly_skips != skips) {
    input->assembly_skips = skips;
    input->assembly_broken = true;
  }
}

bool daemon_assemble(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, struct rclrt_bytes * submessages)
{
  struct rclrt_reader reader;
  struct rclrt_submessage fragment;
  rclrt_reader_init(&reader, submessages->data, submessages->size);
  if (!rclrt_read_answer(&reader, &fragment)) {
    daemon_count(daemon, &daemon->counters.malformed);
    input->assembly_broken = true;
  }
  const bool last = (fragment.flags & RCLRT_FLAG_LAST_FRAGMENT) != 0;
  const struct rclrt_bytes bytes = fragment.of.data;
  if (bytes.size > (size_t)(input->assembly_capacity - input->assembly_length)) {
    input->assembly_broken = true;
  }
  if (!input->assembly_broken && bytes.size > 0) {
    memcpy(input->assembly + input->assembly_length, bytes.data, bytes.size);
    input->assembly_length = (uint16_t)(input->assembly_length + bytes.size);
  }
  if (!last) {
    return false;
  }
  const bool whole = !input->assembly_broken;
  if (!whole) {
    daemon_count(daemon, &daemon->counters.unassembled);
  }
  submessages->data = input->assembly;
  submessages->size = input->assembly_length;
  input->assembly_broken = false;
  input->assembly_length = 0;
  return whole;
}

/* The submessages of a delivered part: in the buffer, or assembled. False: no message yet. */
static bool unwrap(
  struct rclrt_daemon * daemon, const struct delivery * delivery, const uint8_t * buffer,
  struct rclrt_message * message)
{
  struct rclrt_input_stream * input = delivery->input;
  const bool ordered = input != NULL && is_reliable(input->id);
  const uint8_t * bytes = buffer + delivery->begin;
  message->submessages.data = bytes;
  message->submessages.size = delivery->end - delivery->begin;
  if (ordered) {
    restart_assembly(input, delivery->skips);
  }
  if (bytes[0] != RCLRT_FRAGMENT) {
    if (ordered) { /* where a message begins is clear again */
      input->assembly_broken = false;
      input->assembly_length = 0;
    }
    return true;
  }
  if (!ordered) {
    daemon_count(daemon, &daemon->counters.malformed);
    return false;
  }
  if (daemon->assemble != NULL) {
    return daemon->assemble(daemon, input, &message->submessages);
  }
  if ((bytes[1] & RCLRT_FLAG_LAST_FRAGMENT) != 0) {
    daemon_count(daemon, &daemon->counters.unassembled);
  }
  return false;
}

/* In a critical section: the next slot of the sink, taken out of line; or null. */
static struct rclrt_slot * pop_slot(struct rclrt_daemon * daemon, struct rclrt_sink * sink)
{
  struct rclrt_slot * slot = slot_of(rclrt_list_pop_front(&sink->slots));
  const struct rclrt_input_stream * input =
    slot == NULL ? NULL : daemon_find_input(daemon, slot->stream);
  if (input != NULL && is_reliable(input->id)) {
    /* Parts of it may have been taken from a frame that has since lost its slot, and came again. */
    slot->taken = slot->sequence == input->expected ? input->taken : 0;
  }
  return slot;
}

/* Takes one frame out of line. AGAIN: there was none (`*empty`), or nothing of it to deliver. */
static enum rclrt_ret take_one(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message, bool * empty)
{
  uint32_t token = daemon_enter(daemon);
  struct rclrt_slot * slot = pop_slot(daemon, sink);
  *empty = slot == NULL;
  if (*empty) {
    daemon_pay(daemon, daemon->defers_since);
  }
  daemon_leave(daemon, token);
  if (slot == NULL) {
    return RCLRT_ERR_AGAIN;
  }
  struct daemon_frame frame;
  daemon_open_frame(daemon, slot, buffer, capacity, message, &frame);
  const uint16_t length = frame.length;
  struct delivery delivery = {frame.begin, length, true, NULL, NULL, 0};
  frame.sound = frame.sound && find_part(buffer, length, slot->taken, &delivery);

  const uint64_t now = daemon_now(daemon);
  enum verdict verdict = DISCARD;
  token = daemon_enter(daemon);
  if (daemon_accept_frame(daemon, slot, &frame)) {
    struct rclrt_sink * whose =
      slot->taken == 0 ? sink : sink_of_part(daemon, slot, buffer, length, delivery.begin);
    verdict = whose == sink ? judge(daemon, slot, &message->header, &delivery, now) : MOVE;
    if (verdict == MOVE) {
      line_up_part(slot, whose, &delivery);
    }
  }
  if (verdict == DISCARD) {
    daemon_discard(daemon, slot);
  }
  if (verdict == DELIVER && !delivery.last) {
    slot->taken++;
    line_up_part(slot, sink_of_part(daemon, slot, buffer, length, delivery.end), &delivery);
  } else if (verdict == DELIVER || verdict == DISCARD) {
    daemon_free_slot(daemon, slot);
  }
  daemon_leave(daemon, token);
  daemon_notify(delivery.next);
  if (verdict != DELIVER) {
    return RCLRT_ERR_AGAIN;
  }
  return unwrap(daemon, &delivery, buffer, message) ? RCLRT_OK : RCLRT_ERR_AGAIN;
}

enum rclrt_ret rclrt_daemon_take(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message)
{
  if (daemon == NULL || sink == NULL || buffer == NULL || message == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (capacity < daemon->config.message_capacity) { /* a frame that does not fit would come again */
    return daemon_short(daemon, "the buffer", capacity, daemon->config.message_capacity);
  }
  enum rclrt_ret ret = RCLRT_ERR_AGAIN;
  bool empty = false;
  for (uint32_t i = 0; i <= daemon->config.slot_count && ret != RCLRT_OK && !empty; ++i) {
    ret = take_one(daemon, sink, buffer, capacity, message, &empty);
  }
  daemon_kick(daemon);
  return ret;
}
