/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pool and what is written into it. Functions that say "in a critical section"
 * are called there; the others are not.
 */
#include <string.h>

#include "daemon_internal.h"

void daemon_free_node(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  if (daemon->held_for == node) {
    daemon->held_for = NULL;
  }
  node->state = RCLRT_NODE_FREE;
  rclrt_list_push_back(&daemon->free, &node->link);
  daemon->free_count++;
}

/* In a critical section: the node need not be sent any more. One being sent is freed afterwards. */
static void settle_node(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  switch (node->state) {
    case RCLRT_NODE_QUEUED:
      rclrt_queue_remove(&daemon->execution, &node->link, node->priority);
      daemon_free_node(daemon, node);
      break;
    case RCLRT_NODE_PENDING:
      rclrt_list_remove(&node->link);
      daemon_free_node(daemon, node);
      break;
    case RCLRT_NODE_SENDING:
      node->settled = true;
      break;
    default:
      break;
  }
}

void daemon_settle_until(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint16_t first)
{
  while (stream->first_unacked != first) {
    struct rclrt_node * node = stream->first;
    stream->first = node->later;
    stream->first_unacked++;
    settle_node(daemon, node);
  }
}

void daemon_requeue(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  if (daemon->held_for == node) {
    daemon->held_for = NULL;
  }
  rclrt_list_remove(&node->link);
  node->state = RCLRT_NODE_QUEUED;
  rclrt_queue_push_front(&daemon->execution, &node->link, node->priority);
  daemon->counters.retransmitted++;
}

/* In a critical section: what was not cut yet of a message is not sent. A number is left out: so an agent
 * that has all pieces so far sees that some are missing. */
static void give_up_rest(struct rclrt_daemon * daemon, struct rclrt_output_stream * stream)
{
  if (stream->open) {
    stream->open = false;
    daemon->rest.stream = NULL;
    stream->next++;
    stream->first_unacked = stream->next;
  }
}

uint16_t daemon_abandon(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  struct rclrt_output_stream * stream = node->stream;
  while (node->more && node->later != NULL) {
    node = node->later;
  }
  const bool more = node->more;
  const uint16_t after = (uint16_t)(node->sequence + 1U);
  const uint16_t count = (uint16_t)(after - stream->first_unacked);
  daemon->counters.abandoned += count;
  daemon_settle_until(daemon, stream, after);
  if (more) { /* its end was not cut yet */
    give_up_rest(daemon, stream);
  }
  if (rclrt_sequence_before(stream->sent, stream->first_unacked)) {
    stream->sent = stream->first_unacked;
  }
  return count;
}

void daemon_report_abandoned(
  struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream, uint16_t first,
  uint16_t count)
{
  for (; count > 0 && daemon->on_abandoned != NULL; --count) {
    daemon->on_abandoned(daemon->on_abandoned_context, stream, first++);
  }
}

void daemon_empty_output(struct rclrt_daemon * daemon, struct rclrt_output_stream * stream)
{
  const uint32_t token = daemon_enter(daemon);
  const uint16_t first = stream->first_unacked;
  const uint16_t count = (uint16_t)(is_reliable(stream->id) ? stream->next - first : 0);
  for (uint16_t i = 0; i < daemon->config.node_count; ++i) {
    if (daemon->config.nodes[i].stream == stream) {
      settle_node(daemon, &daemon->config.nodes[i]);
    }
  }
  give_up_rest(daemon, stream);
  stream->first = NULL;
  stream->next = 0;
  stream->sent = 0;
  stream->first_unacked = 0;
  stream->heartbeat_due = false;
  stream->heartbeats = 0;
  daemon->counters.abandoned += count;
  daemon_leave(daemon, token);
  daemon_report_abandoned(daemon, stream, first, count);
}

void rclrt_daemon_remove_output(struct rclrt_daemon * daemon, struct rclrt_output_stream * stream)
{
  if (daemon == NULL || stream == NULL || stream->link.next == NULL) {
    return;
  }
  daemon_empty_output(daemon, stream);
  const uint32_t token = daemon_enter(daemon);
  rclrt_list_remove(&stream->link);
  daemon_leave(daemon, token);
}

