/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/freertos.h"

#include <string.h>

#define NS_PER_TICK (UINT64_C(1000000000) / configTICK_RATE_HZ)
/* How soon rclrt_freertos_run() sees `stop`. */
#define MOST_NS UINT64_C(100000000)

static struct rclrt_freertos * freertos_of(void * context) { return context; }

/* The macros for interrupts save what was masked before, so they do for tasks as well. A task that
 * masks the tick cannot be preempted either. */
static uint32_t enter(void * context)
{
  (void)context;
  return (uint32_t)portSET_INTERRUPT_MASK_FROM_ISR();
}

static void leave(void * context, uint32_t token)
{
  (void)context;
  portCLEAR_INTERRUPT_MASK_FROM_ISR(token);
}

/* The tick count has 32 bits as a rule: its overflows are counted here, by whoever asks first. */
static uint64_t now_ns(void * context)
{
  struct rclrt_freertos * freertos = context;
  if (freertos->config.now_ns != NULL) {
    return freertos->config.now_ns(freertos->config.line);
  }
  const uint32_t token = enter(context);
  const TickType_t tick = xTaskGetTickCountFromISR();
  if (tick < freertos->last_tick) {
    freertos->overflows++;
  }
  freertos->last_tick = tick;
  const uint64_t ticks = (uint64_t)freertos->overflows * ((uint64_t)portMAX_DELAY + 1U) + tick;
  leave(context, token);
  return ticks * NS_PER_TICK;
}

/* Rounded up: a wait that ends too early would be repeated at once. */
static TickType_t ticks_of(uint64_t ns)
{
  const uint64_t ticks = ns / NS_PER_TICK + (ns % NS_PER_TICK != 0 ? 1U : 0U);
  return ticks < portMAX_DELAY ? (TickType_t)ticks : portMAX_DELAY;
}

static void pend(void * context, unsigned level)
{
  TaskHandle_t task = freertos_of(context)->levels[level];
  if (task == NULL) {
    return; /* it looks at what is ready when it begins */
  }
  if (xPortIsInsideInterrupt() == pdTRUE) {
    BaseType_t woken = pdFALSE;
    vTaskNotifyGiveFromISR(task, &woken);
    portYIELD_FROM_ISR(woken);
  } else {
    (void)xTaskNotifyGive(task);
  }
}

static void wake(void * context)
{
  struct rclrt_freertos * freertos = context;
  if (xPortIsInsideInterrupt() == pdTRUE) {
    BaseType_t woken = pdFALSE;
    (void)xSemaphoreGiveFromISR(freertos->event, &woken);
    portYIELD_FROM_ISR(woken);
  } else {
    (void)xSemaphoreGive(freertos->event);
  }
}

static ptrdiff_t write_line(void * context, const uint8_t * bytes, size_t size)
{
  const struct rclrt_freertos_config * config = &freertos_of(context)->config;
  return config->transmit(config->line, bytes, size) ? 0 : -1;
}

/* The semaphore stays given until it is taken: what came before the wait ends it at once. */
static ptrdiff_t wait_line(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  (void)bytes;
  (void)capacity;
  (void)xSemaphoreTake(freertos_of(context)->event, ticks_of(timeout_ns));
  return 0;
}

enum rclrt_ret rclrt_freertos_init(
  struct rclrt_freertos * freertos, const struct rclrt_freertos_config * config)
{
  if (freertos == NULL || config == NULL || config->transmit == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(freertos, 0, sizeof(*freertos));
  const struct rclrt_port port = {freertos, now_ns, enter, leave, pend, wake};
  const struct rclrt_transport transport = {freertos, NULL, NULL, write_line, wait_line};
  freertos->port = port;
  freertos->transport = transport;
  freertos->config = *config;
  freertos->event = xSemaphoreCreateBinaryStatic(&freertos->event_storage);
  return RCLRT_OK;
}

static void run_level(void * argument)
{
  struct rclrt_freertos * freertos = argument;
  unsigned number = 0;
  while (freertos->levels[number] != xTaskGetCurrentTaskHandle()) {
    number++; /* ends: this task is among them */
  }
  for (;;) {
    const uint64_t again = rclrt_executor_run_level(freertos->executor, number);
    const uint64_t now = now_ns(freertos);
    (void)ulTaskNotifyTake(
      pdTRUE, again == UINT64_MAX ? portMAX_DELAY : ticks_of(again > now ? again - now : 0));
  }
}

enum rclrt_ret rclrt_freertos_add_level(
  struct rclrt_freertos * freertos, struct rclrt_executor * executor, const char * name,
  UBaseType_t priority, StackType_t * stack, uint32_t stack_words, StaticTask_t * task)
{
  if (
    freertos == NULL || executor == NULL || stack == NULL || task == NULL ||
    executor->port != &freertos->port) {
    return RCLRT_ERR_ARGUMENT;
  }
  unsigned number = 0;
  while (number < executor->levels && freertos->levels[number] != NULL) {
    number++;
  }
  if (number == executor->levels) {
    return RCLRT_ERR_ARGUMENT;
  }
  freertos->executor = executor;
  /* It may run before its handle is written here, and looks for it: not before the scheduler may
   * switch again. */
  vTaskSuspendAll();
  freertos->levels[number] =
    xTaskCreateStatic(run_level, name, stack_words, freertos, priority, stack, task);
  (void)xTaskResumeAll();
  return freertos->levels[number] != NULL ? RCLRT_OK : RCLRT_ERR_STATE;
}

enum rclrt_ret rclrt_freertos_run(
  struct rclrt_freertos * freertos, struct rclrt_executor * executor, const volatile bool * stop)
{
  if (freertos == NULL || executor == NULL || stop == NULL || executor->levels < 2) {
    return RCLRT_ERR_ARGUMENT;
  }
  for (unsigned i = 0; i < executor->levels; ++i) {
    if (freertos->levels[i] == NULL) {
      return RCLRT_ERR_ARGUMENT;
    }
  }
  enum rclrt_ret ret = RCLRT_OK;
  while (ret == RCLRT_OK && !*stop) {
    const uint64_t next = rclrt_executor_collect(executor);
    const uint64_t now = now_ns(freertos);
    const uint64_t wait = next <= now ? 0 : next - now;
    ret = rclrt_executor_serve(executor, wait < MOST_NS ? wait : MOST_NS);
  }
  return ret;
}
