// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The publication that is open on the calling thread: see Publication in engine.hpp.
#ifndef PUBLICATION_HPP_
#define PUBLICATION_HPP_

#include "threads/crew.hpp"

namespace rclrt_core
{

/// Whether one is open.
bool publishes_here() noexcept;
/// The publication has released a job that needs this. The thread is lent as much, if it has less, until the
/// publication ends. `publisher`: the worker whose thread this is, or null. Not under an engine's lock. At most one
/// change of attributes, the first time also two calls to read them.
void lend_to_publisher(const Loan & loan, Worker * publisher, Platform & platform) noexcept;
/// Wake these when the publication ends.
void wake_after_publication(Wakes & wakes) noexcept;

}  // namespace rclrt_core

#endif  // PUBLICATION_HPP_
