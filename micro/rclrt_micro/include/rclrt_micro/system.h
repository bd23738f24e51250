/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything a program needs, in one: daemon, session, node, executor, and their storage. For the
 * usual case; each part can be set up on its own instead.
 */
#pragma once

#include "rclrt_micro/client.h"

#define RCLRT_MICRO_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Constant, so it needs no RAM: what it points to does. */
struct rclrt_system
{
  /* As RCLRT_SYSTEM makes it, which checks it: the start does not. After the start `heartbeat_ns`, `answer_ns`
   * and the reserve can be set in `daemon->config`, and two more by rclrt_daemon_set_hold_off() and
   * rclrt_daemon_set_lifetime(). */
  const struct rclrt_daemon_config * config;
  struct rclrt_daemon * daemon;
  struct rclrt_session * session;
  struct rclrt_node_handle * node;
  struct rclrt_executor * executor;
  uint8_t * session_buffer;
  uint16_t session_buffer_size;
  uint16_t timer_count;
  struct rclrt_heap_node ** timer_slots;
  uint8_t * take_buffers;
  int16_t domain; /* of ROS, for `node` */
  /* rclrt_send_long() if there are messages longer than a frame. Otherwise it is not linked. */
  enum rclrt_ret (*send_long)(const struct rclrt_outgoing * out);
};

/* The domain of ROS that RCLRT_SYSTEM takes: that of the agent, unless the program is compiled with
 * another (-DRCLRT_DOMAIN_ID=7). To choose one at its start, start a copy: struct rclrt_system mine =
 * *client; mine.domain = 7; rclrt_system_start_serial(&mine, ...). */
#ifndef RCLRT_DOMAIN_ID
#define RCLRT_DOMAIN_ID RCLRT_DOMAIN_OF_AGENT
#endif

/* A `const struct rclrt_system * const name` with its storage, for a line that is polled and one level:
 *
 *   RCLRT_SYSTEM(client, message_bytes = 256, messages = 8, frames = 16, ring_bytes = 2048, timers = 4)
 *
 *   message_bytes   longest message that is sent or received in one frame, a multiple of 4
 *   messages        that can wait to be sent, or for their acknowledgement
 *   frames          that can wait to be taken ...
 *   ring_bytes      ... in so many bytes, a power of two
 *   timers
 *
 * In this order or any other; a name that is missing or misspelled does not compile. Sizes: see
 * README.md. */
