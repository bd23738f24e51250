// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What this process records: one object, made by its first use and never destroyed, because the program may call
/// at any time, also before constructors and after destructors have run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "inventory.hpp"
#include "rings.hpp"
#include "seen.hpp"
#include "writer.hpp"

namespace rclrt_probe
{

struct Probe
{
  Inventory inventory;
  Rings rings;
  Seen seen;
  /// Number of the next job of this process.
  std::atomic<uint64_t> sequence{0};
  /// CLOCK_REALTIME minus CLOCK_MONOTONIC, ns. Stored by the writer once a round. A number by itself: relaxed.
  std::atomic<int64_t> wall_offset{0};
  /// The middleware says the source time stamp of each message that it sends, so that tells messages apart. Set by
  /// the first publication, which is of the middleware itself and comes before all others. By itself: relaxed.
  std::atomic<bool> is_stamped{false};
  Writer writer{*this};
};

/// Null: nothing is to be recorded, because RCLRT_PROBE_FOLDER is not set.
Probe * probe() noexcept;

}  // namespace rclrt_probe
