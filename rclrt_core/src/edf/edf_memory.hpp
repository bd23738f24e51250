// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where an EdfTable lives, and its lock: in a process, or shared by the processes of a user.
#ifndef EDF__EDF_MEMORY_HPP_
#define EDF__EDF_MEMORY_HPP_

#include <cstdint>
#include <vector>

#include "edf/edf_table.hpp"
#include "rclrt_core/finding.hpp"

namespace rclrt_core
{

class EdfMemory : public EdfHost
{
public:
  /// The table, locked; never null, always sound. Priorities may be inherited through the lock; the wait
  /// for it is bounded. Only one thread of a process at a time. What was found broken is made anew.
  virtual EdfTable & lock() noexcept = 0;
  virtual void unlock() noexcept = 0;
  /// A thread of the caller's process.
  virtual EdfThread thread(int32_t id) noexcept = 0;
  /// What was found broken so far. Under no lock, but not at the same time as lock().
  virtual const std::vector<Finding> & findings() const = 0;
};

}  // namespace rclrt_core

#endif  // EDF__EDF_MEMORY_HPP_
