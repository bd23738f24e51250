/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The result of every function of rclrt_micro that can fail.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rclrt_ret
{
  RCLRT_OK = 0,
  RCLRT_ERR_ARGUMENT, /* a null pointer, or a value outside its documented range */
  RCLRT_ERR_STORAGE, /* storage is too small: rclrt_daemon::shortage says which and what it takes */
  RCLRT_ERR_AGAIN,   /* no buffer or no room in the window now; try again later */
  RCLRT_ERR_TIMEOUT, /* no answer in time */
  RCLRT_ERR_MALFORMED,   /* bytes that are no valid message */
  RCLRT_ERR_CHECKSUM,    /* a frame whose checksum does not match */
  RCLRT_ERR_AGENT,       /* the agent refused; its status says why */
  RCLRT_ERR_STATE,       /* not now: not connected, or already in use */
  RCLRT_ERR_TRANSPORT,   /* the line cannot be opened, read or written */
  RCLRT_ERR_UNSUPPORTED, /* valid, but not built here */
};

/* A limit that was too small: its name, its value and the value needed. */
struct rclrt_shortage
{
  const char * what;
  uint32_t limit;
  uint32_t needed;
};

/* A short English text for `ret`; never null. Real-time safe. */
const char * rclrt_ret_text(enum rclrt_ret ret);

#ifdef __cplusplus
}
#endif
