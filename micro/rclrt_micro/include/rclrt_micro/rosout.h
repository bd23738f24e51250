/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages for people, on /rosout: `ros2 topic echo /rosout`, rqt_console. Optional: a program that
 * does not use it does not link it.
 */
#ifndef RCLRT_MICRO__ROSOUT_H_
#define RCLRT_MICRO__ROSOUT_H_

#include "rclrt_micro/client.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rclrt_log_level /* numbers of rcl_interfaces/Log */
{
  RCLRT_LOG_DEBUG = 10,
  RCLRT_LOG_INFO = 20,
  RCLRT_LOG_WARN = 30,
  RCLRT_LOG_ERROR = 40,
  RCLRT_LOG_FATAL = 50,
};

struct rclrt_rosout
{
  struct rclrt_publisher publisher;
  const char * node;
  uint8_t least; /* less urgent ones are not sent; RCLRT_LOG_INFO */
  uint32_t lost; /* for which there was no room */
};

/* Errors: those of rclrt_publisher_init(). */
enum rclrt_ret rclrt_rosout_init(
  struct rclrt_rosout * rosout, struct rclrt_node_handle * node, uint8_t priority);
enum rclrt_ret rclrt_rosout_fini(struct rclrt_rosout * rosout);
/* From any callback; never waits. The time is the agent's after rclrt_session_synchronize(), before
 * that the board's. What finds no room is lost and counted, and an error is returned as well: those of
 * rclrt_publish(). */
enum rclrt_ret rclrt_log(
  struct rclrt_rosout * rosout, enum rclrt_log_level level, const char * text, const char * file,
  const char * function, uint32_t line);

/* RCLRT_LOG(&rosout, WARN, "too hot"): with the place where it stands. */
#define RCLRT_LOG(rosout, level, text) \
  rclrt_log(rosout, RCLRT_LOG_##level, text, __FILE__, __func__, __LINE__)

#ifdef __cplusplus
}
#endif

#endif /* RCLRT_MICRO__ROSOUT_H_ */
