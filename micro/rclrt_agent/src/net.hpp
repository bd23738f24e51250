// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What UDP and TCP share.
#ifndef NET_HPP_
#define NET_HPP_

#include <cstdint>
#include <string>

#include "udp_line.hpp"

namespace rclrt_agent
{

/// Binds a socket; returns the port. Throws std::runtime_error, also if `fd` is not one.
uint16_t bind_to(int fd, const NetOptions & options);
/// "127.0.0.1"
std::string host_text(uint32_t host);

}  // namespace rclrt_agent

#endif  // NET_HPP_