/* In a critical section: the least urgent best effort message below `priority`. A step per node. */
static struct rclrt_node * find_victim(struct rclrt_daemon * daemon, uint8_t priority)
{
  for (unsigned level = 0; level < priority; ++level) {
    struct rclrt_link * const first =
      rclrt_queue_first_between(&daemon->execution, level, level + 1U);
    struct rclrt_link * link = first;
    while (link != NULL) {
      if (!is_reliable(node_of(link)->stream->id)) {
        return node_of(link);
      }
      link = link->next == first ? NULL : link->next;
    }
  }
  return NULL;
}

/* In a critical section: a node out of the pool, or null. */
static struct rclrt_node * take_node(struct rclrt_daemon * daemon, uint8_t priority, uint64_t now)
{
  const struct rclrt_daemon_config * config = &daemon->config;
  if (config->mode == RCLRT_MODE_PAPER && daemon->policy != NULL) {
    daemon->policy->recycle(daemon, now);
  } else if (
    daemon->free_count == 0 ||
    (daemon->free_count <= config->reserve && priority < config->reserve_priority)) {
    struct rclrt_node * victim = find_victim(daemon, priority);
    if (victim == NULL) {
      return NULL;
    }
    daemon->counters.evicted++;
    settle_node(daemon, victim);
  }
  struct rclrt_node * node = node_of(rclrt_list_pop_front(&daemon->free));
  if (node != NULL) {
    daemon->free_count--;
    node->state = RCLRT_NODE_FILLING;
    node->timestamp_ns = now;
    node->tries = 0;
    node->settled = false;
    node->more = false;
    node->priority = priority;
  }
  return node;
}

static bool window_has_room(const struct rclrt_output_stream * stream, size_t messages)
{
  return !is_reliable(stream->id) ||
         (!stream->open &&
          (uint16_t)(stream->next - stream->first_unacked) + messages <= RCLRT_WINDOW);
}

enum rclrt_ret rclrt_daemon_acquire(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t priority,
  struct rclrt_node ** node)
{
  if (daemon == NULL || stream == NULL || node == NULL || priority >= RCLRT_PRIORITIES) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint64_t now = daemon_now(daemon);
  const uint32_t token = daemon_enter(daemon);
  *node = window_has_room(stream, 1) ? take_node(daemon, priority, now) : NULL;
  if (*node == NULL) {
    daemon->counters.refused++;
  } else {
    (*node)->stream = stream;
  }
  daemon_leave(daemon, token);
  return *node == NULL ? RCLRT_ERR_AGAIN : RCLRT_OK;
}

struct rclrt_writer daemon_begin_message(
  const struct rclrt_daemon * daemon, uint8_t * bytes, size_t capacity, uint8_t stream)
{
  struct rclrt_writer writer;
  rclrt_writer_init(&writer, bytes, capacity);
  writer.at = rclrt_message_header_size(daemon->session);
  bytes[0] = daemon->session;
  bytes[1] = stream;
  bytes[2] = 0;
  bytes[3] = 0;
  memcpy(bytes + 4, daemon->key, sizeof(daemon->key)); /* without a key overwritten */
  return writer;
}

struct rclrt_writer rclrt_daemon_writer(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  return daemon_begin_message(
    daemon, node->bytes, daemon->config.message_capacity, node->stream->id);
}

/* In a critical section: the number is given and the place in the queue taken together, so numbers
 * of a stream go out in order. */
static void queue_node(struct rclrt_daemon * daemon, struct rclrt_node * node, size_t length)
{
  struct rclrt_output_stream * stream = node->stream;
  node->length = (uint16_t)length;
  node->sequence = stream->id == RCLRT_STREAM_NONE ? 0 : stream->next++;
  node->bytes[2] = (uint8_t)node->sequence;
  node->bytes[3] = (uint8_t)(node->sequence >> 8);
  node->state = RCLRT_NODE_QUEUED;
  if (is_reliable(stream->id)) {
    node->later = NULL;
    *(stream->first == NULL ? &stream->first : &stream->last->later) = node;
    stream->last = node;
  }
  rclrt_queue_push(&daemon->execution, &node->link, node->priority);
}

