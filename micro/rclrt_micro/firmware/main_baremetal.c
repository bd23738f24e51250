/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The firmware without an operating system: a level is an interrupt, below them a loop.
 */
#include "mps2.h"
#include "program.h"
#include "rclrt_micro/cortex_m.h"

#define LINE 0x40U /* priorities of interrupts: smaller is more urgent */

static struct rclrt_cortex_m board;

void SysTick_Handler(void);
void Level0_Handler(void);
void Level1_Handler(void);
void Level2_Handler(void);
void SysTick_Handler(void) { rclrt_cortex_m_tick(&board); }
void Level0_Handler(void) { rclrt_cortex_m_level(&board, 0); }
void Level1_Handler(void) { rclrt_cortex_m_level(&board, 1); }
void Level2_Handler(void) { rclrt_cortex_m_level(&board, 2); }

static void transmitted(void) { rclrt_daemon_transmitted(program_system->daemon); }
static void received(const uint8_t * bytes, size_t size)
{
  rclrt_daemon_received(program_system->daemon, bytes, size);
}

/* All levels are on the main stack. */
uint32_t program_stack_used(unsigned level) { return level == 0 ? mps2_stack_used() : 0; }

static enum rclrt_ret use_levels(struct rclrt_executor * executor)
{
  return rclrt_cortex_m_start(&board, executor);
}

int main(void)
{
  const struct rclrt_cortex_m_config config = {
    .systick_hz = MPS2_HZ,
    .mask = LINE,
    .level_interrupts = {MPS2_FREE_INTERRUPT, MPS2_FREE_INTERRUPT + 1, MPS2_FREE_INTERRUPT + 2},
    .level_priorities = {0xC0, 0xA0, 0x80},
    .levels = PROGRAM_LEVELS,
    .transmit = mps2_transmit,
  };
  const struct mps2_line line = {
    .transmitted = transmitted, .received = received, .baud = 115200, .priority = LINE};
  if (rclrt_cortex_m_init(&board, &config) != RCLRT_OK) {
    return 2;
  }
  mps2_line_start(&line);
  const enum rclrt_ret ret = program_start(&board.port, &board.transport, use_levels);
  if (ret != RCLRT_OK) {
    mps2_print(rclrt_ret_text(ret));
    return 1;
  }
  for (;;) {
    rclrt_session_handle(program_system->session);
    __asm volatile("wfe");
  }
}
