/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An agent inside the firmware, at the other end of a line without loss: for programs whose time is the
 * emulator's, which nothing outside of it keeps. It knows one client. What comes from a writer goes back, as
 * 10 bytes, to the reader that was created in the same place among readers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inner_agent
{
  uint32_t answer_cycles; /* until a control message is answered */
  uint32_t reply_cycles;  /* until data goes back */
  bool acknowledges;      /* every reliable message, not heartbeats alone */
  uint32_t lose_every;    /* so many reliable messages one is taken for lost, once; 0: none */
};

void inner_agent_start(const struct inner_agent * with);
/* As struct mps2_line wants them. */
void inner_agent_take(const uint8_t * bytes, size_t size);
uint32_t inner_agent_next(uint8_t * byte);