enum rclrt_ret rclrt_daemon_commit(
  struct rclrt_daemon * daemon, struct rclrt_node * node, const struct rclrt_writer * writer)
{
  if (daemon == NULL || node == NULL || writer == NULL || node->state != RCLRT_NODE_FILLING) {
    return RCLRT_ERR_ARGUMENT;
  }
  enum rclrt_ret ret = writer->failed ? RCLRT_ERR_STORAGE : RCLRT_OK;
  const uint32_t token = daemon_enter(daemon);
  if (ret == RCLRT_OK && !window_has_room(node->stream, 1)) {
    daemon->counters.refused++;
    ret = RCLRT_ERR_AGAIN;
  }
  if (ret == RCLRT_OK) {
    queue_node(daemon, node, writer->at);
  } else {
    daemon_free_node(daemon, node);
  }
  daemon_leave(daemon, token);
  daemon_kick(daemon);
  return ret == RCLRT_ERR_STORAGE
           ? daemon_short(daemon, "message_capacity", daemon->config.message_capacity, writer->at)
           : ret;
}

uint16_t rclrt_daemon_payload_capacity(const struct rclrt_daemon * daemon)
{
  return (uint16_t)(daemon->config.message_capacity - rclrt_message_header_size(daemon->session));
}

/* What a message of fragments takes. */
struct cuts
{
  size_t piece; /* bytes of a fragment */
  size_t count;
  size_t kept; /* nodes that are not for it */
};

