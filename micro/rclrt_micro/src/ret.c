/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/ret.h"

const char * rclrt_ret_text(enum rclrt_ret ret)
{
  switch (ret) {
    case RCLRT_OK:
      return "ok";
    case RCLRT_ERR_ARGUMENT:
      return "null pointer or value out of range";
    case RCLRT_ERR_STORAGE:
      return "storage too small";
    case RCLRT_ERR_AGAIN:
      return "no free buffer or window full; try again";
    case RCLRT_ERR_TIMEOUT:
      return "no answer in time";
    case RCLRT_ERR_MALFORMED:
      return "malformed message";
    case RCLRT_ERR_CHECKSUM:
      return "checksum mismatch";
    case RCLRT_ERR_AGENT:
      return "refused by the agent";
    case RCLRT_ERR_STATE:
      return "wrong state";
    case RCLRT_ERR_TRANSPORT:
      return "transport failed";
    case RCLRT_ERR_UNSUPPORTED:
      return "not supported";
  }
  return "unknown return code";
}
