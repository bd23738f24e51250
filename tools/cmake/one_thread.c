/* Copyright 2026 The rclrt Authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* Linked into tests that are registered as ONE_THREAD: a thread that one of them starts ends it. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int pthread_create(
  pthread_t * thread, const pthread_attr_t * attributes, void * (*run)(void *), void * argument)
{
  (void)thread, (void)attributes, (void)run, (void)argument;
  fputs(
    "a test registered as ONE_THREAD starts a thread: remove that word in its CMakeLists.txt\n",
    stderr);
  abort();
}
