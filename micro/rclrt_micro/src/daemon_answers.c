/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the agent answers, where nothing is read: no frame is kept for its turn, and a message is taken
 * whole. With the first reader daemon_take.c takes its place. Functions that say "in a critical section"
 * are called there; the others are not.
 */
#include "daemon_internal.h"

void daemon_open_frame(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message, struct daemon_frame * frame)
{
  struct rclrt_reader reader;
  frame->length = 0;
  frame->ret = daemon->framing->copy_out(daemon, slot, buffer, capacity, &frame->length);
  rclrt_reader_init(&reader, buffer, frame->length);
  rclrt_read_message_header(&reader, &message->header);
  frame->begin = reader.at;
  frame->sound = frame->ret == RCLRT_OK && !reader.failed &&
                 rclrt_reader_left(&reader) >= RCLRT_SUBMESSAGE_HEADER;
}

bool daemon_accept_frame(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, const struct daemon_frame * frame)
{
  uint32_t * counter = NULL;
  /* Copied first, looked at afterwards: new bytes may have come meanwhile. */
  if (daemon->head - slot->at > daemon->config.ring_size) {
    counter = &daemon->counters.overwritten;
  } else if (frame->ret == RCLRT_ERR_CHECKSUM || frame->ret == RCLRT_ERR_MALFORMED) {
    counter = &daemon->counters.bad_checksums;
  } else if (!frame->sound) {
    counter = &daemon->counters.malformed;
  }
  if (counter != NULL) {
    (*counter)++;
  }
  return counter == NULL;
}

void daemon_discard(struct rclrt_daemon * daemon, const struct rclrt_slot * slot)
{
  struct rclrt_input_stream * input = daemon_find_input(daemon, slot->stream);
  if (input != NULL && is_reliable(input->id)) {
    daemon_forget_waiting(input, slot->sequence);
    daemon_owe_ack(daemon, input);
  }
}

bool daemon_in_time(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, uint16_t sequence, uint64_t now)
{
  const bool late = input->highest != 0 && rclrt_sequence_before(sequence, input->expected);
  daemon_look_back(daemon, input, late ? DAEMON_LATE_WEIGHT / DAEMON_LATE_COPIES : 0, now);
  daemon->counters.late += late ? 1U : 0U;
  return !late;
}

/* In a critical section: is it its turn? */
static bool deliver(struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint64_t now)
{
  struct rclrt_input_stream * input = daemon_find_input(daemon, slot->stream);
  if (input == NULL) {
    return true; /* no order asked for */
  }
  if (!is_reliable(input->id)) {
    const bool in_time = daemon_in_time(daemon, input, slot->sequence, now);
    if (in_time) {
      input->highest = 1;
      input->expected = (uint16_t)(slot->sequence + 1U);
    }
    return in_time;
  }
  if (slot->sequence != input->expected) {
    daemon->counters.dropped_frames++; /* it comes again */
    return false;
  }
  daemon_owe_ack(daemon, input);
  (void)daemon_advance(input); /* nothing is held */
  return true;
}

/* Takes one frame out of line. True: it is delivered. */
static bool take_one(
  struct rclrt_daemon * daemon, struct rclrt_slot * slot, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message)
{
  struct daemon_frame frame;
  daemon_open_frame(daemon, slot, buffer, capacity, message, &frame);
  const uint64_t now = daemon_now(daemon);
  const uint32_t token = daemon_enter(daemon);
  const bool delivered = daemon_accept_frame(daemon, slot, &frame) && deliver(daemon, slot, now);
  if (!delivered) {
    daemon_discard(daemon, slot);
  }
  daemon_free_slot(daemon, slot);
  daemon_leave(daemon, token);
  message->submessages.data = buffer + frame.begin;
  message->submessages.size = frame.length - frame.begin;
  return delivered;
}

enum rclrt_ret daemon_take_answer(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message)
{
  bool delivered = false;
  bool empty = false;
  for (uint32_t i = 0; i <= daemon->config.slot_count && !delivered && !empty; ++i) {
    const uint32_t token = daemon_enter(daemon);
    struct rclrt_slot * slot = slot_of(rclrt_list_pop_front(&sink->slots));
    daemon_leave(daemon, token);
    empty = slot == NULL;
    delivered = !empty && take_one(daemon, slot, buffer, capacity, message);
  }
  daemon_kick(daemon);
  return delivered ? RCLRT_OK : RCLRT_ERR_AGAIN;
}
