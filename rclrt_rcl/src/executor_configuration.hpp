// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The configuration file of an executor, put over what the code says about groups and entities.
///
/// Not thread-safe. Every function throws Error when the outcome is impossible.
#ifndef EXECUTOR_CONFIGURATION_HPP_
#define EXECUTOR_CONFIGURATION_HPP_

#include <string>
#include <vector>

#include "rclrt_config/configuration.hpp"
#include "rclrt_core/finding.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/executor_options.hpp"

namespace rclrt_rcl
{
namespace detail
{

class ExecutorConfiguration
{
public:
  /// Reads the file that the options name, else that of the environment, else the parameter files of
  /// the context.
  ExecutorConfiguration(Context & context, const ExecutorOptions & options);

  rclrt_core::EngineOptions applied(rclrt_core::EngineOptions options);
  /// The middleware's threads and what is refused.
  ExecutorOptions applied(ExecutorOptions options, const rclrt_core::EngineOptions & engine) const;
  void apply(const CallbackGroup & group, rclrt_core::GroupOptions * options);
  /// Returns whether it is a timer whose priority is to be derived.
  bool apply(rclrt_core::CallbackOptions * options, const rclrt_core::Attributes & group);

  /// The attributes that timers get by their rank, in the order given.
  std::vector<rclrt_core::Attributes> derive(std::vector<rclrt_core::PriorityTask> timers) const;

  /// Entries that have had no effect so far, and the like.
  std::vector<rclrt_core::Finding> findings() const;
  /// Empty, or why spinning must not start: `mode` requires attributes, and an entry about a node that
  /// is here matches nothing.
  std::string problem(rclrt_core::AttributesMode mode) const;

private:
  rclrt_config::Configuration configuration_;
};

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // EXECUTOR_CONFIGURATION_HPP_
