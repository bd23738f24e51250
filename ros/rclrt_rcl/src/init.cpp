// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/context.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "of_the_process.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

struct Contexts
{
  std::mutex mutex;
  std::vector<std::weak_ptr<Context>> all;
  std::shared_ptr<Context> by_default;
};

Contexts & contexts()
{
  static auto & instance = *new Contexts;  // never destroyed: signals come at any time
  return instance;
}

}  // namespace

namespace detail
{

void remember_context(const std::shared_ptr<Context> & context)
{
  std::lock_guard<std::mutex> lock(contexts().mutex);
  auto & all = contexts().all;
  all.erase(
    std::remove_if(all.begin(), all.end(), [](const auto & known) { return known.expired(); }),
    all.end());
  all.push_back(context);
}

void shutdown_all_contexts(const std::string & reason)
{
  std::vector<std::shared_ptr<Context>> all;
  {
    std::lock_guard<std::mutex> lock(contexts().mutex);
    for (const auto & known : contexts().all) {
      if (auto context = known.lock()) {
        all.push_back(std::move(context));
      }
    }
  }
  for (const auto & context : all) {
    context->shutdown(reason);
  }
}

}  // namespace detail

void init(int argc, const char * const * argv, const ContextOptions & options)
{
  {
    std::lock_guard<std::mutex> lock(contexts().mutex);
    if (contexts().by_default && contexts().by_default->ok()) {
      throw Error("init(): called already; call shutdown() first, or make a Context of your own");
    }
  }
  auto context = Context::make(argc, argv, options);
  {
    std::lock_guard<std::mutex> lock(contexts().mutex);
    std::swap(contexts().by_default, context);
  }
  install_signal_handlers();
}

bool ok() noexcept
{
  std::lock_guard<std::mutex> lock(contexts().mutex);
  return contexts().by_default && contexts().by_default->ok();
}

bool shutdown(const std::string & reason)
{
  std::shared_ptr<Context> context;
  {
    std::lock_guard<std::mutex> lock(contexts().mutex);
    std::swap(context, contexts().by_default);
  }
  const bool was_up = context && context->shutdown(reason);
  uninstall_signal_handlers();
  return was_up;
}

std::shared_ptr<Context> default_context()
{
  std::lock_guard<std::mutex> lock(contexts().mutex);
  if (!contexts().by_default) {
    throw Error("there is no default context; call rclrt_rcl::init() first");
  }
  return contexts().by_default;
}

}  // namespace rclrt_rcl
