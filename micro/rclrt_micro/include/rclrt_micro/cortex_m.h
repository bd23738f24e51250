/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The port for Cortex-M without an operating system: the clock is SysTick, a critical section masks
 * by BASEPRI (on Cortex-M0 by PRIMASK), preemption levels are interrupts that no device uses. What
 * differs between boards is the line: a function that begins a transmission, and the interrupts.
 *
 * The program has these handlers, and says which priority they have:
 *
 *   SysTick_Handler                   rclrt_cortex_m_tick()
 *   DMA or UART, all has been sent    rclrt_daemon_transmitted()
 *   DMA or UART, bytes have come      rclrt_daemon_received()
 *   one free interrupt a level        rclrt_cortex_m_level()
 *
 * The first three have the priority `mask`; the levels have less urgent ones. Interrupts above `mask`
 * are never masked, and may not call this library.
 */
#pragma once

#include "rclrt_micro/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rclrt_cortex_m_config
{
  uint32_t systick_hz; /* what SysTick counts with: the processor's clock, as a rule */
  /* As it stands in BASEPRI and in the priority registers: in the upper bits. Not 0. */
  uint8_t mask;
  /* Interrupt numbers for levels, the least urgent first, and their priorities, falling numbers. */
  uint8_t level_interrupts[RCLRT_LEVELS_MAX];
  uint8_t level_priorities[RCLRT_LEVELS_MAX];
  uint8_t levels; /* of these; 0 for none */
  /* Waits are loops instead of WFE: for emulators whose time stands still while the core sleeps. */
  bool spins;
  /* Begins to send, and returns; the bytes stay until rclrt_daemon_transmitted() is called. False:
   * they are lost. */
  bool (*transmit)(void * line, const uint8_t * bytes, size_t size);
  void * line;
};

struct rclrt_cortex_m
{
  struct rclrt_port port;
  struct rclrt_transport transport;
  struct rclrt_cortex_m_config config;
  struct rclrt_executor * executor; /* whose levels and timers interrupts run; or null */
  volatile uint64_t ticks;          /* by SysTick's handler alone, which nothing here preempts */
  uint64_t last_ns;                 /* in critical sections: what the clock said */
  uint32_t ns_per_cycle;            /* 16 bits behind the point */
  volatile uint64_t again_ns[RCLRT_LEVELS_MAX]; /* when a budget of the level is full again */
};

/* Starts SysTick, 1000 ticks a second. Errors: ARGUMENT (no `mask`, no `transmit`, more levels than
 * there can be, a clock that gives no whole tick). */
enum rclrt_ret rclrt_cortex_m_init(
  struct rclrt_cortex_m * cortex_m, const struct rclrt_cortex_m_config * config);
/* From SysTick's handler. */
void rclrt_cortex_m_tick(struct rclrt_cortex_m * cortex_m);
/* From the handler of a level's interrupt. */
void rclrt_cortex_m_level(struct rclrt_cortex_m * cortex_m, unsigned level);
/* With levels: from now on interrupts run the callbacks. The program goes on, and calls
 * rclrt_session_handle() in its endless loop. Errors: ARGUMENT (fewer levels were configured). */
enum rclrt_ret rclrt_cortex_m_start(
  struct rclrt_cortex_m * cortex_m, struct rclrt_executor * executor);

#ifdef __cplusplus
}
#endif
