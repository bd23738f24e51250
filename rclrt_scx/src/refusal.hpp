// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Says in a sentence why a kernel does not load the scheduler, where that is known.
#ifndef REFUSAL_HPP_
#define REFUSAL_HPP_

#include <string>

namespace rclrt_scx
{

/// `complaints`: what libbpf and the kernel have said. `release`: of the kernel. Empty if the reason is not known.
std::string explain_refusal(const std::string & complaints, const std::string & release);

}  // namespace rclrt_scx

#endif  // REFUSAL_HPP_