#define RCLRT_SYSTEM(name, a, b, c, d, e) \
  enum                                    \
  {                                       \
    name##_##a,                           \
    name##_##b,                           \
    name##_##c,                           \
    name##_##d,                           \
    name##_##e                            \
  };                                      \
  RCLRT_SYSTEM_STORAGE(name, name##_message_bytes, 1, name##_message_bytes)

/* With three more:
 *
 *   long_bytes      longest message published, and 8 bytes (of a service 32); above message_bytes it goes
 *                   in fragments. At most 65,535
 *   levels          of preemption, 1 for none
 *   polled          1: transport.read gives bytes; 0: an interrupt does, and their buffer is saved */
#define RCLRT_SYSTEM_WITH(name, a, b, c, d, e, f, g, h) \
  enum                                                  \
  {                                                     \
    name##_##a,                                         \
    name##_##b,                                         \
    name##_##c,                                         \
    name##_##d,                                         \
    name##_##e,                                         \
    name##_##f,                                         \
    name##_##g,                                         \
    name##_##h                                          \
  };                                                    \
  RCLRT_SYSTEM_STORAGE(                                 \
    name, name##_long_bytes, name##_levels, name##_polled ? name##_message_bytes : 0)

/* Used by the two above. A buffer of 0 bytes takes one. Without levels the context that reads the line also
 * takes messages, one after the other, so both have one buffer; and the session uses that too, unless it has
 * a long message in its own while others come. */
#define RCLRT_SYSTEM_STORAGE(name, session_bytes, level_count, input_bytes)             \
  _Static_assert((session_bytes) <= UINT16_MAX, "long_bytes: at most 65535");           \
  _Static_assert(                                                                       \
    name##_message_bytes >= 64 && name##_message_bytes % 4 == 0,                        \
    "message_bytes: a multiple of 4, at least 64");                                     \
  _Static_assert(                                                                       \
    name##_messages >= 1 && name##_messages <= UINT16_MAX && name##_frames >= 1 &&      \
      name##_frames <= UINT16_MAX,                                                      \
    "messages, frames: at least 1, at most 65535");                                     \
  _Static_assert(                                                                       \
    (name##_ring_bytes & (name##_ring_bytes - 1)) == 0 &&                               \
      name##_ring_bytes > 2 * (name##_message_bytes + 6),                               \
    "ring_bytes: a power of two, more than 2 * (message_bytes + 6)");                   \
  enum                                                                                  \
  {                                                                                     \
    name##_one_context = (level_count) == 1,                                            \
    name##_one_buffer = name##_one_context && (session_bytes) == name##_message_bytes,  \
  };                                                                                    \
  static struct                                                                         \
  {                                                                                     \
    struct rclrt_daemon daemon;                                                         \
    struct rclrt_session session;                                                       \
    struct rclrt_node_handle node;                                                      \
    struct rclrt_executor executor;                                                     \
    struct rclrt_node nodes[name##_messages];                                           \
    struct rclrt_slot slots[name##_frames];                                             \
    struct rclrt_heap_node * timer_slots[name##_timers];                                \
    uint8_t node_bytes[name##_messages * name##_message_bytes];                         \
    uint8_t ring[name##_ring_bytes];                                                    \
    uint8_t piece[64];                                                                  \
    uint8_t session_buffer[session_bytes];                                              \
    uint8_t take_buffers[name##_one_buffer ? 1 : (level_count) * name##_message_bytes]; \
    uint8_t input[(input_bytes) == 0 || name##_one_context ? 1 : (input_bytes)];        \
  } name##_storage;                                                                     \
  static const struct rclrt_daemon_config name##_config = {                             \
    .nodes = name##_storage.nodes,                                                      \
    .node_count = name##_messages,                                                      \
    .node_bytes = name##_storage.node_bytes,                                            \
    .message_capacity = name##_message_bytes,                                           \
    .slots = name##_storage.slots,                                                      \
    .slot_count = name##_frames,                                                        \
    .ring = name##_storage.ring,                                                        \
    .ring_size = name##_ring_bytes,                                                     \
    .piece = name##_storage.piece,                                                      \
    .piece_size = sizeof(name##_storage.piece),                                         \
    .input = (input_bytes) == 0   ? NULL                                                \
             : name##_one_buffer  ? name##_storage.session_buffer                       \
             : name##_one_context ? name##_storage.take_buffers                         \
                                  : name##_storage.input,                               \
    .input_size = (input_bytes),                                                        \
  };                                                                                    \
  static const struct rclrt_system name##_system = {                                    \
    .config = &name##_config,                                                           \
    .daemon = &name##_storage.daemon,                                                   \
    .session = &name##_storage.session,                                                 \
    .node = &name##_storage.node,                                                       \
    .executor = &name##_storage.executor,                                               \
    .session_buffer = name##_storage.session_buffer,                                    \
    .session_buffer_size = sizeof(name##_storage.session_buffer),                       \
    .timer_count = name##_timers,                                                       \
    .timer_slots = name##_storage.timer_slots,                                          \
    .take_buffers =                                                                     \
      name##_one_buffer ? name##_storage.session_buffer : name##_storage.take_buffers,  \
    .domain = RCLRT_DOMAIN_ID,                                                          \
    .send_long = (session_bytes) > name##_message_bytes ? rclrt_send_long : NULL,       \
  };                                                                                    \
  static const struct rclrt_system * const name = &name##_system

/* Sets everything up, connects and creates the node, all within `timeout_ns`; from then on the session
 * is kept alive (`session->keep_alive_ns`). `key` identifies
 * this client to the agent, not 0. Errors: those of rclrt_daemon_init(), rclrt_session_connect(),
 * rclrt_node_init(). One for each enum rclrt_framing: a program links that one. */
enum rclrt_ret rclrt_system_start_serial(
  const struct rclrt_system * system, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns);
enum rclrt_ret rclrt_system_start_datagram(
  const struct rclrt_system * system, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns);
enum rclrt_ret rclrt_system_start_length(
  const struct rclrt_system * system, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif
