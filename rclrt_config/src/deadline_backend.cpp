// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_config/deadline_backend.hpp"

#include <string>

#include "rclrt_core/fifo_bands.hpp"
#include "scx_deadlines.hpp"

namespace rclrt_config
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

}  // namespace

const char * to_string(DeadlineBackend backend) noexcept
{
  switch (backend) {
    case DeadlineBackend::kAuto:
      return "auto";
    case DeadlineBackend::kSchedExt:
      return "sched_ext";
    case DeadlineBackend::kFifoBands:
      return "fifo_bands";
  }
  return "unknown";
}

std::shared_ptr<DeadlineScheduler> make_deadline_scheduler(
  DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const Finding &)> & tell)
{
  if (backend != DeadlineBackend::kFifoBands) {
    std::string why;
    if (auto in_kernel = ScxDeadlines::open(platform, &why)) {
      return in_kernel;
    }
    if (backend == DeadlineBackend::kSchedExt) {
      tell(
        {kSubject, "the scheduler in the kernel is not to be had: " + why, 0,
         "Load it (./rclrt scx load), or choose deadline_scheduler auto or fifo_bands"});
      return nullptr;
    }
  }
  return make_fifo_bands(platform, tell);
}

}  // namespace rclrt_config
