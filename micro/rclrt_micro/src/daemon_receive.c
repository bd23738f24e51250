/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The receiving half: ring, frame index, input streams. Functions that say "in a critical section"
 * are called there; the others are not.
 */
#include <string.h>

#include "daemon_internal.h"

/* So long, without anything newer, an agent's heartbeats or messages are about what was settled before: copies that
 * were late do not last that long. */
#define LATE_MS 860 /* of 2^20 ns */

/* In a critical section. One step per stream. */
struct rclrt_input_stream * daemon_find_input(struct rclrt_daemon * daemon, uint8_t id)
{
  for (struct rclrt_link * link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    if (input_of(link)->id == id) {
      return input_of(link);
    }
  }
  return NULL;
}

/* In a critical section: is `sequence` among the next RCLRT_WINDOW of the stream? */
bool daemon_in_window(const struct rclrt_input_stream * input, uint16_t sequence)
{
  return (uint16_t)(sequence - input->expected) < RCLRT_WINDOW;
}

/* In a critical section: the frame is not in the ring any more, or not wanted. */
void daemon_forget_waiting(struct rclrt_input_stream * input, uint16_t sequence)
{
  if (daemon_in_window(input, sequence)) {
    input->waiting &= (uint16_t)~(1U << (uint16_t)(sequence - input->expected));
  }
}

int daemon_ack_priority(struct rclrt_daemon * daemon)
{
  int most = -1;
  for (struct rclrt_link * link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    const struct rclrt_input_stream * input = input_of(link);
    most = input->ack_due && input->priority > most ? input->priority : most;
  }
  return most;
}

bool daemon_next_ack(struct rclrt_daemon * daemon, struct rclrt_acknack * acknack)
{
  for (struct rclrt_link * link = rclrt_list_first(&daemon->inputs); link != NULL;
       link = rclrt_list_next(&daemon->inputs, link)) {
    struct rclrt_input_stream * input = input_of(link);
    if (!input->ack_due) {
      continue;
    }
    input->ack_due = false;
    input->prompt |= daemon->late;
    acknack->stream = input->id;
    acknack->first_unacked = input->expected;
    const uint16_t known = (uint16_t)(input->highest - input->expected); /* as a rule 0 */
    uint32_t missing = known < RCLRT_WINDOW ? (UINT32_C(1) << known) - 1U : UINT16_MAX;
    missing = known < 0x8000U ? missing & ~((uint32_t)input->waiting | input->asked) : 0;
    for (struct rclrt_link * held = input->held; held != NULL; held = held->next) {
      missing &= ~(UINT32_C(1) << (uint16_t)(slot_of(held)->sequence - input->expected));
    }
    acknack->missing = (uint16_t)missing;
    input->asked |= acknack->missing;
    return true;
  }
  return false;
}

/* In a critical section: the next number is another one. What is held under it gets in line.
 * Returns the sink to notify, or null. */
struct rclrt_sink * daemon_advance(struct rclrt_input_stream * input)
{
  input->expected++;
  input->back = 0;
  input->taken = 0;
  input->waiting >>= 1;
  input->asked >>= 1;
  if (rclrt_sequence_before(input->highest, input->expected)) {
    input->highest = input->expected;
  }
  if (input->held == NULL || slot_of(input->held)->sequence != input->expected) {
    return NULL;
  }
  struct rclrt_slot * slot = daemon_pop_held(input);
  input->waiting |= 1U;
  rclrt_list_push_front(&slot->sink->slots, &slot->link);
  return slot->sink;
}

void daemon_notify(struct rclrt_sink * sink)
{
  if (sink != NULL && sink->notify != NULL) {
    sink->notify(sink);
  }
}

void daemon_look_back(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, unsigned weight, uint64_t now)
{
  if (weight == 0) {
    input->back = 0;
  } else if (input->back < DAEMON_LATE_WEIGHT) {
    input->back_since_ms = input->back == 0 ? (uint32_t)(now >> 20) : input->back_since_ms;
    input->back = (uint8_t)(input->back + weight);
  } else if ((int32_t)((uint32_t)(now >> 20) - input->back_since_ms) >= LATE_MS) {
    daemon->astray = true;
  }
}

