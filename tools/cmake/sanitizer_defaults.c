/* Copyright 2026 The rclrt Authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* Linked into every program of a sanitizer build: its options, so that a program behaves the same under
 * ctest, under a script and by hand. The environment (ASAN_OPTIONS and so on) overrides them.
 *
 * A suppression would go here too (__lsan_default_suppressions, __tsan_default_suppressions), with its
 * reason, and only for a library that we do not build. */

#define _GNU_SOURCE /* syscall() */
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The runtime calls its sched_yield() in a loop until it gets a lock of its own, and the linker makes this of it. The
 * system call lets no less urgent thread run: if a real-time thread waits like that on every CPU that a less urgent
 * holder of the lock may use, the lock is never given back. */
unsigned long __wrap__ZN11__sanitizer20internal_sched_yieldEv(void);
__attribute__((no_sanitize("address", "thread", "undefined"))) unsigned long
__wrap__ZN11__sanitizer20internal_sched_yieldEv(void)
{
  const struct timespec pause = {0, 20000};
  return (unsigned long)syscall(SYS_nanosleep, &pause, NULL);
}

#ifdef RCLRT_SANITIZE_address

/* rclcpp gives the size 1 for whatever rcl frees through its allocator (retyped_deallocate()). */
#ifdef RCLRT_USES_RCLCPP
#define OF_RCLCPP ":new_delete_type_mismatch=0"
#else
#define OF_RCLCPP ""
#endif

const char * __asan_default_options(void);
const char * __asan_default_options(void)
{
  return "detect_leaks=1:detect_stack_use_after_return=1" OF_RCLCPP;
}

#ifdef RCLRT_USES_RCLCPP
/* Two threads that use a type for the first time at once both load its library, and one handle is lost. */
const char * __lsan_default_suppressions(void);
const char * __lsan_default_suppressions(void)
{
  return "leak:get_typesupport_handle_function<"; /* rosidl_typesupport_c, _cpp */
}
#endif

const char * __ubsan_default_options(void);
const char * __ubsan_default_options(void) { return "print_stacktrace=1"; }

#endif

#ifdef RCLRT_SANITIZE_thread

const char * __tsan_default_options(void);
const char * __tsan_default_options(void)
{
  /* The middleware is not instrumented: the sanitizer does not see how its threads synchronise, and
   * would take each hand-over inside it for a race. What such code calls is ignored. A program ends a
   * second later by default, in wait of races with threads that outlive main(): hundreds of tests. */
  return "ignore_noninstrumented_modules=1:second_deadlock_stack=1:atexit_sleep_ms=100";
}

#endif
