// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The table of one process, on any platform. Its user's lock is enough.
#ifndef EDF__PRIVATE_EDF_MEMORY_HPP_
#define EDF__PRIVATE_EDF_MEMORY_HPP_

#include <memory>
#include <vector>

#include "edf/edf_memory.hpp"
#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

class PrivateEdfMemory final : public EdfMemory
{
public:
  PrivateEdfMemory(Platform & platform, uint32_t runners, int32_t run_priority)
  : platform_(platform), table_(std::make_unique<EdfTable>())
  {
    clear(*table_, runners, run_priority);
  }

  EdfTable & lock() noexcept override { return *table_; }
  void unlock() noexcept override {}
  EdfThread thread(int32_t id) noexcept override { return {1, id, 0}; }
  const std::vector<Finding> & findings() const override { return findings_; }

  int set_priority(const EdfThread & who, int32_t priority) noexcept override
  {
    Attributes attributes;
    attributes.policy = SchedulingPolicy::kFifo;
    attributes.priority = priority;
    return platform_.apply(who.thread, attributes);
  }
  bool is_alive(const EdfThread &) noexcept override { return true; }

private:
  Platform & platform_;
  const std::unique_ptr<EdfTable> table_;
  const std::vector<Finding> findings_;
};

}  // namespace rclrt_core

#endif  // EDF__PRIVATE_EDF_MEMORY_HPP_
