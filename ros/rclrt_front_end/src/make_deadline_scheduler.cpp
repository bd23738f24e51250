// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/configured_engine.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "rclrt_core/deadline_scheduler.hpp"
#include "scx_deadlines.hpp"

namespace rclrt_front_end
{

using rclrt_core::DeadlineScheduler;
using rclrt_core::FifoBands;
using rclrt_core::Finding;
using rclrt_core::Status;

namespace
{

const char * const kSubject = "scheduling_policy ext";
const char * const kSharedName = "rclrt_edf";

std::shared_ptr<DeadlineScheduler> make_fifo_bands(
  rclrt_core::Platform & platform, const std::function<void(const Finding &)> & tell)
{
  rclrt_core::FifoBandsOptions options;
  options.shared_name = kSharedName;
  std::shared_ptr<FifoBands> bands;
  const Status shared = FifoBands::make(platform, options, &bands);
  if (!shared.ok()) {
    options.shared_name.clear();
    if (!FifoBands::make(platform, options, &bands).ok()) {
      return nullptr;
    }
    tell(
      {kSubject, "deadlines are ordered within this process only: " + shared.message(), 0,
       "Other processes' deadlines are not seen until this is mended"});
  }
  return bands;
}

std::shared_ptr<DeadlineScheduler> open_kernel_deadlines(
  rclrt_core::Platform & platform, std::string * why)
{
  return ScxDeadlines::open(platform, why);
}

bool kernel_deadlines_are_loaded()
{
  // Anyone may read the name, also a process that may not open the tables. One that was ejected has none any more,
  // although its pins are still there.
  std::string state;
  if (!(std::ifstream("/sys/kernel/sched_ext/state") >> state)) {
    return access(RCLRT_SCX_DIRECTORY "/state", F_OK) == 0;
  }
  std::string name;
  std::ifstream("/sys/kernel/sched_ext/root/ops") >> name;
  return name.rfind("rclrt_edf", 0) == 0;
}

}  // namespace

std::shared_ptr<DeadlineScheduler> make_deadline_scheduler(
  DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const Finding &)> & tell)
{
  return make_deadline_scheduler_with(
    {open_kernel_deadlines, kernel_deadlines_are_loaded}, backend, platform, tell);
}

std::shared_ptr<DeadlineScheduler> make_deadline_scheduler_with(
  const KernelDeadlines & kernel, DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const Finding &)> & tell)
{
  if (backend != DeadlineBackend::kFifoBands) {
    std::string why;
    if (auto in_kernel = kernel.open(platform, &why)) {
      return in_kernel;
    }
    if (backend == DeadlineBackend::kSchedExt) {
      tell(
        {kSubject, "the scheduler in the kernel is not to be had: " + why, 0,
         "Load it (rclrt scx load), or choose deadline_scheduler auto or fifo_bands"});
      return nullptr;
    }
    if (kernel.is_loaded()) {
      tell(
        {kSubject,
         "the kernel has our scheduler, but it cannot be used from here: " + why +
           ". Jobs get priorities of the FIFO bands, above every thread that it orders",
         0,
         "Mend that (in a container, mount " RCLRT_SCX_DIRECTORY
         ") and start the program again, or choose deadline_scheduler fifo_bands in all programs"});
    }
  }
  return make_fifo_bands(platform, tell);
}

}  // namespace rclrt_front_end
