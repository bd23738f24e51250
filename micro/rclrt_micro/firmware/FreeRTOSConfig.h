/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * FreeRTOS as the firmware of the tests uses it: static allocation, no timers or queues of its own.
 */
#pragma once

#include "mps2.h"

#define configCPU_CLOCK_HZ MPS2_HZ
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configMAX_PRIORITIES 6
#define configMINIMAL_STACK_SIZE 128
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configCHECK_FOR_STACK_OVERFLOW 0
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 0
/* QEMU's processor has 8 bits of priority; FreeRTOS looks at that when it starts. */
#define configPRIO_BITS 8
#define configKERNEL_INTERRUPT_PRIORITY 0xFF
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x40
#define configASSERT(condition)  \
  do {                           \
    if (!(condition)) {          \
      mps2_print(__FILE__ "\n"); \
      mps2_exit(4);              \
    }                            \
  } while (0)

#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler
#define xPortSysTickHandler SysTick_Handler
