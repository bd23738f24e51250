// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The directory in which the programs of a user find each other: only this user can write it.
///
/// A name in /dev/shm can be guessed, and another user may make it first. So what is opened is checked
/// before it is used, links are never followed, and everything happens relative to the open directory.
#pragma once

#include <string>
#include <vector>

#include "platform/linux/descriptor.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core::linux_platform
{

class OwnDirectory
{
public:
  struct Place
  {
    std::string parent;
    std::string name;
  };
  /// /dev/shm/rclrt-<uid>, and where that cannot be had /run/user/<uid>/rclrt. Neither depends on the
  /// environment: a service and a program of a login shell look in the same places.
  static std::vector<Place> places();

  /// The first of the places that is a directory of this user alone, or can be made. Error: there is
  /// none; the text says why for each. May block.
  static Status open(const std::vector<Place> & places, OwnDirectory * directory);

  int descriptor() const noexcept { return descriptor_.get(); }
  const std::string & path() const noexcept { return path_; }
  /// Why the places before this one were not used; empty: it is the first.
  const std::string & refused() const noexcept { return refused_; }
  /// Whether its path still stands for it.
  bool is_there() const noexcept;

private:
  Descriptor descriptor_;
  std::string path_;
  std::string refused_;
};

}  // namespace rclrt_core::linux_platform
