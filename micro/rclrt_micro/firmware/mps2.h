/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The board that the firmware of the tests runs on: ARM's MPS2 with a Cortex-M7 (AN500), as QEMU
 * emulates it. It has no DMA, and its UART takes no time. Both are modelled by timers: a transmission
 * takes as long as its bytes would on the line, and one byte a byte's time is received.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MPS2_HZ 25000000U

/* Interrupt numbers that no device of this board uses. */
#define MPS2_FREE_INTERRUPT 28U

struct mps2_line
{
  void (*transmitted)(void);
  void (*received)(const uint8_t * bytes, size_t size);
  uint32_t baud;
  uint8_t priority; /* of the line's interrupts */
  /* The other end, if that is in this program; null: the UART. Called by the line's interrupts,
   * one at a time. `left` gets what has left the board. `next` gives the next byte and returns 0, or
   * says in how many cycles there will be one; UINT32_MAX: nobody knows. */
  void (*left)(const uint8_t * bytes, size_t size);
  uint32_t (*next)(uint8_t * byte);
};

/* Starts the line: the functions are called by its interrupts. */
void mps2_line_start(const struct mps2_line * line);
/* Begins to send. `context` is not used. */
bool mps2_transmit(void * context, const uint8_t * bytes, size_t size);
/* 25 MHz, counts up and wraps. */
uint32_t mps2_cycles(void);
/* 64 bits of it; to be asked more often than every 171 s. From any context that `mask` masks. */
uint64_t mps2_now_ns(void * context);
/* What the emulator was given as arguments, with a zero. False: nothing, or too long. */
bool mps2_arguments(char * text, uint32_t size);
/* Bytes of static memory. */
uint32_t mps2_static_memory(void);
/* Ends the emulator. */
void mps2_exit(int status);
/* To the emulator's standard error. */
void mps2_print(const char * text);
/* Bytes of the main stack that were used, ever. */
uint32_t mps2_stack_used(void);