/* In a critical section. Returns the sink to notify, or null. */
static struct rclrt_sink * on_heartbeat(
  struct rclrt_daemon * daemon, const struct rclrt_heartbeat * heartbeat, uint64_t now)
{
  struct rclrt_sink * sink = NULL;
  struct rclrt_input_stream * input = daemon_find_input(daemon, heartbeat->stream);
  if (input != NULL && is_reliable(input->id)) {
    /* The agent has given up what is before first_unacked. */
    const uint16_t skip = rclrt_sequence_before(input->expected, heartbeat->first_unacked)
                            ? (uint16_t)(heartbeat->first_unacked - input->expected)
                            : 0;
    if (skip > 0) {
      daemon->counters.skipped += skip;
      input->skips++;
      while (input->held != NULL &&
             (uint16_t)(slot_of(input->held)->sequence - input->expected) < skip) {
        daemon_free_slot(daemon, daemon_pop_held(input));
      }
      input->waiting = (uint16_t)(skip > RCLRT_WINDOW ? 0 : input->waiting >> (skip - 1U));
      input->expected = (uint16_t)(heartbeat->first_unacked - 1U);
      sink = daemon_advance(input);
    }
    const uint16_t beyond = (uint16_t)(heartbeat->last_unacked + 1U);
    /* An agent whose window has moved does not go back behind it. */
    const bool behind =
      rclrt_sequence_before((uint16_t)(heartbeat->first_unacked + RCLRT_WINDOW), input->expected);
    const unsigned weight = behind ? DAEMON_LATE_WEIGHT / DAEMON_LATE_COPIES : 1U;
    daemon_look_back(
      daemon, input, rclrt_sequence_before(heartbeat->last_unacked, input->expected) ? weight : 0,
      now);
    if (rclrt_sequence_before(input->highest, beyond)) {
      input->highest = beyond;
    }
    input->asked = 0;
    daemon_owe_ack(daemon, input);
  }
  return sink;
}

/* In a critical section. */
static bool is_ours(const struct rclrt_daemon * daemon, const uint8_t * head)
{
  if (daemon->greeting && head[1] != RCLRT_STREAM_NONE) {
    return false; /* the agent has no streams yet: of the session before */
  }
  if (head[0] == RCLRT_SESSION_NONE || head[0] == RCLRT_SESSION_NONE_WITH_KEY) {
    return true; /* an answer from before the session */
  }
  return head[0] == daemon->session &&
         (head[0] > RCLRT_SESSION_NONE || rclrt_same_bytes(head + 4, daemon->key, 4));
}

bool daemon_on_control(struct rclrt_daemon * daemon, const struct rclrt_submessage * submessage)
{
  if (!is_control(submessage->id)) {
    return false;
  }
  const uint64_t now = daemon_now(daemon);
  if (submessage->id == RCLRT_ACKNACK) {
    daemon_on_acknack(daemon, &submessage->of.acknack, now);
    return true;
  }
  struct rclrt_sink * sink = NULL;
  const uint32_t token = daemon_enter(daemon);
  if (daemon->greeting) {
    daemon->counters.foreign++;
  } else {
    sink = on_heartbeat(daemon, &submessage->of.heartbeat, now);
  }
  daemon_leave(daemon, token);
  daemon_notify(sink);
  return true;
}

/* Acknowledgements and heartbeats at once. Bounded by RCLRT_CONTROL_MAX. False: there is more in
 * the message, all of it for whoever takes it. */
static bool handle_control(struct rclrt_daemon * daemon, const struct rclrt_slot * frame)
{
  uint8_t bytes[RCLRT_CONTROL_MAX];
  uint16_t length = 0;
  if (daemon->framing->copy_out(daemon, frame, bytes, sizeof(bytes), &length) != RCLRT_OK) {
    daemon_count(daemon, &daemon->counters.bad_checksums);
    return true;
  }
  struct rclrt_reader reader;
  struct rclrt_message_header header;
  struct rclrt_submessage submessage;
  rclrt_reader_init(&reader, bytes, length);
  rclrt_read_message_header(&reader, &header);
  /* One is as long as the other, and there are two at most. */
  const size_t second = reader.at + DAEMON_CONTROL_STEP;
  if (second + RCLRT_SUBMESSAGE_HEADER <= length && !is_control(bytes[second])) {
    return false;
  }
  while (rclrt_read_answer(&reader, &submessage)) {
    (void)daemon_on_control(daemon, &submessage);
  }
  if (reader.failed) {
    daemon_count(daemon, &daemon->counters.malformed);
  }
  return true;
}

/* In a critical section: a slot for a frame, or null. `gap`: see daemon.h. */
static struct rclrt_slot * take_slot(
  struct rclrt_daemon * daemon, uint8_t priority, const struct rclrt_input_stream * gap)
{
  struct rclrt_slot * slot = slot_of(rclrt_list_pop_front(&daemon->free_slots));
  if (slot == NULL) {
    daemon->counters.dropped_frames++;
    slot = daemon->evict == NULL ? NULL : daemon->evict(daemon, priority, gap);
  }
  return slot;
}

