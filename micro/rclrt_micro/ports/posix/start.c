/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A line of this port and a system on it, in one call.
 */
#include "rclrt_micro/posix.h"

enum rclrt_ret rclrt_posix_start_serial(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * device,
  unsigned long baud, uint32_t key, const char * node_name, uint64_t timeout_ns)
{
  const enum rclrt_ret ret = rclrt_posix_serial(posix, device, baud);
  if (ret == RCLRT_OK && system != NULL) {
    posix->daemon = system->daemon;
  }
  return ret == RCLRT_OK ? rclrt_system_start_serial(
                             system, &posix->port, &posix->transport, key, node_name, timeout_ns)
                         : ret;
}

enum rclrt_ret rclrt_posix_start_udp(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * host, uint16_t port,
  uint32_t key, const char * node_name, uint64_t timeout_ns)
{
  const enum rclrt_ret ret = rclrt_posix_udp(posix, host, port);
  return ret == RCLRT_OK ? rclrt_system_start_datagram(
                             system, &posix->port, &posix->transport, key, node_name, timeout_ns)
                         : ret;
}

enum rclrt_ret rclrt_posix_start_tcp(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * host, uint16_t port,
  uint32_t key, const char * node_name, uint64_t timeout_ns)
{
  const enum rclrt_ret ret = rclrt_posix_tcp(posix, host, port);
  return ret == RCLRT_OK ? rclrt_system_start_length(
                             system, &posix->port, &posix->transport, key, node_name, timeout_ns)
                         : ret;
}
