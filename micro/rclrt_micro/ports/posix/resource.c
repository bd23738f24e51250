/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Resources that preemption levels share, where levels are threads.
 */
#define _GNU_SOURCE /* protocols of mutexes */
#include <sched.h>

#include "rclrt_micro/posix.h"

static bool make(pthread_mutexattr_t * attributes, pthread_mutex_t * mutex, int ceiling)
{
  const int protocol = ceiling == 0 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_PROTECT;
  /* With error checks: who takes it twice would otherwise wait for itself. */
  return pthread_mutexattr_settype(attributes, PTHREAD_MUTEX_ERRORCHECK) == 0 &&
         pthread_mutexattr_setprotocol(attributes, protocol) == 0 &&
         (ceiling == 0 || pthread_mutexattr_setprioceiling(attributes, ceiling) == 0) &&
         pthread_mutex_init(mutex, attributes) == 0;
}

enum rclrt_ret rclrt_posix_resource_init(struct rclrt_posix_resource * resource, int ceiling)
{
  pthread_mutexattr_t attributes;
  const bool valid = ceiling == 0 || (ceiling >= sched_get_priority_min(SCHED_FIFO) &&
                                      ceiling <= sched_get_priority_max(SCHED_FIFO));
  if (resource == NULL || !valid) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (pthread_mutexattr_init(&attributes) != 0) {
    return RCLRT_ERR_STATE;
  }
  const bool made = make(&attributes, &resource->mutex, ceiling);
  (void)pthread_mutexattr_destroy(&attributes);
  return made ? RCLRT_OK : RCLRT_ERR_STATE;
}

enum rclrt_ret rclrt_posix_resource_take(struct rclrt_posix_resource * resource)
{
  if (resource == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  return pthread_mutex_lock(&resource->mutex) == 0 ? RCLRT_OK : RCLRT_ERR_STATE;
}

void rclrt_posix_resource_give(struct rclrt_posix_resource * resource)
{
  if (resource != NULL) {
    (void)pthread_mutex_unlock(&resource->mutex);
  }
}

void rclrt_posix_resource_fini(struct rclrt_posix_resource * resource)
{
  if (resource != NULL) {
    (void)pthread_mutex_destroy(&resource->mutex);
  }
}
