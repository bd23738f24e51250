// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Lines in the kernel's own trace, for the judge outside of what the scheduler did: what the kernel does not know, or
/// does not tell. Only where tracefs is mounted; else all of it does nothing.
///
///   rclrt TID due NS            from now on, 0: none
///   rclrt TID on CPU            may run there only, -1: anywhere
///   rclrt TID budget NS NS      runtime and period, 0 0: none
///   rclrt TID done | undone     whether what was said before has come about
///   rclrt cpu N leaves | away | comes | back
#ifndef GUEST__MARKS_HPP_
#define GUEST__MARKS_HPP_

#include <cstdint>

#include "rclrt_scx/client.hpp"

namespace guest
{

void mark(const char * format, ...) __attribute__((format(printf, 1, 2)));

/// What the calling thread changes, said before and after. In between nobody outside can know what holds.
void set_due(rclrt_scx::Slot & slot, int64_t deadline_ns);
void set_budget(rclrt_scx::Slot & slot, int64_t runtime_ns, int64_t period_ns);
void move_to(int cpu);
/// False if the CPU cannot be taken away.
bool set_online(int cpu, bool online);

}  // namespace guest

#endif  // GUEST__MARKS_HPP_
