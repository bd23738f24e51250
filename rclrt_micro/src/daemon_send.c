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
    settle_node(daemon, *window_slot(stream, stream->first_unacked));
    stream->first_unacked++;
  }
}

uint16_t daemon_abandon(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  struct rclrt_output_stream * stream = node->stream;
  uint16_t last = node->sequence;
  while ((*window_slot(stream, last))->more) {
    last++;
  }
  const uint16_t count = (uint16_t)(last + 1U - stream->first_unacked);
  daemon->counters.abandoned += count;
  daemon_settle_until(daemon, stream, (uint16_t)(last + 1U));
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
    struct rclrt_list * list = &daemon->execution.levels[level];
    for (struct rclrt_link * link = rclrt_list_first(list); link != NULL;
         link = rclrt_list_next(list, link)) {
      if (!is_reliable(node_of(link)->stream->id)) {
        return node_of(link);
      }
    }
  }
  return NULL;
}

/* In a critical section: a node out of the pool, or null. */
static struct rclrt_node * take_node(struct rclrt_daemon * daemon, uint8_t priority, uint64_t now)
{
  const struct rclrt_daemon_config * config = &daemon->config;
  if (config->mode == RCLRT_MODE_PAPER) {
    struct rclrt_node * oldest = node_of(rclrt_list_first(&daemon->pending));
    if (
      daemon->free_count == 0 && oldest != NULL && config->lifetime_ns != 0 &&
      time_since(now, oldest->timestamp_ns) >= config->lifetime_ns) {
      (void)daemon_abandon(daemon, oldest);
    }
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
         (uint16_t)(stream->next - stream->first_unacked) + messages <= RCLRT_WINDOW;
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
  struct rclrt_message_header header = {daemon->session, stream, 0, {0, 0, 0, 0}};
  memcpy(header.key, daemon->key, sizeof(header.key));
  struct rclrt_writer writer;
  rclrt_writer_init(&writer, bytes, capacity);
  rclrt_write_message_header(&writer, &header);
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
    *window_slot(stream, node->sequence) = node;
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

void rclrt_daemon_cancel(struct rclrt_daemon * daemon, struct rclrt_node * node)
{
  if (daemon == NULL || node == NULL) {
    return;
  }
  const uint32_t token = daemon_enter(daemon);
  if (node->state == RCLRT_NODE_FILLING) {
    daemon_free_node(daemon, node);
  }
  daemon_leave(daemon, token);
}

uint16_t rclrt_daemon_payload_capacity(const struct rclrt_daemon * daemon)
{
  return (uint16_t)(daemon->config.message_capacity - rclrt_message_header_size(daemon->session));
}

enum rclrt_ret rclrt_daemon_send_fragmented(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t priority,
  const uint8_t * submessages, size_t size)
{
  if (daemon == NULL || stream == NULL || submessages == NULL || size == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (!is_reliable(stream->id)) {
    return RCLRT_ERR_UNSUPPORTED; /* peers accept fragments on reliable streams only */
  }
  const size_t piece = rclrt_daemon_payload_capacity(daemon) - RCLRT_SUBMESSAGE_HEADER;
  const size_t count = (size + piece - 1) / piece;
  if (count > RCLRT_WINDOW) {
    return daemon_short(daemon, "RCLRT_WINDOW", RCLRT_WINDOW, count);
  }
  const struct rclrt_daemon_config * config = &daemon->config;
  const size_t kept =
    config->mode == RCLRT_MODE_OWN && priority < config->reserve_priority ? config->reserve : 0;
  if (count + kept > config->node_count) {
    return daemon_short(daemon, "node_count", config->node_count, count + kept);
  }
  struct rclrt_node * nodes[RCLRT_WINDOW];
  size_t lengths[RCLRT_WINDOW];
  enum rclrt_ret ret = RCLRT_OK;
  size_t got = 0;
  for (; got < count; ++got) {
    ret = rclrt_daemon_acquire(daemon, stream, priority, &nodes[got]);
    if (ret != RCLRT_OK) {
      break;
    }
    const size_t at = got * piece;
    struct rclrt_submessage fragment;
    memset(&fragment, 0, sizeof(fragment));
    fragment.id = RCLRT_FRAGMENT;
    fragment.flags = got + 1 == count ? RCLRT_FLAG_LAST_FRAGMENT : 0;
    fragment.of.data.data = submessages + at;
    fragment.of.data.size = got + 1 == count ? size - at : piece;
    struct rclrt_writer writer = rclrt_daemon_writer(daemon, nodes[got]);
    rclrt_write_submessage_by(&writer, &fragment, rclrt_payload_bytes);
    lengths[got] = writer.at;
  }
  const uint32_t token = daemon_enter(daemon);
  if (ret == RCLRT_OK && !window_has_room(stream, count)) {
    daemon->counters.refused++;
    ret = RCLRT_ERR_AGAIN;
  }
  for (size_t i = 0; i < got; ++i) { /* at most RCLRT_WINDOW: nothing may come between them */
    if (ret == RCLRT_OK) {
      nodes[i]->more = i + 1 < got;
      queue_node(daemon, nodes[i], lengths[i]);
    } else {
      daemon_free_node(daemon, nodes[i]);
    }
  }
  daemon_leave(daemon, token);
  daemon_kick(daemon);
  return ret;
}
