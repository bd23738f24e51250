// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "stub_rmw.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "rmw/features.h"
#include "rmw/rmw.h"

namespace stub_rmw
{
namespace
{

struct State
{
  Behaviour behaviour;
};

State * make_state()
{
  auto * const made = new State;  // never destroyed: rcl may still call
  const char * const name = std::getenv("RCLRT_STUB_RMW");
  for (const Behaviour & behaviour : {cyclone(), stranger()}) {
    if (name != nullptr && behaviour.name == name) {
      made->behaviour = behaviour;
    }
  }
  return made;
}

State & state()
{
  static State & made = *make_state();
  return made;
}

/// The function of the same name that would have been called without this library.
template <typename Function>
Function * real(const char * name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

/// How many it has renamed.
std::size_t rename_threads(const std::vector<std::string> & names)
{
  std::error_code error;
  std::size_t renamed = 0;
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    const bool is_ours =
      name.rfind("dds.", 0) == 0 || std::find(names.begin(), names.end(), name) != names.end();
    if (is_ours) {
      std::ofstream(entry.path() / "comm") << names[renamed++ % names.size()];
    }
  }
  return renamed;
}

/// A thread has the name of its maker until it has run.
void rename_threads()
{
  const std::vector<std::string> & names = state().behaviour.threads;
  for (int i = 0; i < 1000 && !names.empty() && rename_threads(names) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void change(rmw_message_info_t * info)
{
  const Behaviour & behaviour = state().behaviour;
  if (!behaviour.numbers_publications) {
    info->publication_sequence_number = RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED;
    info->reception_sequence_number = RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED;
  }
  if (behaviour.stamps_at_take) {
    info->received_timestamp =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  }
}

}  // namespace

Behaviour cyclone()
{
  Behaviour made;
  made.name = "rmw_cyclonedds_cpp";
  made.threads = {"recv", "tev", "dq.user", "dq.builtins", "gc", "recvUC", "recvMC"};
  made.numbers_publications = false;
  made.stamps_at_take = true;
  return made;
}

Behaviour stranger()
{
  Behaviour made = cyclone();
  made.name = "rmw_stranger_cpp";
  made.threads = {"stranger"};
  return made;
}

void behave_as(const Behaviour & behaviour) { state().behaviour = behaviour; }

}  // namespace stub_rmw

using stub_rmw::change;
using stub_rmw::real;
using stub_rmw::state;

extern "C" {

const char * rmw_get_implementation_identifier()
{
  static const auto next =
    real<decltype(rmw_get_implementation_identifier)>("rmw_get_implementation_identifier");
  const std::string & name = state().behaviour.name;
  return name.empty() ? next() : name.c_str();
}

bool rmw_feature_supported(rmw_feature_t feature)
{
  static const auto next = real<decltype(rmw_feature_supported)>("rmw_feature_supported");
  const bool is_number = feature == RMW_FEATURE_MESSAGE_INFO_PUBLICATION_SEQUENCE_NUMBER ||
                         feature == RMW_FEATURE_MESSAGE_INFO_RECEPTION_SEQUENCE_NUMBER;
  return next(feature) && (state().behaviour.numbers_publications || !is_number);
}

rmw_node_t * rmw_create_node(
  rmw_context_t * context, const char * name, const char * node_namespace)
{
  static const auto next = real<decltype(rmw_create_node)>("rmw_create_node");
  rmw_node_t * const node = next(context, name, node_namespace);
  stub_rmw::rename_threads();
  return node;
}

rmw_ret_t rmw_take_with_info(
  const rmw_subscription_t * subscription, void * message, bool * taken, rmw_message_info_t * info,
  rmw_subscription_allocation_t * allocation)
{
  static const auto next = real<decltype(rmw_take_with_info)>("rmw_take_with_info");
  const rmw_ret_t result = next(subscription, message, taken, info, allocation);
  change(info);
  return result;
}

rmw_ret_t rmw_take_serialized_message_with_info(
  const rmw_subscription_t * subscription, rmw_serialized_message_t * message, bool * taken,
  rmw_message_info_t * info, rmw_subscription_allocation_t * allocation)
{
  static const auto next =
    real<decltype(rmw_take_serialized_message_with_info)>("rmw_take_serialized_message_with_info");
  const rmw_ret_t result = next(subscription, message, taken, info, allocation);
  change(info);
  return result;
}

}  // extern "C"