struct rclrt_sink * daemon_find_sink(
  struct rclrt_daemon * daemon, uint8_t submessage, uint16_t object, uint8_t stream)
{
  for (struct rclrt_link * link = rclrt_list_first(&daemon->sinks); link != NULL;
       link = rclrt_list_next(&daemon->sinks, link)) {
    struct rclrt_sink * sink = sink_of(link);
    if (
      (submessage == RCLRT_DATA && sink->object == object) ||
      (submessage == RCLRT_FRAGMENT && sink->stream == stream && stream != RCLRT_STREAM_NONE)) {
      return sink;
    }
  }
  return &daemon->others;
}

/* In a critical section: should this frame of a reliable stream be kept? */
static bool wanted(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, uint16_t sequence)
{
  if (rclrt_sequence_before(sequence, input->expected)) {
    daemon->counters.duplicates++;
    daemon_owe_ack(daemon, input); /* its acknowledgement was lost */
    return false;
  }
  if (!daemon_in_window(input, sequence)) {
    daemon->counters.dropped_frames++;
    return false;
  }
  input->waiting |= (uint16_t)(1U << (uint16_t)(sequence - input->expected));
  if (!rclrt_sequence_before(sequence, input->highest)) {
    input->highest = (uint16_t)(sequence + 1U);
  }
  return true;
}

void daemon_on_frame(
  struct rclrt_daemon * daemon, const struct rclrt_slot * found, const uint8_t * preview)
{
  uint8_t head[RCLRT_FRAME_PREVIEW]; /* a copy: the next frame may come in the middle of this */
  memcpy(head, preview, sizeof(head));
  const size_t at = rclrt_message_header_size(head[0]);
  const bool cut = found->length < at + RCLRT_SUBMESSAGE_HEADER;
  uint32_t token = daemon_enter(daemon);
  const bool foreign = !cut && !is_ours(daemon, head);
  daemon->counters.received++;
  daemon->counters.malformed += cut ? 1U : 0U;
  daemon->counters.foreign += foreign ? 1U : 0U;
  daemon_leave(daemon, token);
  if (cut || foreign) {
    return;
  }
  const uint8_t submessage = head[at];
  if (
    is_control(submessage) && head[1] == RCLRT_STREAM_NONE && found->length <= RCLRT_CONTROL_MAX &&
    handle_control(daemon, found)) {
    return;
  }
  const bool has_object = found->length >= at + 8U;
  const uint16_t object = (uint16_t)(has_object ? head[at + 6] << 8 | head[at + 7] : 0);
  const uint8_t stream = head[1];
  const uint16_t sequence = (uint16_t)(head[2] | head[3] << 8);
  struct rclrt_sink * sink = NULL;
  token = daemon_enter(daemon);
  struct rclrt_input_stream * input = daemon_find_input(daemon, stream);
  const struct rclrt_input_stream * gap = NULL;
  bool keep = true;
  if (is_reliable(stream)) {
    if (input != NULL && sequence == input->expected && (input->waiting & 1U) == 0) {
      gap = input;
    }
    keep = input != NULL && wanted(daemon, input, sequence);
    daemon->counters.foreign += input == NULL ? 1U : 0U;
  }
  if (keep) {
    sink = daemon_find_sink(daemon, submessage, object, stream);
    /* What an agent answers comes before all data; data without a reader takes nobody's slot. */
    const bool unread = sink == &daemon->others && is_data(submessage);
    if (unread && !is_reliable(stream)) {
      daemon->counters.malformed++;
      sink = NULL;
    }
    struct rclrt_slot * slot =
      sink == NULL ? NULL : take_slot(daemon, unread ? 0 : sink->priority, gap);
    if (slot != NULL) {
      *slot = *found;
      slot->sink = sink;
      slot->stream = stream;
      slot->sequence = sequence;
      slot->taken = 0;
      rclrt_list_push_back(&sink->slots, &slot->link);
    } else {
      if (input != NULL) {
        daemon_forget_waiting(input, sequence);
      }
      sink = NULL;
    }
  }
  daemon_leave(daemon, token);
  daemon_notify(sink);
}

void daemon_line_closed(struct rclrt_daemon * daemon)
{
  const uint32_t token = daemon_enter(daemon);
  rclrt_scanner_init(&daemon->scanner, daemon->config.message_capacity);
  daemon_leave(daemon, token);
}

void rclrt_daemon_received(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size)
{
  /* Without a port it is not initialised: nobody is there yet that could want these bytes. */
  if (daemon != NULL && daemon->port != NULL && bytes != NULL && size > 0) {
    daemon_take_in(daemon, bytes, size);
    daemon_wake(daemon);
  }
}

void daemon_take_in(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size)
{
  daemon->framing->take_in(daemon, bytes, size);
  daemon_kick(daemon);
}
