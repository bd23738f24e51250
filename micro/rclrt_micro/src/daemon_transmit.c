/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transmission: what goes on the line next, and what acknowledgements do. Functions that say "in a
 * critical section" are called there; the others are not.
 */
#include <string.h>

#include "daemon_internal.h"

/* However often it did not help, the agent is asked again after so long. */
#define MOST_PATIENCE_NS UINT64_C(2000000000)
/* An ACKNACK or HEARTBEAT with its header. */
#define CONTROL_SIZE 9U
/* So many messages that were acknowledged are done with in one critical section. */
#define SETTLED_AT_ONCE 4U
/* More urgent messages that pass what is owed to the agent, before it goes all the same. */
#define CONTROL_PASSES 4U
/* An agent asks about what it has sent after 25 ms (ours; 200 ms: eProsima's). An ACKNACK that was put off for
 * longer than this went too late, so the next ones of its stream are not put off. */
#define LATE_ACK_NS 10000000U
/* Heartbeats without an answer after which what they ask about goes along: it may be what is missing. */
#define IN_VAIN 2U

/* Silence after which the agent is asked: at least `heartbeat_ns` and two round trips, twice as long each
 * time that it does not help. */
static uint64_t patience(
  const struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream)
{
  const uint64_t most =
    daemon->config.heartbeat_ns > MOST_PATIENCE_NS ? daemon->config.heartbeat_ns : MOST_PATIENCE_NS;
  const uint64_t trips = 2U * daemon->round_trip_ns;
  uint64_t ns = trips > daemon->config.heartbeat_ns ? trips : daemon->config.heartbeat_ns;
  for (uint8_t i = 0; i < stream->heartbeats && ns < most; ++i) {
    ns *= 2U;
  }
  return ns < most ? ns : most;
}

/* In a critical section: of what the heartbeat asks for. */
static int heartbeat_priority(const struct rclrt_output_stream * stream)
{
  return stream->first == NULL ? 0 : stream->first->priority;
}

/* In a critical section: the most urgent stream that owes an acknowledgement or a heartbeat; -1 for
 * none. One step per stream. */
static int control_priority(struct rclrt_daemon * daemon)
{
  int most = daemon_ack_priority(daemon);
  for (struct rclrt_link * link = rclrt_list_first(&daemon->outputs); link != NULL;
       link = rclrt_list_next(&daemon->outputs, link)) {
    const int priority = output_of(link)->heartbeat_due ? heartbeat_priority(output_of(link)) : -1;
    most = priority > most ? priority : most;
  }
  return most;
}

void daemon_pay(struct rclrt_daemon * daemon, uint32_t now)
{
  if (daemon->defers) {
    daemon->defers = false;
    daemon->owes = true;
    daemon->late = now - daemon->defers_since > LATE_ACK_NS ? UINT8_MAX : 0;
  }
}

/* In a critical section: writes an ACKNACK or HEARTBEAT that is due. False: none is. One step per stream. */
static bool write_owed(struct rclrt_daemon * daemon, uint8_t to[CONTROL_SIZE])
{
  struct rclrt_acknack owed;
  uint8_t id = RCLRT_ACKNACK;
  if (!daemon_next_ack(daemon, &owed)) {
    struct rclrt_link * link = rclrt_list_first(&daemon->outputs);
    while (link != NULL && !output_of(link)->heartbeat_due) {
      link = rclrt_list_next(&daemon->outputs, link);
    }
    if (link == NULL) {
      daemon->owes = false;
      return false;
    }
    struct rclrt_output_stream * stream = output_of(link);
    const uint16_t last = (uint16_t)(stream->sent - 1U);
    stream->heartbeat_due = false;
    id = RCLRT_HEARTBEAT;
    owed.first_unacked = stream->first_unacked;
    owed.missing = (uint16_t)(last << 8 | last >> 8); /* the other byte first */
    owed.stream = stream->id;
  }
  to[0] = id; /* what is between them stays zero */
  to[1] = RCLRT_FLAG_LITTLE_ENDIAN;
  to[2] = CONTROL_SIZE - RCLRT_SUBMESSAGE_HEADER;
  to[3] = 0;
  to[4] = (uint8_t)owed.first_unacked;
  to[5] = (uint8_t)(owed.first_unacked >> 8);
  to[6] = (uint8_t)(owed.missing >> 8);
  to[7] = (uint8_t)owed.missing;
  to[8] = owed.stream;
  return true;
}

