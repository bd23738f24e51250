/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mps2.h"

#include <string.h>

static volatile uint32_t * at(uintptr_t address) { return (volatile uint32_t *)address; }

#define UART_DATA (*at(0x40004000U))
#define UART_STATE (*at(0x40004004U)) /* 1: transmitter full, 2: a byte has come */
#define UART_CTRL (*at(0x40004008U))  /* 1: send, 2: receive, 8: interrupt when a byte comes */
#define UART_INT (*at(0x4000400CU))
#define UART_BAUDDIV (*at(0x40004010U))
#define TIMER_CTRL(n) (*at(0x40000000U + 0x1000U * (n)))
#define TIMER_VALUE(n) (*at(0x40000004U + 0x1000U * (n)))
#define TIMER_RELOAD(n) (*at(0x40000008U + 0x1000U * (n)))
#define TIMER_INT(n) (*at(0x4000000CU + 0x1000U * (n)))
#define COUNTER (*at(0x40028018U))
#define NVIC_ISER0 (*at(0xE000E100U))
#define NVIC_IPR(n) (*(volatile uint8_t *)(0xE000E400U + (n)))
#define CPACR (*at(0xE000ED88U))

#define INTERRUPT_UART_RECEIVE 0U
#define INTERRUPT_TIMER 8U /* and the next */
enum
{
  SENDING,
  RECEIVING
};

extern uint32_t stack_begin, stack_end, data_begin, data_end, data_from, bss_begin, bss_end;
#define PAINT 0xA5A5A5A5U

int main(void);
void Reset_Handler(void);
void Fault_Handler(void);
void UartReceive_Handler(void);
void Timer0_Handler(void);
void Timer1_Handler(void);
/* Defined by the programs that use them. */
void SVC_Handler(void) __attribute__((weak, alias("Fault_Handler")));
void PendSV_Handler(void) __attribute__((weak, alias("Fault_Handler")));
void SysTick_Handler(void) __attribute__((weak, alias("Fault_Handler")));
void Level0_Handler(void) __attribute__((weak, alias("Fault_Handler")));
void Level1_Handler(void) __attribute__((weak, alias("Fault_Handler")));
void Level2_Handler(void) __attribute__((weak, alias("Fault_Handler")));
void Level3_Handler(void) __attribute__((weak, alias("Fault_Handler")));

/* The first 16 are the processor's. */
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[48] = {
  (uintptr_t)&stack_end,
  (uintptr_t)Reset_Handler,
  (uintptr_t)Fault_Handler,
  (uintptr_t)Fault_Handler,
  (uintptr_t)Fault_Handler,
  (uintptr_t)Fault_Handler,
  (uintptr_t)Fault_Handler,
  [11] = (uintptr_t)SVC_Handler,
  [14] = (uintptr_t)PendSV_Handler,
  [15] = (uintptr_t)SysTick_Handler,
  [16 + INTERRUPT_UART_RECEIVE] = (uintptr_t)UartReceive_Handler,
  [16 + INTERRUPT_TIMER] = (uintptr_t)Timer0_Handler,
  [16 + INTERRUPT_TIMER + 1] = (uintptr_t)Timer1_Handler,
  [16 + MPS2_FREE_INTERRUPT] = (uintptr_t)Level0_Handler,
  [16 + MPS2_FREE_INTERRUPT + 1] = (uintptr_t)Level1_Handler,
  [16 + MPS2_FREE_INTERRUPT + 2] = (uintptr_t)Level2_Handler,
  [16 + MPS2_FREE_INTERRUPT + 3] = (uintptr_t)Level3_Handler,
};

