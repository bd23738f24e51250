/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Types of std_msgs, to begin with. A type of your own is a name and two functions: types.c shows
 * how.
 */
#ifndef RCLRT_MICRO__TYPES_H_
#define RCLRT_MICRO__TYPES_H_

#include "rclrt_micro/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The message of each is the C type named. */
extern const struct rclrt_type rclrt_type_bool;    /* bool */
extern const struct rclrt_type rclrt_type_int32;   /* int32_t */
extern const struct rclrt_type rclrt_type_float64; /* double */
extern const struct rclrt_type rclrt_type_string;  /* struct rclrt_string */

/* To send: `text`. To receive: `text` has room for `capacity` bytes; a longer one is refused. */
struct rclrt_string
{
  char * text;
  size_t capacity;
};

#ifdef __cplusplus
}
#endif

#endif /* RCLRT_MICRO__TYPES_H_ */
