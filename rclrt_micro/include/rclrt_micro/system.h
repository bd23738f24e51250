/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything a program needs, in one: daemon, session, node, executor, and their storage. For the
 * usual case; each part can be set up on its own instead.
 */
#ifndef RCLRT_MICRO__SYSTEM_H_
#define RCLRT_MICRO__SYSTEM_H_

#include "rclrt_micro/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rclrt_system
{
  struct rclrt_daemon_config config; /* policy may be set before rclrt_system_start() */
  struct rclrt_daemon daemon;
  struct rclrt_session session;
  struct rclrt_node_handle node;
  struct rclrt_executor executor;
  uint8_t * session_buffer;
  uint8_t * take_buffer;
  struct rclrt_heap_node ** timer_slots;
  uint16_t timer_count;
};

/* A static `struct rclrt_system * const name` with storage. `message_bytes`: longest message, also
 * sent in one frame, a multiple of 4; `messages`: that can wait to be sent; `frames`: that can wait
 * to be taken, in `ring_bytes` (a power of two). Sizes: see README.md. */
#define RCLRT_SYSTEM(name, message_bytes, messages, frames, ring_bytes, timers) \
  static struct                                                                 \
  {                                                                             \
    struct rclrt_node nodes[messages];                                          \
    struct rclrt_slot slots[frames];                                            \
    struct rclrt_heap_node * timer_slots[timers];                               \
    uint8_t node_bytes[(messages) * (message_bytes)];                           \
    uint8_t ring[ring_bytes];                                                   \
    uint8_t piece[64];                                                          \
    uint8_t input[message_bytes];                                               \
    uint8_t session_buffer[message_bytes];                                      \
    uint8_t take_buffer[message_bytes];                                         \
  } name##_storage;                                                             \
  static struct rclrt_system name##_system = {                                  \
    .config =                                                                   \
      {                                                                         \
        .nodes = name##_storage.nodes,                                          \
        .node_count = (messages),                                               \
        .node_bytes = name##_storage.node_bytes,                                \
        .message_capacity = (message_bytes),                                    \
        .slots = name##_storage.slots,                                          \
        .slot_count = (frames),                                                 \
        .ring = name##_storage.ring,                                            \
        .ring_size = (ring_bytes),                                              \
        .piece = name##_storage.piece,                                          \
        .piece_size = sizeof(name##_storage.piece),                             \
        .input = name##_storage.input,                                          \
        .input_size = sizeof(name##_storage.input),                             \
      },                                                                        \
    .session_buffer = name##_storage.session_buffer,                            \
    .take_buffer = name##_storage.take_buffer,                                  \
    .timer_slots = name##_storage.timer_slots,                                  \
    .timer_count = (timers),                                                    \
  };                                                                            \
  static struct rclrt_system * const name = &name##_system

/* Sets everything up, connects (for at most `timeout_ns`) and creates the node. `key` identifies
 * this client to the agent, not 0. Errors: those of rclrt_daemon_init(), rclrt_session_connect(),
 * rclrt_node_init(). */
enum rclrt_ret rclrt_system_start(
  struct rclrt_system * system, enum rclrt_framing framing, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif /* RCLRT_MICRO__SYSTEM_H_ */