static uint32_t semihosting(uint32_t operation, const void * argument)
{
  register uint32_t r0 __asm("r0") = operation;
  register const void * r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void mps2_print(const char * text) { (void)semihosting(4, text); }

bool mps2_arguments(char * text, uint32_t size)
{
  uintptr_t block[2] = {(uintptr_t)text, size};
  return semihosting(0x15, block) == 0;
}

uint32_t mps2_static_memory(void)
{
  const uintptr_t data = (uintptr_t)&data_end - (uintptr_t)&data_begin;
  return (uint32_t)(data + (uintptr_t)&bss_end - (uintptr_t)&bss_begin);
}

void mps2_exit(int status)
{
  const uint32_t block[2] = {0x20026, (uint32_t)status};
  (void)semihosting(0x20, block);
  for (;;) { /* the emulator has ended */
  }
}

void Fault_Handler(void)
{
  mps2_print("fault\n");
  mps2_exit(3);
}

void Reset_Handler(void)
{
  CPACR |= 0xF00000U; /* floating point, which interrupts of FreeRTOS save */
  __asm volatile("dsb\nisb" : : : "memory");
  memcpy(&data_begin, &data_from, (size_t)((uintptr_t)&data_end - (uintptr_t)&data_begin));
  memset(&bss_begin, 0, (size_t)((uintptr_t)&bss_end - (uintptr_t)&bss_begin));
  uintptr_t top;
  __asm volatile("mov %0, sp" : "=r"(top));
  for (volatile uint32_t * word = &stack_begin; (uintptr_t)word < top; ++word) {
    *word = PAINT;
  }
  mps2_exit(main());
}

uint32_t mps2_stack_used(void)
{
  const volatile uint32_t * word = &stack_begin;
  while (word < &stack_end && *word == PAINT) {
    word++;
  }
  return (uint32_t)((uintptr_t)&stack_end - (uintptr_t)word);
}

uint32_t mps2_cycles(void) { return COUNTER; }

uint64_t mps2_now_ns(void * context)
{
  static uint32_t last, overflows; /* masked */
  (void)context;
  uint32_t masked;
  __asm volatile("mrs %0, primask\ncpsid i" : "=&r"(masked) : : "memory");
  const uint32_t now = COUNTER;
  overflows += now < last ? 1U : 0U;
  last = now;
  const uint64_t cycles = (uint64_t)overflows << 32U | now;
  __asm volatile("msr primask, %0" : : "r"(masked) : "memory");
  return cycles * (1000000000U / MPS2_HZ);
}

static struct mps2_line line;
static const uint8_t * sending;
static size_t sending_size;
static uint8_t received[32];
static size_t received_size;

static void start_timer(unsigned number, uint32_t cycles)
{
  TIMER_CTRL(number) = 0;
  TIMER_RELOAD(number) = cycles;
  TIMER_VALUE(number) = cycles;
  TIMER_CTRL(number) = 9; /* runs, with its interrupt, again and again */
}

static void stop_timer(unsigned number)
{
  TIMER_CTRL(number) = 0;
  TIMER_INT(number) = 1;
}

static uint32_t byte_cycles(void) { return 10U * MPS2_HZ / line.baud; }

void mps2_line_start(const struct mps2_line * with)
{
  static const unsigned used[] = {INTERRUPT_UART_RECEIVE, INTERRUPT_TIMER, INTERRUPT_TIMER + 1};
  line = *with;
  for (unsigned i = 0; i < 3; ++i) {
    NVIC_IPR(used[i]) = line.priority;
    NVIC_ISER0 = 1UL << used[i];
  }
  UART_BAUDDIV = 16;
  UART_CTRL = line.next == NULL ? 1U | 2U | 8U : 0U;
}

static void send_byte(uint8_t byte)
{
  for (unsigned patience = 1000000; (UART_STATE & 1U) != 0 && patience > 0; --patience) {
  }
  UART_DATA = byte;
}

/* The next byte that has come; else in how many cycles one may. */
static uint32_t take_byte(uint8_t * byte)
{
  if (line.next != NULL) {
    return line.next(byte);
  }
  if ((UART_STATE & 2U) == 0) {
    return UINT32_MAX;
  }
  *byte = (uint8_t)UART_DATA;
  UART_INT = 2;
  return 0;
}

bool mps2_transmit(void * context, const uint8_t * bytes, size_t size)
{
  (void)context;
  sending = bytes;
  sending_size = size;
  start_timer(SENDING, (uint32_t)size * byte_cycles());
  return true;
}

/* As long as its bytes take, a transmission has reached the end of its DMA: now they are there. */
void Timer0_Handler(void)
{
  stop_timer(SENDING);
  if (line.left != NULL) {
    line.left(sending, sending_size);
    if ((TIMER_CTRL(RECEIVING) & 1U) == 0) {
      start_timer(RECEIVING, byte_cycles());
    }
  } else {
    for (size_t i = 0; i < sending_size; ++i) {
      send_byte(sending[i]);
    }
  }
  line.transmitted();
}

void UartReceive_Handler(void)
{
  UART_CTRL = 1U | 2U; /* quiet until the line is idle again */
  UART_INT = 2;
  start_timer(RECEIVING, byte_cycles());
}

/* A DMA that takes a byte a byte's time, and interrupts when it is half full or the line is idle. */
void Timer1_Handler(void)
{
  TIMER_INT(RECEIVING) = 1;
  uint8_t byte = 0;
  const uint32_t wait = take_byte(&byte);
  const bool idle = wait != 0;
  if (!idle) {
    received[received_size++] = byte;
    start_timer(RECEIVING, byte_cycles());
  } else if (wait != UINT32_MAX) {
    start_timer(RECEIVING, wait);
  } else {
    stop_timer(RECEIVING);
  }
  if (received_size == sizeof(received) / 2U || (idle && received_size > 0)) {
    const size_t size = received_size;
    received_size = 0;
    line.received(received, size);
  }
  if (idle && line.next == NULL) {
    UART_CTRL = 1U | 2U | 8U;
    if ((UART_STATE & 2U) != 0) { /* one has come meanwhile: its interrupt is gone */
      UartReceive_Handler();
    }
  }
}