static enum rclrt_ret plan(
  const struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream, uint8_t priority,
  const uint8_t * submessages, size_t size, struct cuts * cuts)
{
  if (daemon == NULL || stream == NULL || submessages == NULL || size == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (!is_reliable(stream->id)) {
    return RCLRT_ERR_UNSUPPORTED; /* peers accept fragments on reliable streams only */
  }
  const struct rclrt_daemon_config * config = &daemon->config;
  cuts->piece = rclrt_daemon_payload_capacity(daemon) - RCLRT_SUBMESSAGE_HEADER;
  cuts->count = (size + cuts->piece - 1) / cuts->piece;
  cuts->kept =
    config->mode == RCLRT_MODE_OWN && priority < config->reserve_priority ? config->reserve : 0;
  return RCLRT_OK;
}

/* A fragment, into its node. Returns the length of the message. */
static size_t write_piece(
  struct rclrt_daemon * daemon, struct rclrt_node * node, const uint8_t * bytes, size_t size,
  bool last)
{
  struct rclrt_submessage fragment;
  memset(&fragment, 0, sizeof(fragment));
  fragment.id = RCLRT_FRAGMENT;
  fragment.flags = last ? RCLRT_FLAG_LAST_FRAGMENT : 0;
  fragment.of.data.data = bytes;
  fragment.of.data.size = size;
  struct rclrt_writer writer = rclrt_daemon_writer(daemon, node);
  rclrt_write_submessage_by(&writer, &fragment, rclrt_payload_bytes);
  return writer.at;
}

/* The first `count` pieces of the message, all or none, at most RCLRT_WINDOW; then `rest` has the others. */
static enum rclrt_ret send_pieces(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, size_t piece, size_t count,
  const struct rclrt_rest * rest)
{
  struct rclrt_node * nodes[RCLRT_WINDOW];
  size_t lengths[RCLRT_WINDOW];
  enum rclrt_ret ret = RCLRT_OK;
  size_t got = 0;
  size_t at = 0;
  for (; got < count; ++got) {
    ret = rclrt_daemon_acquire(daemon, stream, rest->priority, &nodes[got]);
    if (ret != RCLRT_OK) {
      break;
    }
    const size_t size = rest->size - at < piece ? rest->size - at : piece;
    lengths[got] = write_piece(daemon, nodes[got], rest->bytes + at, size, at + size == rest->size);
    at += size;
  }
  const uint32_t token = daemon_enter(daemon);
  const bool continues = at < rest->size;
  const bool taken = daemon->rest.stream != NULL || daemon->rest.cutting;
  if (ret == RCLRT_OK && (!window_has_room(stream, count) || (continues && taken))) {
    daemon->counters.refused++;
    ret = RCLRT_ERR_AGAIN;
  }
  for (size_t i = 0; i < got; ++i) { /* at most RCLRT_WINDOW: nothing may come between them */
    if (ret == RCLRT_OK) {
      nodes[i]->more = i + 1 < got || continues;
      queue_node(daemon, nodes[i], lengths[i]);
    } else {
      daemon_free_node(daemon, nodes[i]);
    }
  }
  if (ret == RCLRT_OK && continues) {
    daemon->rest = *rest;
    daemon->rest.at = at;
    stream->open = true;
  }
  daemon_leave(daemon, token);
  daemon_kick(daemon);
  return ret;
}

/* In a critical section: a node for the next piece, or null. It takes half of the pool at most, so that
 * others can publish meanwhile, and two nodes at least. */
static struct rclrt_node * begin_piece(struct rclrt_daemon * daemon, uint64_t now)
{
  struct rclrt_rest * rest = &daemon->rest;
  struct rclrt_output_stream * stream = rest->stream;
  struct rclrt_node * node = NULL;
  if (stream != NULL) {
    const uint16_t half = daemon->config.node_count / 2U;
    const uint16_t most = half < 2U ? 2U : half < RCLRT_WINDOW ? half : RCLRT_WINDOW;
    const bool room = (uint16_t)(stream->next - stream->first_unacked) < most;
    node = room ? take_node(daemon, rest->priority, now) : NULL;
  }
  if (node != NULL) {
    node->stream = stream;
  }
  rest->cutting = node != NULL;
  return node;
}

/* As much as there is room for. */
static void cut_rest(struct rclrt_daemon * daemon)
{
  const size_t piece = rclrt_daemon_payload_capacity(daemon) - RCLRT_SUBMESSAGE_HEADER;
  const uint64_t now = daemon_now(daemon);
  struct rclrt_rest * rest = &daemon->rest;
  uint32_t token = daemon_enter(daemon);
  struct rclrt_node * node = rest->cutting ? NULL : begin_piece(daemon, now);
  while (node != NULL) { /* ends: each time a piece is cut, or the message is gone */
    const uint8_t * bytes = rest->bytes + rest->at;
    const size_t left = rest->size - rest->at;
    const size_t size = left < piece ? left : piece;
    daemon_leave(daemon, token);
    const size_t length = write_piece(daemon, node, bytes, size, size == left);
    token = daemon_enter(daemon);
    if (rest->stream == NULL) { /* given up meanwhile */
      daemon_free_node(daemon, node);
    } else {
      node->more = size < left;
      queue_node(daemon, node, length);
      rest->at += size;
      if (size == left) {
        rest->stream->open = false;
        rest->stream = NULL;
      }
    }
    node = begin_piece(daemon, now);
  }
  daemon_leave(daemon, token);
}

enum rclrt_ret rclrt_daemon_send_long(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t priority,
  const uint8_t * submessages, size_t size)
{
  struct cuts cuts;
  const enum rclrt_ret ret = plan(daemon, stream, priority, submessages, size, &cuts);
  if (ret != RCLRT_OK) {
    return ret;
  }
  const uint16_t nodes = daemon->config.node_count;
  if (cuts.count <= RCLRT_WINDOW && cuts.count + cuts.kept <= nodes) {
    const struct rclrt_rest none = {NULL, submessages, size, 0, priority, false, NULL};
    return send_pieces(daemon, stream, cuts.piece, cuts.count, &none);
  }
  if (2U + cuts.kept > nodes) {
    return daemon_short(daemon, "node_count", nodes, 2U + cuts.kept);
  }
  const struct rclrt_rest all = {stream, submessages, size, 0, priority, false, cut_rest};
  return send_pieces(daemon, stream, cuts.piece, 2, &all);
}
