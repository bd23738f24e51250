// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// On which topics this process publishes: where it does, no callback of the topic runs on the middleware's
/// thread (docs/decisions/engine.md#13-inline).
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace rclrt_front_end
{

/// Their number. Written by threads that make and destroy publishers, read by those that bring messages. Each access stands
/// alone, so sequential consistency is more than is needed.
using LocalPublishers = std::shared_ptr<std::atomic<int>>;

/// Counts the publishers of a topic in this process: one object for each topic, for ever. Allocates.
LocalPublishers local_publishers(const std::string & topic);
/// For functions that C calls, where no exception may pass: null without memory.
LocalPublishers local_publishers_or_null(const char * topic) noexcept;

/// A publisher on the topic: made before anybody can publish with it, destroyed when nobody can any more.
class PublisherHere
{
public:
  explicit PublisherHere(const std::string & topic) : publishers_(local_publishers(topic))
  {
    publishers_->fetch_add(1);
  }
  ~PublisherHere() { publishers_->fetch_sub(1); }
  PublisherHere(const PublisherHere &) = delete;
  PublisherHere & operator=(const PublisherHere &) = delete;

private:
  const LocalPublishers publishers_;
};

}  // namespace rclrt_front_end
