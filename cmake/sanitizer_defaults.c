/* Copyright 2026 The rclrt Authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* Linked into every program of a sanitizer build: its options, and what it must not report, so that a
 * program behaves the same under ctest, under a script and by hand. The environment (ASAN_OPTIONS and
 * so on) still overrides the options.
 *
 * Only libraries that we do not build are named here. Nothing of ours belongs in this file. */

#ifdef RCLRT_SANITIZE_address

const char * __asan_default_options(void);
const char * __asan_default_options(void)
{
  return "detect_leaks=1:detect_stack_use_after_return=1";
}

const char * __ubsan_default_options(void);
const char * __ubsan_default_options(void) { return "print_stacktrace=1"; }

const char * __lsan_default_options(void);
const char * __lsan_default_options(void) { return "print_suppressions=0"; }

const char * __lsan_default_suppressions(void);
const char * __lsan_default_suppressions(void)
{
  return
    /* Singletons that Fast DDS keeps until the process ends. */
    "leak:libfastdds.so\n"
    /* The interpreter, loaded for its symbols only (see RclrtFindRos.cmake). */
    "leak:libpython3\n"
    /* The tracing library that rcl links registers itself once. */
    "leak:liblttng-ust\n";
}

#endif

#ifdef RCLRT_SANITIZE_thread

const char * __tsan_default_options(void);
const char * __tsan_default_options(void)
{
  /* Code that is not instrumented synchronises in ways the sanitizer does not see; what it calls is
   * ignored, or each hand-over inside the middleware would be taken for a race. */
  return "ignore_noninstrumented_modules=1:second_deadlock_stack=1:halt_on_error=0";
}

const char * __tsan_default_suppressions(void);
const char * __tsan_default_suppressions(void)
{
  return
    /* The middleware and its binding to rmw: threads, queues and pools of their own. */
    "called_from_lib:libfastdds.so\n"
    "called_from_lib:librmw_fastrtps_cpp.so\n"
    "called_from_lib:librmw_fastrtps_shared_cpp.so\n"
    "called_from_lib:librmw_dds_common.so\n"
    /* spdlog keeps its own locks. */
    "called_from_lib:librcl_logging_spdlog.so\n";
}

#endif
