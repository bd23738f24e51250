// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An RMW implementation for tests: the one that is installed, but for what differs between them.
///
/// Linked into a program before rcl, so that rcl calls these functions instead. Each forwards to the real
/// one. What it changes is what another RMW does otherwise, as far as rclrt_rcl can tell: its name, the names
/// of its threads, and the numbers and stamps of messages.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace stub_rmw
{

struct Behaviour
{
  /// What rmw_get_implementation_identifier() says; empty: what the real one says.
  std::string name;
  /// Its threads, by turns; empty: as the real one names them.
  std::vector<std::string> threads;
  bool numbers_publications = true;
  /// received_timestamp is the time of the take.
  bool stamps_at_take = false;
};

/// For messages of tests.
inline void PrintTo(const Behaviour & behaviour, std::ostream * out)
{
  *out << (behaviour.name.empty() ? "as it is" : behaviour.name);
}

/// As rmw_cyclonedds_cpp 3.2 with Cyclone DDS 0.10.
Behaviour cyclone();
/// One that nobody has heard of.
Behaviour stranger();

/// From now on. Not while there is a context. In the beginning it is what the environment variable
/// RCLRT_STUB_RMW names: one of the above, by its `name`. For programs that get this library by LD_PRELOAD.
void behave_as(const Behaviour & behaviour);

}  // namespace stub_rmw
