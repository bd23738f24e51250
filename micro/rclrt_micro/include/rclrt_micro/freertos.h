/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The port for FreeRTOS (V10 and later, static allocation). A program of one task calls
 * rclrt_executor_spin(). With preemption levels a task a level runs callbacks, and
 * rclrt_freertos_run() in a task above them collects timers and answers the agent.
 *
 * The interrupts of the line call rclrt_daemon_transmitted() and rclrt_daemon_received(). Like all that
 * call FreeRTOS, they are not more urgent than configMAX_SYSCALL_INTERRUPT_PRIORITY.
 */
#pragma once

#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>

#include "rclrt_micro/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rclrt_freertos_config
{
  /* Begins to send, and returns; the bytes stay until rclrt_daemon_transmitted() is called. False:
   * they are lost. */
  bool (*transmit)(void * line, const uint8_t * bytes, size_t size);
  void * line;
  /* A finer clock than the tick, never backwards, from any context; or null. */
  uint64_t (*now_ns)(void * line);
};

struct rclrt_freertos
{
  struct rclrt_port port;
  struct rclrt_transport transport;
  struct rclrt_freertos_config config;
  struct rclrt_executor * executor;
  SemaphoreHandle_t event; /* given by wake(); one task waits */
  StaticSemaphore_t event_storage;
  TaskHandle_t levels[RCLRT_LEVELS_MAX]; /* set before callbacks are added; null: no such task */
  TickType_t last_tick;                  /* in critical sections: the tick count, and ... */
  uint32_t overflows;                    /* ... how often it began anew */
};

/* Errors: ARGUMENT. Before the scheduler is started, or after. */
enum rclrt_ret rclrt_freertos_init(
  struct rclrt_freertos * freertos, const struct rclrt_freertos_config * config);
/* Makes the task of a level, for an executor that uses levels: all of them, the least urgent first,
 * before callbacks are added. `priority`: rising with the levels, below that of the task that calls
 * rclrt_freertos_run(). `stack`, `task` are the caller's, and stay. Errors: ARGUMENT, STATE. */
enum rclrt_ret rclrt_freertos_add_level(
  struct rclrt_freertos * freertos, struct rclrt_executor * executor, const char * name,
  UBaseType_t priority, StackType_t * stack, uint32_t stack_words, StaticTask_t * task);
/* Collects timers and answers the agent until `*stop`, while the levels' tasks run callbacks. Errors:
 * ARGUMENT (a level has no task), TRANSPORT. */
enum rclrt_ret rclrt_freertos_run(
  struct rclrt_freertos * freertos, struct rclrt_executor * executor, const volatile bool * stop);

#ifdef __cplusplus
}
#endif