/* In a critical section: begins a message of what is due, outside any stream. Not ahead of more urgent data
 * (`priority`, or -1), unless CONTROL_PASSES of those have passed; one that is as urgent may pass. One step
 * per stream. */
static bool pick_control(struct rclrt_daemon * daemon, int priority)
{
  if (!daemon->owes) {
    return false;
  }
  const int most = control_priority(daemon);
  if (most < 0) {
    daemon->owes = false;
    return false;
  }
  const unsigned passes = most < priority ? CONTROL_PASSES : 1U;
  if (most <= priority && daemon->passed < passes) {
    daemon->passed++;
    return false;
  }
  daemon->passed = 0;
  const struct rclrt_writer writer =
    daemon_begin_message(daemon, daemon->control, sizeof(daemon->control), RCLRT_STREAM_NONE);
  (void)write_owed(daemon, daemon->control + writer.at); /* there is one */
  daemon->message = daemon->control;
  daemon->message_length = (uint16_t)(writer.at + CONTROL_SIZE);
  return true;
}

/* What else is due, as much as fits, a critical section for each. Only by the context that set `busy`: others
 * may make more due meanwhile, and `owes` goes in the section that finds none. */
static void fill_control(struct rclrt_daemon * daemon)
{
  bool more = true;
  while (more) {
    const size_t at = daemon->message_length + DAEMON_CONTROL_STEP - CONTROL_SIZE;
    const bool room = at + DAEMON_CONTROL_STEP <= sizeof(daemon->control);
    const uint32_t token = daemon_enter(daemon);
    more = room && write_owed(daemon, daemon->control + at);
    daemon->late = more ? daemon->late : 0;
    daemon_leave(daemon, token);
    daemon->message_length = (uint16_t)(more ? at + CONTROL_SIZE : daemon->message_length);
  }
}

/* In a critical section: the most urgent whose stream has budget left, else the most urgent. One
 * step per message whose stream has none. */
static struct rclrt_node * first_with_budget(struct rclrt_daemon * daemon, uint64_t now)
{
  struct rclrt_link * const first = rclrt_queue_first(&daemon->execution);
  struct rclrt_link * link = first;
  while (link != NULL && !rclrt_budget_left(node_of(link)->stream->budget, now)) {
    link = rclrt_queue_next(&daemon->execution, link, node_of(link)->priority);
  }
  return node_of(link != NULL ? link : first);
}

/* In a critical section: the message that may be begun now; or null. */
static struct rclrt_node * next_data(struct rclrt_daemon * daemon, uint64_t now)
{
  struct rclrt_node * node = first_with_budget(daemon, now);
  const struct rclrt_daemon_policy * policy = daemon->policy;
  const bool waits = node != NULL && policy != NULL && !policy->may_begin(daemon, node, now);
  return waits ? NULL : node;
}

/* In a critical section. */
static void pick_data(struct rclrt_daemon * daemon, struct rclrt_node * node, uint64_t now)
{
  rclrt_queue_remove(&daemon->execution, &node->link, node->priority);
  node->state = RCLRT_NODE_SENDING;
  if (node->tries < UINT8_MAX) {
    node->tries++;
  }
  if (!rclrt_sequence_before(node->sequence, node->stream->sent)) {
    node->stream->sent = (uint16_t)(node->sequence + 1U);
  }
  rclrt_budget_use(node->stream->budget, node->length, now);
  node->stream->quiet_since_ns = now; /* silence is counted anew, also while this is on the line */
  daemon->current = node;
  daemon->message = node->bytes;
  daemon->message_length = node->length;
}

