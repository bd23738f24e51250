/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/cortex_m.h"

#include <string.h>

#define TICKS_PER_S 1000U
#define NS_PER_TICK UINT64_C(1000000)

static volatile uint32_t * at(uintptr_t address) { return (volatile uint32_t *)address; }

#define SYST_CSR (*at(0xE000E010U))
#define SYST_RVR (*at(0xE000E014U))
#define SYST_CVR (*at(0xE000E018U))
#define SCB_ICSR (*at(0xE000ED04U))
#define SCB_SHPR3 (*at(0xE000ED20U))
#define NVIC_ISER(number) (*at(0xE000E100U + 4U * ((number) / 32U)))
#define NVIC_ISPR(number) (*at(0xE000E200U + 4U * ((number) / 32U)))
#define NVIC_IPR(number) (*at(0xE000E400U + ((number) & ~3U)))
#define ICSR_PENDSTSET (1UL << 26)

static struct rclrt_cortex_m * cortex_m_of(void * context) { return context; }

/* Masks what is as urgent as `mask`, and what is less; what was masked already stays so. */
static uint32_t enter(void * context)
{
  uint32_t before;
#if __ARM_ARCH >= 7
  const uint32_t mask = cortex_m_of(context)->config.mask;
  __asm volatile(
    "mrs %0, basepri\n"
    "msr basepri_max, %1\n"
    "isb"
    : "=&r"(before)
    : "r"(mask)
    : "memory");
#else
  (void)context;
  __asm volatile("mrs %0, primask\ncpsid i" : "=&r"(before) : : "memory");
#endif
  return before;
}

static void leave(void * context, uint32_t token)
{
  (void)context;
#if __ARM_ARCH >= 7
  __asm volatile("msr basepri, %0" : : "r"(token) : "memory");
#else
  __asm volatile("msr primask, %0" : : "r"(token) : "memory");
#endif
}

static uint64_t now_ns(void * context)
{
  struct rclrt_cortex_m * cortex_m = context;
  const uint32_t token = enter(context);
  uint64_t ticks = cortex_m->ticks;
  uint32_t value = SYST_CVR;
  if (
    (SCB_ICSR & ICSR_PENDSTSET) != 0) { /* a tick that is not counted yet: read again, behind it */
    value = SYST_CVR;
    ticks++;
  }
  const uint32_t gone = value == 0 ? 0 : SYST_RVR + 1U - value;
  uint64_t now = ticks * NS_PER_TICK + ((uint64_t)gone * cortex_m->ns_per_cycle >> 16U);
  if (now < cortex_m->last_ns) {
    now = cortex_m->last_ns;
  }
  cortex_m->last_ns = now;
  leave(context, token);
  return now;
}

static void pend(void * context, unsigned level)
{
  const unsigned number = cortex_m_of(context)->config.level_interrupts[level];
  NVIC_ISPR(number) = 1UL << (number % 32U);
}

static ptrdiff_t write_line(void * context, const uint8_t * bytes, size_t size)
{
  const struct rclrt_cortex_m_config * config = &cortex_m_of(context)->config;
  return config->transmit(config->line, bytes, size) ? 0 : -1;
}

/* Any interrupt since the last wait ends this one at once: the event register stays set. SysTick
 * ends it in any case, so a caller sees its time limit a tick late at most. */
static ptrdiff_t wait_line(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  (void)bytes;
  (void)capacity;
  if (timeout_ns > 0 && !cortex_m_of(context)->config.spins) {
    __asm volatile("wfe" : : : "memory");
  }
  return 0;
}

static void set_priority(unsigned number, uint8_t priority)
{
  const unsigned shift = number % 4U * 8U;
  NVIC_IPR(number) = (NVIC_IPR(number) & ~(0xFFUL << shift)) | (uint32_t)priority << shift;
}

enum rclrt_ret rclrt_cortex_m_init(
  struct rclrt_cortex_m * cortex_m, const struct rclrt_cortex_m_config * config)
{
  if (
    cortex_m == NULL || config == NULL || config->mask == 0 || config->transmit == NULL ||
    config->levels > RCLRT_LEVELS_MAX || config->systick_hz % TICKS_PER_S != 0 ||
    config->systick_hz < 2U * TICKS_PER_S) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(cortex_m, 0, sizeof(*cortex_m));
  const struct rclrt_port port = {cortex_m, now_ns, enter, leave, pend, NULL};
  const struct rclrt_transport transport = {cortex_m, NULL, NULL, write_line, wait_line};
  cortex_m->port = port;
  cortex_m->transport = transport;
  cortex_m->config = *config;
  cortex_m->ns_per_cycle = (uint32_t)((UINT64_C(1000000000) << 16U) / config->systick_hz);
  for (unsigned i = 0; i < config->levels; ++i) {
    set_priority(config->level_interrupts[i], config->level_priorities[i]);
  }
  SCB_SHPR3 = (SCB_SHPR3 & 0x00FFFFFFUL) | (uint32_t)config->mask << 24U;
  SYST_RVR = config->systick_hz / TICKS_PER_S - 1U;
  SYST_CVR = 0;
  SYST_CSR = 7; /* the processor's clock, with interrupt, on */
  return RCLRT_OK;
}

void rclrt_cortex_m_tick(struct rclrt_cortex_m * cortex_m)
{
  cortex_m->ticks++; /* first: from here on the clock counts on it */
  struct rclrt_executor * executor = cortex_m->executor;
  if (executor == NULL) {
    return; /* a loop spins */
  }
  (void)rclrt_executor_collect(executor);
  (void)rclrt_daemon_tick(executor->daemon);
  const uint64_t now = now_ns(cortex_m);
  for (unsigned i = 0; i < executor->levels; ++i) {
    if (now >= cortex_m->again_ns[i]) {
      cortex_m->again_ns[i] = UINT64_MAX;
      pend(cortex_m, i);
    }
  }
}

void rclrt_cortex_m_level(struct rclrt_cortex_m * cortex_m, unsigned level)
{
  struct rclrt_executor * executor = cortex_m->executor;
  if (executor != NULL) {
    const uint64_t again = rclrt_executor_run_level(executor, level);
    const uint32_t token = enter(cortex_m); /* two words, and the tick looks at them */
    cortex_m->again_ns[level] = again;
    leave(cortex_m, token);
  }
}

enum rclrt_ret rclrt_cortex_m_start(
  struct rclrt_cortex_m * cortex_m, struct rclrt_executor * executor)
{
  if (
    cortex_m == NULL || executor == NULL || executor->levels < 2 ||
    executor->levels > cortex_m->config.levels) {
    return RCLRT_ERR_ARGUMENT;
  }
  for (unsigned i = 0; i < executor->levels; ++i) {
    cortex_m->again_ns[i] = UINT64_MAX;
    const unsigned number = cortex_m->config.level_interrupts[i];
    NVIC_ISER(number) = 1UL << (number % 32U);
  }
  cortex_m->executor = executor; /* SysTick's handler takes it from here */
  for (unsigned i = 0; i < executor->levels; ++i) {
    pend(cortex_m, i); /* what became ready before, also under an interrupt that was not enabled */
  }
  return RCLRT_OK;
}
