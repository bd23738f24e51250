// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What an engine has found: refusals, overruns, and what to do about them. Each is told once.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core
{

/// From any thread. Its lock is the last one taken.
class Findings
{
public:
  /// `on_finding` is called after each new one, also under the engine's locks.
  Findings(Platform & platform, const std::function<void()> & on_finding)
  : mutex_(platform.make_mutex()), on_finding_(on_finding)
  {
  }

  void add(Finding finding)
  {
    {
      const std::lock_guard<Mutex> lock(*mutex_);
      const bool known_already =
        std::any_of(findings_.begin(), findings_.end(), [&](const Finding & other) {
          return other.subject == finding.subject && other.what == finding.what;
        });
      if (known_already) {
        return;
      }
      findings_.push_back(std::move(finding));
    }
    if (on_finding_) {
      on_finding_();
    }
  }
  std::vector<Finding> all() const
  {
    const std::lock_guard<Mutex> lock(*mutex_);
    return findings_;
  }

private:
  const std::unique_ptr<Mutex> mutex_;
  const std::function<void()> & on_finding_;
  std::vector<Finding> findings_;
};

}  // namespace rclrt_core