/* Is there anything that might be sent, and nobody at it? Asked far more often than there is. If a long
 * message is being cut, first what there is room for. */
static bool may_pick(struct rclrt_daemon * daemon)
{
  uint32_t token = daemon_enter(daemon);
  if (daemon->rest.stream != NULL) {
    void (*const cut)(struct rclrt_daemon *) = daemon->rest.cut;
    daemon_leave(daemon, token);
    cut(daemon);
    token = daemon_enter(daemon);
  }
  const bool may = !daemon->busy && (daemon->owes || daemon->execution.used != 0);
  daemon_leave(daemon, token);
  return may;
}

/* The next message, if any and if nobody else is transmitting. */
static bool pick(struct rclrt_daemon * daemon)
{
  if (!may_pick(daemon)) {
    return false;
  }
  const uint64_t now = daemon_now(daemon);
  const uint32_t token = daemon_enter(daemon);
  bool picked = false;
  if (!daemon->busy) {
    struct rclrt_node * node = next_data(daemon, now);
    picked = pick_control(daemon, node == NULL ? -1 : node->priority);
    if (!picked && node != NULL) {
      pick_data(daemon, node, now);
      picked = true;
    }
    daemon->busy = picked;
  }
  daemon_leave(daemon, token);
  if (picked) {
    daemon->message_at = 0;
    if (daemon->message == daemon->control) {
      fill_control(daemon);
    }
  }
  return picked;
}

/* In a critical section: into Pending_Buffer, oldest first. One step per node, none as a rule. */
static void insert_pending(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  struct rclrt_link * after = daemon->pending.head.previous;
  while (after != &daemon->pending.head && node_of(after)->timestamp_ns > node->timestamp_ns) {
    after = after->previous;
  }
  rclrt_list_insert_after(after, &node->link);
  node->state = RCLRT_NODE_PENDING;
}

/* The message is on the wire: its node goes to the pool or waits for the acknowledgement. */
static void finish(struct rclrt_daemon * daemon)
{
  const uint64_t now = daemon_now(daemon);
  const uint32_t token = daemon_enter(daemon);
  struct rclrt_node * node = daemon->current;
  daemon->current = NULL;
  daemon->busy = false;
  daemon_pay(daemon, (uint32_t)now);
  daemon->counters.sent++;
  if (node != NULL) {
    node->sent_ns = now;
    if (node->settled || !is_reliable(node->stream->id)) {
      daemon_free_node(daemon, node);
    } else {
      insert_pending(daemon, node);
      node->stream->quiet_since_ns = now;
      if (daemon->policy != NULL) {
        daemon->policy->sent(daemon, node, now);
      }
    }
  }
  daemon_leave(daemon, token);
}

/* Hands the next bytes of the message to the transport. False when there are none left. */
static bool write_piece(struct rclrt_daemon * daemon, ptrdiff_t * written)
{
  const struct rclrt_bytes piece = daemon->framing->next_piece(daemon);
  if (piece.size == 0) {
    return false;
  }
  *written = daemon->transport->write(daemon->transport->context, piece.data, piece.size);
  if (*written < 0) {
    daemon_count(daemon, &daemon->counters.write_errors);
  }
  return true;
}

/* Only by the context that set `busy`. Ends when the transport is still at it or nothing is left. */
static void transmit(struct rclrt_daemon * daemon)
{
  do {
    ptrdiff_t written = 1;
    while (written > 0) {
      if (!write_piece(daemon, &written)) {
        break;
      }
      if (written == 0) {
        return; /* rclrt_daemon_transmitted() goes on */
      }
    }
    finish(daemon);
  } while (pick(daemon));
}

void daemon_kick(struct rclrt_daemon * daemon)
{
  if (pick(daemon)) {
    transmit(daemon);
  }
}

void daemon_answered(struct rclrt_daemon * daemon)
{
  const uint32_t token = daemon_enter(daemon);
  daemon_pay(daemon, daemon->defers_since);
  daemon_leave(daemon, token);
  daemon_kick(daemon);
}

