// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The kernel's own server that saves SCHED_EXT threads from starving below SCHED_OTHER ones. In
/// partial mode every SCHED_OTHER thread outranks ours; what we get beside busy ones is what this
/// server gives, so it is set from its 50 ms a second to nearly all of a millisecond.
#ifndef EXT_SERVER_HPP_
#define EXT_SERVER_HPP_

#include <cstdint>
#include <string>

namespace rclrt_scx
{

/// What CPU 0's server has, in nanoseconds; zeros if the kernel has none (before 7.x) or debugfs is
/// not mounted.
void read_ext_server(uint64_t & runtime_ns, uint64_t & period_ns);
/// Set all servers for deadlines. Empty, or what failed.
std::string tune_ext_server();
/// Set all servers to these values. Empty, or what failed.
std::string set_ext_server(uint64_t runtime_ns, uint64_t period_ns);

}  // namespace rclrt_scx

#endif  // EXT_SERVER_HPP_
