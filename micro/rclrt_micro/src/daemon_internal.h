/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the daemon share.
 */
#pragma once

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

/* `ns` after `from`; both may be as long as forever. */
uint64_t time_after(uint64_t from, uint64_t ns);
/* How long ago `since` was; 0 if it is later than `now`: the code that has read the clock may have been
 * interrupted by code that has then set `since`. */
uint64_t time_since(uint64_t now, uint64_t since);

/* Ends a read() that waits. Not inside a critical section. */
static inline void daemon_wake(const struct rclrt_daemon * daemon)
{
  if (daemon->port->wake != NULL) {
    daemon->port->wake(daemon->port->context);
  }
}

/* Not inside a critical section. */
void daemon_count(struct rclrt_daemon * daemon, uint32_t * counter);
/* Not inside a critical section. Returns RCLRT_ERR_STORAGE. */
enum rclrt_ret daemon_short(
  struct rclrt_daemon * daemon, const char * what, size_t limit, size_t needed);

static inline bool is_control(uint8_t submessage)
{
  return submessage == RCLRT_ACKNACK || submessage == RCLRT_HEARTBEAT;
}

/* An ACKNACK or HEARTBEAT with its header, and what comes before the next. */
#define DAEMON_CONTROL_STEP 12U

static inline bool is_data(uint8_t submessage)
{
  return submessage == RCLRT_DATA || submessage == RCLRT_FRAGMENT;
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

static inline struct rclrt_slot * slot_of(struct rclrt_link * link)
{
  return link == NULL ? NULL : RCLRT_CONTAINER_OF(link, struct rclrt_slot, link);
}

static inline struct rclrt_sink * sink_of(struct rclrt_link * link)
{
  return RCLRT_CONTAINER_OF(link, struct rclrt_sink, link);
}

static inline struct rclrt_input_stream * input_of(struct rclrt_link * link)
{
  return RCLRT_CONTAINER_OF(link, struct rclrt_input_stream, link);
}

/* In a critical section: an ACKNACK is due. */
static inline void daemon_owe_ack(struct rclrt_daemon * daemon, struct rclrt_input_stream * input)
{
  input->ack_due = true;
  daemon->owes = true;
}

/* In a critical section: a HEARTBEAT is due. */
static inline void daemon_owe_heartbeat(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream)
{
  stream->heartbeat_due = true;
  daemon->owes = true;
}

/* In a critical section: the next of the frames that are held, of which there is one. */
static inline struct rclrt_slot * daemon_pop_held(struct rclrt_input_stream * input)
{
  struct rclrt_slot * slot = slot_of(input->held);
  input->held = slot->link.next;
  return slot;
}

/* What read() has brought to whoever calls this: nobody is to be woken. */
void daemon_take_in(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size);
/* In a critical section; the node is in no list. */
void daemon_free_node(struct rclrt_daemon * daemon, struct rclrt_node * node);
/* In a critical section: everything before `first` is done with. At most RCLRT_WINDOW steps. */
void daemon_settle_until(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint16_t first);
/* In a critical section: gives up `node`, what its stream has before it (the agent can only skip
 * from the front) and the other fragments of its message. Returns how many. At most RCLRT_WINDOW
 * steps. */
uint16_t daemon_abandon(struct rclrt_daemon * daemon, struct rclrt_node * node);
/* In a critical section: what was sent goes to the front of the queue once more. */
void daemon_requeue(struct rclrt_daemon * daemon, struct rclrt_node * node);
/* A writer behind a message header. */
struct rclrt_writer daemon_begin_message(
  const struct rclrt_daemon * daemon, uint8_t * bytes, size_t capacity, uint8_t stream);
/* Sends whatever may be sent, unless somebody is at it. Not inside a critical section. */
void daemon_kick(struct rclrt_daemon * daemon);
/* The stream as new, everything of it queued or waiting dropped; what is reliable is counted and
 * reported. One step per node. Not inside a critical section. */
void daemon_empty_output(struct rclrt_daemon * daemon, struct rclrt_output_stream * stream);
/* Not inside a critical section. */
void daemon_report_abandoned(
  struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream, uint16_t first,
  uint16_t count);
/* In a critical section: all streams as new, everything waiting dropped. */
void daemon_reset_receiving(struct rclrt_daemon * daemon);
/* The line was closed: half a frame that came before is not continued. */
void daemon_line_closed(struct rclrt_daemon * daemon);
/* In a critical section: the peer tells of what is settled (`weight` > 0). If that goes on, it has begun the
 * stream anew: `daemon->astray`. A peer that gets none of our ACKNACKs tells of that, too, so some weigh little. */
void daemon_look_back(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, unsigned weight, uint64_t now);
#define DAEMON_LATE_COPIES 4U
/* Sums up to astray. */
#define DAEMON_LATE_WEIGHT 16U
/* Not inside a critical section: it takes several. Whoever calls it kicks afterwards. */
void daemon_on_acknack(
  struct rclrt_daemon * daemon, const struct rclrt_acknack * acknack, uint64_t now);
/* An ACKNACK or HEARTBEAT wherever in a message. False: it is neither. Not inside a critical
 * section. Whoever calls it kicks afterwards. */
bool daemon_on_control(struct rclrt_daemon * daemon, const struct rclrt_submessage * submessage);
/* In a critical section: the priority of the most urgent stream that owes an acknowledgement, or -1. */
int daemon_ack_priority(struct rclrt_daemon * daemon);
/* In a critical section: nothing is published in answer any more, so an ACKNACK that waited goes now. `now`:
 * the low bits, to see whether that is late. Whoever calls it kicks afterwards. */
void daemon_pay(struct rclrt_daemon * daemon, uint32_t now);
/* daemon_pay(), not in a critical section, and whatever goes is sent. */
void daemon_answered(struct rclrt_daemon * daemon);
/* In a critical section: this sink's, and its stream's. */
void daemon_set_priority(struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t priority);
/* In a critical section: the acknowledgement that an input stream owes, if any. */
bool daemon_next_ack(struct rclrt_daemon * daemon, struct rclrt_acknack * acknack);

/* Hold-off, lifetimes and the paper's mode. All but `tick` in a critical section. */
struct rclrt_daemon_policy
{
  /* May a message be begun, or is an acknowledgement awaited whose negative would have to wait behind it? */
  bool (*may_begin)(struct rclrt_daemon * daemon, const struct rclrt_node * node, uint64_t now);
  /* A reliable message is on the wire. */
  void (*sent)(struct rclrt_daemon * daemon, struct rclrt_node * node, uint64_t now);
  /* What rclrt_daemon_tick() does and returns. */
  uint64_t (*tick)(struct rclrt_daemon * daemon, uint64_t now);
  /* The paper's mode: if the pool is empty, its oldest message that is not acknowledged may be given up. */
  void (*recycle)(struct rclrt_daemon * daemon, uint64_t now);
};
extern const struct rclrt_daemon_policy daemon_policy;

/* How messages go on the line, and are found on it. */
struct rclrt_daemon_framing
{
  /* The next bytes for the transport; none at the end of the message. */
  struct rclrt_bytes (*next_piece)(struct rclrt_daemon * daemon);
  /* Puts bytes into the ring, and tells of each frame whose last byte is among them. */
  void (*take_in)(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size);
  /* Checks and copies a message out of the ring. */
  enum rclrt_ret (*copy_out)(
    struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint8_t * to, size_t capacity,
    uint16_t * length);
};
extern const struct rclrt_daemon_framing daemon_serial, daemon_datagram, daemon_with_length;

/* rclrt_daemon_init() with the framing that its configuration says. `check` tells what is wrong with the
 * configuration; null if the compiler has checked it. */
enum rclrt_ret daemon_init(
  struct rclrt_daemon * daemon, const struct rclrt_daemon_config * config,
  const struct rclrt_port * port, const struct rclrt_transport * transport,
  const struct rclrt_daemon_framing * framing,
  enum rclrt_ret (*check)(
    struct rclrt_shortage * shortage, const struct rclrt_daemon_config * config));
/* A whole frame is in the ring: `found` says where, `preview` its first bytes, unchecked. */
void daemon_on_frame(
  struct rclrt_daemon * daemon, const struct rclrt_slot * found, const uint8_t * preview);

/* A frame that was copied out of the ring. */
struct daemon_frame
{
  enum rclrt_ret ret;
  uint16_t length;
  size_t begin; /* of its first submessage */
  bool sound;
};

/* Not in a critical section. */
void daemon_open_frame(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message, struct daemon_frame * frame);
/* In a critical section: false, and counted, if it is damaged. */
bool daemon_accept_frame(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, const struct daemon_frame * frame);
/* In a critical section: it is not delivered; if its stream is reliable, it is asked for again. */
void daemon_discard(struct rclrt_daemon * daemon, const struct rclrt_slot * slot);
/* In a critical section: false, and counted, if a message of a best effort stream was overtaken. */
bool daemon_in_time(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input, uint16_t sequence, uint64_t now);
/* rclrt_daemon_take() where there is no reader: daemon->take_answer until one is added. */
enum rclrt_ret daemon_take_answer(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message);
/* As daemon->assemble. Not in a critical section. */
bool daemon_assemble(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * input,
  struct rclrt_bytes * submessages);
/* rclrt_daemon_add_input() without storage for fragments. */
void daemon_add_input(struct rclrt_daemon * daemon, struct rclrt_input_stream * stream, uint8_t id);
/* From now on there are readers. In a critical section. */
void daemon_use_readers(struct rclrt_daemon * daemon);

/* Slots and input streams. The first six in a critical section. */
/* The slot is in no list. */
void daemon_free_slot(struct rclrt_daemon * daemon, struct rclrt_slot * slot);
/* For whom is this? One step per sink. */
struct rclrt_sink * daemon_find_sink(
  struct rclrt_daemon * daemon, uint8_t submessage, uint16_t object, uint8_t stream);
struct rclrt_input_stream * daemon_find_input(struct rclrt_daemon * daemon, uint8_t id);
/* Is `sequence` among the next RCLRT_WINDOW of the stream? */
bool daemon_in_window(const struct rclrt_input_stream * input, uint16_t sequence);
/* The frame is not in the ring any more, or not wanted. */
void daemon_forget_waiting(struct rclrt_input_stream * input, uint16_t sequence);
/* The next number is another; what is held under it gets in line. The sink to notify, or null. */
struct rclrt_sink * daemon_advance(struct rclrt_input_stream * input);
void daemon_notify(struct rclrt_sink * sink);
