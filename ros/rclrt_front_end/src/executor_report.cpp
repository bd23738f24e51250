// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/executor_report.hpp"

#include "rclrt_front_end/configured_engine.hpp"

namespace rclrt_front_end
{

std::vector<rclrt_core::Finding> ExecutorReport::findings() const
{
  return configured().findings();
}

std::string ExecutorReport::deadline_scheduler() const { return configured().deadline_scheduler(); }

std::vector<ChainReport> ExecutorReport::chains() const { return configured().chains(); }

std::map<std::string, rclrt_core::CallbackStatistics> ExecutorReport::statistics() const
{
  return configured().statistics();
}

std::map<uint32_t, std::string> ExecutorReport::callback_names() const
{
  return configured().callback_names();
}

std::vector<rclrt_core::ThreadReport> ExecutorReport::threads() const
{
  return configured().engine().threads();
}

void ExecutorReport::read_trace(const std::function<void(const rclrt_job_record &)> & visit)
{
  configured().engine().read_trace(visit);
}

rclrt_core::TraceSource ExecutorReport::trace_source() const
{
  return configured().engine().trace_source();
}

}  // namespace rclrt_front_end
