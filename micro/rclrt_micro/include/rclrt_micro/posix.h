/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The port for POSIX systems: clock, mutex, and lines over a serial device (or pseudo-terminal),
 * UDP and TCP. For gateways, for development without a board, and for tests. Uses the C library.
 *
 * A program of one thread calls rclrt_executor_spin(). With preemption levels there are threads:
 * rclrt_posix_run() reads the line and collects timers in the calling thread, and each level has a
 * thread of its own, under SCHED_FIFO if priorities are given and permitted.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "rclrt_micro/system.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rclrt_posix_line
{
  RCLRT_POSIX_SERIAL,
  RCLRT_POSIX_UDP,
  RCLRT_POSIX_TCP,
};

struct rclrt_posix
{
  struct rclrt_port port;
  struct rclrt_transport transport;
  enum rclrt_posix_line line;
  const char * device; /* serial: path */
  unsigned long baud;  /* serial: 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600 */
  const char * host;   /* UDP, TCP: IPv4 address or name */
  uint16_t tcp_udp_port;
  int fd;
  int error;          /* errno of the last failure */
  uint32_t oversized; /* datagrams longer than message_capacity, dropped */
  int woken;          /* an eventfd that ends the wait for the line */
  /* Serial: whose messages go here. The kernel's buffer is then kept short, so that what is urgent does
   * not wait behind 4 kB in it. rclrt_posix_start_serial() sets it; null: the buffer is filled. */
  struct rclrt_daemon * daemon;
  uint64_t
    free_ns;   /* when the line has sent what it was given, by its rate; in a critical section */
  bool behind; /* rclrt_daemon_transmitted() is to be called in time; the same */
  /* For critical sections: the number of the thread that has it, as the kernel wants it. It has priority
   * inheritance, not a ceiling: threads outside SCHED_FIFO enter, too, and which is the most urgent is not
   * known. Sections never nest, so a ceiling would give no better bound, and cost two system calls each;
   * this costs none unless a thread waits. */
  uint32_t lock;
  /* Preemption levels. */
  struct rclrt_executor * executor;
  sem_t pended[RCLRT_LEVELS_MAX];
  pthread_t threads[RCLRT_LEVELS_MAX];
  volatile bool stop;
};

/* Texts are the caller's and stay. Errors: ARGUMENT, STATE (no mutex with priority inheritance, or no
 * eventfd). */
enum rclrt_ret rclrt_posix_serial(
  struct rclrt_posix * posix, const char * device, unsigned long baud);
enum rclrt_ret rclrt_posix_udp(struct rclrt_posix * posix, const char * host, uint16_t port);
enum rclrt_ret rclrt_posix_tcp(struct rclrt_posix * posix, const char * host, uint16_t port);
void rclrt_posix_fini(struct rclrt_posix * posix);

/* These and rclrt_system_start_...() in one. `posix` is static, or lives as long as the system. */
enum rclrt_ret rclrt_posix_start_serial(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * device,
  unsigned long baud, uint32_t key, const char * node_name, uint64_t timeout_ns);
enum rclrt_ret rclrt_posix_start_udp(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * host, uint16_t port,
  uint32_t key, const char * node_name, uint64_t timeout_ns);
enum rclrt_ret rclrt_posix_start_tcp(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * host, uint16_t port,
  uint32_t key, const char * node_name, uint64_t timeout_ns);

/* If another thread makes a callback ready (rclrt_guard_trigger()), the wait for the line ends, and
 * the callback runs. Do not do that in a signal handler, which may not take the mutex: let a thread
 * wait for the signal, by sigwait(). */

/* Reads the line and collects timers in this thread until `*stop`, while a thread per level of the
 * executor runs its callbacks. `fifo_priorities`: one a level, rising; null leaves threads as they
 * are created. Errors: ARGUMENT, STATE (a thread could not be had: `posix->error`), TRANSPORT. */
enum rclrt_ret rclrt_posix_run(
  struct rclrt_posix * posix, struct rclrt_executor * executor, const int * fifo_priorities,
  const volatile bool * stop);

#ifdef __cplusplus
}
#endif
