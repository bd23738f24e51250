// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Callbacks that wait and wait: what a program without findings would do in silence.
#ifndef STALLS_HPP_
#define STALLS_HPP_

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_front_end
{

class Stalls
{
public:
  /// How often to look: what is stuck is told at the second look, within a second.
  static constexpr std::chrono::milliseconds kPeriod{400};

  /// What is to be told of the callbacks that wait now.
  std::vector<rclrt_core::Finding> look(std::vector<rclrt_core::WaitingReport> waiting);

private:
  struct Seen
  {
    rclrt_core::WaitingReport last;
    int looks =
      0;  ///< one after another at which it waited, and had begun no job since the first of them
    bool is_kept = true;  ///< by the same jobs all the time
  };

  std::set<std::string> told_;        ///< subjects: each once, whatever keeps them
  std::map<std::string, Seen> seen_;  ///< by name, of those that waited at the last look
};

}  // namespace rclrt_front_end

#endif  // STALLS_HPP_
