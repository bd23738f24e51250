/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the daemon share.
 */
#ifndef DAEMON_INTERNAL_H_
#define DAEMON_INTERNAL_H_

#include "rclrt_micro/daemon.h"

static inline uint32_t daemon_enter(struct rclrt_daemon * daemon)
{
  return daemon->port->enter(daemon->port->context);
}

static inline void daemon_leave(struct rclrt_daemon * daemon, uint32_t token)
{
  daemon->port->leave(daemon->port->context, token);
}

static inline uint64_t daemon_now(const struct rclrt_daemon * daemon)
{
  return daemon->port->now_ns(daemon->port->context);
}

/* Not inside a critical section. */
static inline void daemon_count(struct rclrt_daemon * daemon, uint32_t * counter)
{
  const uint32_t token = daemon_enter(daemon);
  (*counter)++;
  daemon_leave(daemon, token);
}

/* Not inside a critical section. */
static inline enum rclrt_ret daemon_short(
  struct rclrt_daemon * daemon, const char * what, size_t limit, size_t needed)
{
  const struct rclrt_shortage shortage = {what, (uint32_t)limit, (uint32_t)needed};
  const uint32_t token = daemon_enter(daemon);
  daemon->shortage = shortage;
  daemon_leave(daemon, token);
  return RCLRT_ERR_STORAGE;
}

static inline bool is_reliable(uint8_t stream) { return stream >= RCLRT_STREAM_RELIABLE; }

static inline struct rclrt_node * node_of(struct rclrt_link * link)
{
  return link == NULL ? NULL : RCLRT_CONTAINER_OF(link, struct rclrt_node, link);
}

static inline struct rclrt_output_stream * output_of(struct rclrt_link * link)
{
  return RCLRT_CONTAINER_OF(link, struct rclrt_output_stream, link);
}

static inline struct rclrt_node ** window_slot(
  struct rclrt_output_stream * stream, uint16_t sequence)
{
  return &stream->window[sequence % RCLRT_WINDOW];
}

/* In a critical section; the node is in no list. */
void daemon_free_node(struct rclrt_daemon * daemon, struct rclrt_node * node);
/* In a critical section: everything before `first` is done with. At most RCLRT_WINDOW steps. */
void daemon_settle_until(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint16_t first);
/* In a critical section: gives up `node`, what its stream has before it (the agent can only skip from
 * the front) and the other fragments of its message. Returns how many. At most RCLRT_WINDOW steps. */
uint16_t daemon_abandon(struct rclrt_daemon * daemon, struct rclrt_node * node);
/* Sends whatever may be sent, unless somebody is at it. Not inside a critical section. */
void daemon_kick(struct rclrt_daemon * daemon);
/* In a critical section: all streams as new, everything queued or waiting dropped. */
void daemon_reset_sending(struct rclrt_daemon * daemon);
void daemon_reset_receiving(struct rclrt_daemon * daemon);
/* The line was closed: half a frame that came before is not continued. */
void daemon_line_closed(struct rclrt_daemon * daemon);
/* Not inside a critical section. */
void daemon_on_acknack(struct rclrt_daemon * daemon, const struct rclrt_acknack * acknack);
/* The same, for an ACKNACK or HEARTBEAT wherever in a message. False: it is neither. */
bool daemon_on_control(struct rclrt_daemon * daemon, const struct rclrt_submessage * submessage);
/* In a critical section: the acknowledgement that an input stream owes, if any. */
bool daemon_next_ack(struct rclrt_daemon * daemon, struct rclrt_acknack * acknack);

/* Slots and input streams. The first five in a critical section. */
void daemon_free_slot(struct rclrt_daemon * daemon, struct rclrt_slot * slot);
struct rclrt_input_stream * daemon_find_input(struct rclrt_daemon * daemon, uint8_t id);
/* Is `sequence` among the next RCLRT_WINDOW of the stream? */
bool daemon_in_window(const struct rclrt_input_stream * input, uint16_t sequence);
/* The frame is not in the ring any more, or not wanted. */
void daemon_forget_waiting(struct rclrt_input_stream * input, uint16_t sequence);
/* The next number is another one; what is held under it gets in line. The sink to notify, or null. */
struct rclrt_sink * daemon_advance(struct rclrt_input_stream * input);
void daemon_notify(struct rclrt_sink * sink);
/* Unstuffs, checks and copies the bytes of a frame out of the ring. */
enum rclrt_ret daemon_copy_out(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint8_t * to, size_t capacity,
  uint16_t * length);

#endif /* DAEMON_INTERNAL_H_ */
