/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions that rclrt_micro needs from the machine. A port fills this in; see
 * docs/how-to/port-to-a-board.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All times are nanoseconds. */
#define RCLRT_US(us) ((uint64_t)(us) * 1000U)
#define RCLRT_MS(ms) ((uint64_t)(ms) * 1000000U)
#define RCLRT_S(s) ((uint64_t)(s) * 1000000000U)

struct rclrt_port
{
  void * context; /* handed to every function below */
  /* Nanoseconds since some moment, never backwards. From any context. */
  uint64_t (*now_ns)(void * context);
  /* Between enter() and leave() no other context of rclrt_micro runs: interrupts that call into it
   * are masked, or a mutex with priority inheritance is held. Sections are short (each function
   * states its worst case) and never nested. leave() gets what enter() returned. */
  uint32_t (*enter)(void * context);
  void (*leave)(void * context, uint32_t token);
  /* Only for preemption levels, else null: cause rclrt_executor_run_level(executor, level) to run
   * as soon as nothing at this level or above is running. From any context. */
  void (*pend)(void * context, unsigned level);
  /* Ends a read() that waits, or the next one if none waits now. Called when a callback becomes
   * ready, and by the completion and reception handlers. Null where each of these ends read() by
   * itself (interrupts and WFE) or where there is one thread. From any context. */
  void (*wake)(void * context);
};

/* The line to the agent. */
struct rclrt_transport
{
  void * context;
  /* True when the line is ready for use. */
  bool (*open)(void * context);
  void (*close)(void * context); /* also ends a write() under way: see the guide */
  /* Send. Returns `size` when the bytes are on their way and may be overwritten; 0 when they are
   * still being read (DMA): rclrt_daemon_transmitted() is then called once, when they are not; a
   * negative number when they are lost. A DMA that can hang needs a time limit in the port, which
   * then calls rclrt_daemon_transmitted() as well. Called from reception too, for messages that an
   * acknowledgement lets go: if reception is an interrupt, it must not wait for the line. */
  ptrdiff_t (*write)(void * context, const uint8_t * bytes, size_t size);
  /* Receive at most `capacity` bytes, a datagram at a time on a line of datagrams, waiting at most
   * `timeout_ns`. Returns the bytes, 0 for none, a negative number when the line is broken. A port
   * that receives by interrupt calls rclrt_daemon_received() from there instead, and only waits for
   * an interrupt here. An interrupt that came just before the call must end the wait too. */
  ptrdiff_t (*read)(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns);
};

#ifdef __cplusplus
}
#endif
