// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// SHA-256 (FIPS 180-4), to tell whether a plan was edited. Not for secrets.
#ifndef SHA256_HPP_
#define SHA256_HPP_

#include <string>
#include <string_view>

namespace rclrt_config
{

/// 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace rclrt_config

#endif  // SHA256_HPP_
