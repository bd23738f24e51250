/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The firmware on FreeRTOS: a level is a task, above them the task of the line.
 */
#include "mps2.h"
#include "program.h"
#include "rclrt_micro/freertos.h"

#define STACK 512U  /* words of each task */
#define PRIORITY 1U /* of the least urgent level */

static struct rclrt_freertos kernel;
static StackType_t stacks[PROGRAM_LEVELS + 1U][STACK];
static StaticTask_t tasks[PROGRAM_LEVELS + 1U];
static TaskHandle_t line_task;

static void transmitted(void) { rclrt_daemon_transmitted(program_system->daemon); }
static void received(const uint8_t * bytes, size_t size)
{
  rclrt_daemon_received(program_system->daemon, bytes, size);
}

uint32_t program_stack_used(unsigned level)
{
  const TaskHandle_t task = level < PROGRAM_LEVELS ? kernel.levels[level] : line_task;
  return (uint32_t)((STACK - uxTaskGetStackHighWaterMark(task)) * sizeof(StackType_t));
}

static enum rclrt_ret use_levels(struct rclrt_executor * executor)
{
  static const char * const names[PROGRAM_LEVELS] = {"low", "middle", "high"};
  enum rclrt_ret ret = RCLRT_OK;
  for (unsigned i = 0; i < PROGRAM_LEVELS && ret == RCLRT_OK; ++i) {
    ret = rclrt_freertos_add_level(
      &kernel, executor, names[i], PRIORITY + i, stacks[i], STACK, &tasks[i]);
  }
  return ret;
}

static void run(void * context)
{
  static const bool never;
  const struct mps2_line line = {
    .transmitted = transmitted,
    .received = received,
    .baud = 115200,
    .priority = configMAX_SYSCALL_INTERRUPT_PRIORITY,
  };
  (void)context;
  mps2_line_start(&line);
  enum rclrt_ret ret = program_start(&kernel.port, &kernel.transport, use_levels);
  if (ret == RCLRT_OK) {
    ret = rclrt_freertos_run(&kernel, program_system->executor, &never);
  }
  mps2_print(rclrt_ret_text(ret));
  mps2_exit(1);
}

int main(void)
{
  const struct rclrt_freertos_config config = {.transmit = mps2_transmit, .now_ns = mps2_now_ns};
  if (rclrt_freertos_init(&kernel, &config) != RCLRT_OK) {
    return 2;
  }
  line_task = xTaskCreateStatic(
    run, "line", STACK, NULL, PRIORITY + PROGRAM_LEVELS, stacks[PROGRAM_LEVELS],
    &tasks[PROGRAM_LEVELS]);
  vTaskStartScheduler();
  return 2;
}
