/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loads a library that uses ROS 2 apart from the program, as Python does: loading_program LIBRARY JOBS
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void (*find(void * library, const char * name))(void)
{
  union
  {
    void * object;
    void (*function)(void);
  } found;
  found.object = dlsym(library, name);
  if (!found.object) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found.function;
}

int main(int argc, char ** argv)
{
  void * const library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "which library?");
    return 1;
  }
  find(library, "fake_setup")();
  for (int i = atoi(argv[2]); i > 0; --i) {
    find(library, "fake_wait")();
    find(library, "fake_timer_job")();
    find(library, "fake_publish")();
    find(library, "fake_message_job")();
  }
  union
  {
    void (*function)(void);
    long (*counted)(void);
  } calls;
  calls.function = find(library, "fake_calls");
  printf("calls %ld\n", calls.counted());
  return 0;
}