void rclrt_daemon_transmitted(struct rclrt_daemon * daemon)
{
  if (daemon != NULL && daemon->busy) {
    transmit(daemon);
    daemon_wake(daemon); /* a heartbeat may be due before a read() that waits would end */
  }
}

/* In a critical section: the stream with this id, or null. */
static struct rclrt_output_stream * find_output(struct rclrt_daemon * daemon, uint8_t id)
{
  for (struct rclrt_link * link = rclrt_list_first(&daemon->outputs); link != NULL;
       link = rclrt_list_next(&daemon->outputs, link)) {
    if (output_of(link)->id == id) {
      return output_of(link);
    }
  }
  return NULL;
}

/* In a critical section: the last of exactly what is missing goes back to the queue, in front. False: nothing
 * does. RCLRT_WINDOW steps. */
static bool requeue_missing(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, struct rclrt_acknack * acknack,
  uint64_t now)
{
  const uint16_t first = acknack->first_unacked;
  struct rclrt_node * last = NULL;
  for (struct rclrt_node * node = stream->first; node != NULL; node = node->later) {
    const uint16_t ahead = (uint16_t)(node->sequence - first);
    const bool asked = ahead < RCLRT_WINDOW && ((unsigned)acknack->missing >> ahead & 1U) != 0;
    /* Others are on their way already. */
    if (
      asked && node->state == RCLRT_NODE_PENDING &&
      (node->tries <= 1 || time_since(now, node->sent_ns) >= daemon->config.answer_ns)) {
      last = node;
    }
  }
  if (last != NULL) { /* next time one before it */
    acknack->missing &= (uint16_t)((1U << (uint16_t)(last->sequence - first)) - 1U);
    daemon_requeue(daemon, last);
    return true;
  }
  const uint16_t behind = (uint16_t)(stream->first_unacked - first);
  const uint32_t given_up = behind < RCLRT_WINDOW ? (UINT32_C(1) << behind) - 1U : UINT16_MAX;
  if ((acknack->missing & given_up) != 0) {
    daemon_owe_heartbeat(daemon, stream); /* the agent has not heard of it */
  }
  return false;
}

/* In a critical section: of message `sequence`, if it was sent once. The longest of late: shorter ones
 * count little by little. */
static void note_round_trip(
  struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream, uint16_t sequence,
  uint64_t now)
{
  const struct rclrt_node * node = stream->first;
  while (node->sequence != sequence) {
    node = node->later;
  }
  if (node->state != RCLRT_NODE_PENDING || node->tries != 1) {
    return;
  }
  const uint64_t trip = time_since(now, node->sent_ns);
  daemon->round_trip_ns = trip > daemon->round_trip_ns
                            ? trip
                            : daemon->round_trip_ns - (daemon->round_trip_ns - trip) / 8U;
}

/* In a critical section: a step, after which all is as if a shorter ACKNACK had come. False: it was the last.
 * S + RCLRT_WINDOW steps of a few instructions. */
static bool acknack_step(struct rclrt_daemon * daemon, struct rclrt_acknack * acknack, uint64_t now)
{
  struct rclrt_output_stream * stream = find_output(daemon, acknack->stream);
  const uint16_t first = acknack->first_unacked;
  daemon->counters.foreign += daemon->greeting ? 1U : 0U;
  if (daemon->greeting || stream == NULL || !is_reliable(stream->id)) {
    return false;
  }
  /* What was never sent cannot be acknowledged. Again and again: we have begun anew, and the agent has not. */
  const bool beyond = rclrt_sequence_before(stream->sent, first);
  daemon->beyond = (uint8_t)(beyond ? daemon->beyond + 1U : 0U);
  daemon->astray = daemon->astray || daemon->beyond >= DAEMON_LATE_COPIES;
  if (beyond) {
    return false;
  }
  /* Another context may have gone further meanwhile. */
  if (!rclrt_sequence_before(stream->first_unacked, first)) {
    return requeue_missing(daemon, stream, acknack, now);
  }
  const uint16_t most = (uint16_t)(stream->first_unacked + SETTLED_AT_ONCE);
  const bool last = !rclrt_sequence_before(most, first);
  if (last && stream->heartbeats == 0) { /* else the answer is to one of them */
    note_round_trip(daemon, stream, (uint16_t)(first - 1U), now);
  }
  daemon_settle_until(daemon, stream, last ? first : most);
  stream->quiet_since_ns = now;
  stream->heartbeats = last ? 0 : stream->heartbeats;
  return !last || acknack->missing != 0;
}

