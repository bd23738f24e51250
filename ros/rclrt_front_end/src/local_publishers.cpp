// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/local_publishers.hpp"

#include <exception>
#include <map>
#include <mutex>

#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_front_end
{

LocalPublishers local_publishers(const std::string & topic)
{
  struct Topics
  {
    PiMutex mutex;
    std::map<std::string, LocalPublishers> all;
  };
  static auto & topics = *new Topics;  // never destroyed: publishers may outlive what is static
  const std::lock_guard<PiMutex> lock(topics.mutex);
  LocalPublishers & publishers = topics.all[topic];
  if (!publishers) {
    publishers = std::make_shared<std::atomic<int>>(0);
  }
  return publishers;
}

LocalPublishers local_publishers_or_null(const char * topic) noexcept
{
  try {
    return local_publishers(topic);
  } catch (const std::exception &) {
    return nullptr;
  }
}

}  // namespace rclrt_front_end