void daemon_on_acknack(
  struct rclrt_daemon * daemon, const struct rclrt_acknack * acknack, uint64_t now)
{
  struct rclrt_acknack left = *acknack;
  bool more = true;
  while (more) { /* ends: each step settles some, or takes one from what is missing */
    const uint32_t token = daemon_enter(daemon);
    more = acknack_step(daemon, &left, now);
    daemon_leave(daemon, token);
  }
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* In a critical section: asks the agent if the stream was silent for too long. Returns when to look again. */
static uint64_t look_after(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint64_t now)
{
  uint64_t wait;
  for (;;) { /* twice at most: then silence has just begun */
    wait = patience(daemon, stream);
    if (time_since(now, stream->quiet_since_ns) < wait) {
      break;
    }
    daemon_owe_heartbeat(daemon, stream);
    struct rclrt_node * oldest = stream->first;
    if (stream->heartbeats >= IN_VAIN && oldest->state == RCLRT_NODE_PENDING) {
      daemon_requeue(daemon, oldest);
    }
    stream->heartbeats = (uint8_t)(stream->heartbeats + (stream->heartbeats < UINT8_MAX ? 1 : 0));
    stream->quiet_since_ns = now;
  }
  return time_after(stream->quiet_since_ns, wait);
}

/* In a critical section: the first stream behind `*passed` others that waits for an acknowledgement; or null. */
static struct rclrt_output_stream * next_waiting(struct rclrt_daemon * daemon, unsigned * passed)
{
  unsigned at = 0;
  for (struct rclrt_link * link = rclrt_list_first(&daemon->outputs); link != NULL;
       link = rclrt_list_next(&daemon->outputs, link)) {
    struct rclrt_output_stream * stream = output_of(link);
    if (at++ >= *passed && is_reliable(stream->id) && stream->first_unacked != stream->sent) {
      *passed = at;
      return stream;
    }
  }
  return NULL;
}

uint64_t rclrt_daemon_tick(struct rclrt_daemon * daemon)
{
  if (daemon == NULL) {
    return UINT64_MAX;
  }
  const uint64_t now = daemon_now(daemon);
  uint64_t due = daemon->policy == NULL ? UINT64_MAX : daemon->policy->tick(daemon, now);
  struct rclrt_output_stream * stream;
  unsigned passed = 0;
  do { /* a critical section for each that waits */
    const uint32_t token = daemon_enter(daemon);
    daemon_pay(daemon, (uint32_t)now);
    stream = next_waiting(daemon, &passed);
    due = stream == NULL ? due : earlier(due, look_after(daemon, stream, now));
    daemon_leave(daemon, token);
  } while (stream != NULL);
  daemon_kick(daemon);
  return due;
}

bool rclrt_daemon_idle(struct rclrt_daemon * daemon)
{
  const uint32_t token = daemon_enter(daemon);
  const bool idle = !daemon->busy && daemon->execution.used == 0 &&
                    rclrt_list_empty(&daemon->pending) && daemon->rest.stream == NULL;
  daemon_leave(daemon, token);
  return idle;
}

bool rclrt_daemon_confirmed(struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream)
{
  const uint32_t token = daemon_enter(daemon);
  const bool confirmed = stream->first_unacked == stream->next && !stream->open;
  daemon_leave(daemon, token);
  return confirmed;
}

/* Few programs need the rest: hold-off, lifetimes, and the paper's mode. */
static bool may_begin(struct rclrt_daemon * daemon, const struct rclrt_node * node, uint64_t now)
{
  const struct rclrt_node * held = daemon->held_for;
  if (held == NULL) {
    return true;
  }
  if (now >= daemon->held_until_ns || !rclrt_budget_left(held->stream->budget, now)) {
    daemon->held_for = NULL;
    return true;
  }
  return daemon->config.mode == RCLRT_MODE_OWN && node->priority >= held->priority;
}

static void sent(struct rclrt_daemon * daemon, struct rclrt_node * node, uint64_t now)
{
  const bool paper = daemon->config.mode == RCLRT_MODE_PAPER;
  if (paper) {
    daemon_owe_heartbeat(daemon, node->stream);
  }
  const uint64_t hold = paper ? daemon->config.heartbeat_ns : daemon->config.hold_off_ns;
  if (hold > 0 && (daemon->held_for == NULL || daemon->held_for->priority <= node->priority)) {
    daemon->held_for = node;
    daemon->held_until_ns = time_after(now, hold);
  }
}

/* Gives up the oldest message that has outlived its time. False when there is none. */
static bool abandon_one(struct rclrt_daemon * daemon, uint64_t now)
{
  const struct rclrt_output_stream * stream = NULL;
  uint16_t first = 0;
  uint16_t count = 0;
  const uint32_t token = daemon_enter(daemon);
  struct rclrt_node * oldest = node_of(rclrt_list_first(&daemon->pending));
  if (oldest != NULL && time_since(now, oldest->timestamp_ns) >= daemon->config.lifetime_ns) {
    struct rclrt_output_stream * of = oldest->stream;
    stream = of;
    first = of->first_unacked;
    count = daemon_abandon(daemon, oldest);
    daemon_owe_heartbeat(daemon, of);
    of->quiet_since_ns = now;
  }
  daemon_leave(daemon, token);
  daemon_report_abandoned(daemon, stream, first, count);
  return stream != NULL;
}

/* Gives up what has outlived its time; when to look again. */
static uint64_t tick(struct rclrt_daemon * daemon, uint64_t now)
{
  const struct rclrt_daemon_config * config = &daemon->config;
  const bool gives_up = config->mode == RCLRT_MODE_OWN && config->lifetime_ns != 0;
  for (uint16_t i = 0; gives_up && i < config->node_count && abandon_one(daemon, now); ++i) {
  }
  uint64_t due = UINT64_MAX;
  const uint32_t token = daemon_enter(daemon);
  const struct rclrt_node * oldest = node_of(rclrt_list_first(&daemon->pending));
  if (gives_up && oldest != NULL) {
    due = time_after(oldest->timestamp_ns, config->lifetime_ns);
  }
  if (daemon->held_for != NULL && now < daemon->held_until_ns) {
    due = earlier(due, daemon->held_until_ns);
  }
  daemon_leave(daemon, token);
  return due;
}

static void recycle(struct rclrt_daemon * daemon, uint64_t now)
{
  const uint64_t lifetime = daemon->config.lifetime_ns;
  struct rclrt_node * oldest = node_of(rclrt_list_first(&daemon->pending));
  if (
    daemon->free_count == 0 && oldest != NULL && lifetime != 0 &&
    time_since(now, oldest->timestamp_ns) >= lifetime) {
    (void)daemon_abandon(daemon, oldest);
  }
}

const struct rclrt_daemon_policy daemon_policy = {may_begin, sent, tick, recycle};

void rclrt_daemon_set_hold_off(struct rclrt_daemon * daemon, uint64_t hold_off_ns)
{
  const uint32_t token = daemon_enter(daemon);
  daemon->config.hold_off_ns = hold_off_ns;
  daemon->policy = &daemon_policy;
  daemon_leave(daemon, token);
}

void rclrt_daemon_set_lifetime(struct rclrt_daemon * daemon, uint64_t lifetime_ns)
{
  const uint32_t token = daemon_enter(daemon);
  daemon->config.lifetime_ns = lifetime_ns;
  daemon->policy = &daemon_policy;
  daemon_leave(daemon, token);
}
