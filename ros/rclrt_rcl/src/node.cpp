// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/node.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "node_state.hpp"
#include "of_the_process.hpp"
#include "rcl/graph.h"
#include "rcl/logging.h"
#include "rcl/logging_rosout.h"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/callback_name.hpp"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

/// Names whose log lines a node of the process publishes on /rosout. Under the logging mutex.
std::set<std::string> & rosout_names()
{
  static auto & names = *new std::set<std::string>;  // never destroyed: statics may own nodes
  return names;
}

std::string resolve(const rcl_node_t * node, const std::string & name, bool service)
{
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  char * resolved = nullptr;
  throw_unless_ok(
    rcl_node_resolve_name(node, name.c_str(), allocator, service, false, &resolved),
    std::string(service ? "service" : "topic") + " name '" + name + "'");
  std::string result = resolved;
  allocator.deallocate(resolved, allocator.state);
  return result;
}

std::shared_ptr<rcl_node_t> make_handle(
  const std::string & name, const std::string & name_space, const NodeOptions & options,
  const std::shared_ptr<Context> & context)
{
  rcl_node_options_t rcl_options = rcl_node_get_default_options();
  const std::unique_ptr<rcl_node_options_t, void (*)(rcl_node_options_t *)> guard(
    &rcl_options, [](rcl_node_options_t * used) {
      if (rcl_node_options_fini(used) != RCL_RET_OK) {
        take_rcl_error();
      }
    });
  rcl_options.use_global_arguments = options.use_global_arguments;
  rcl_options.enable_rosout = options.enable_rosout;
  const std::string what = "creating node '" + name + "' in namespace '" + name_space + "'";
  std::vector<const char *> arguments;
  for (const std::string & argument : options.arguments) {
    arguments.push_back(argument.c_str());
  }
  // Also when there are none: rcl wants them parsed if those of the context are not to count.
  const int count = static_cast<int>(arguments.size());
  detail::throw_unless_parsed(
    rcl_parse_arguments(
      count, arguments.data(), rcl_get_default_allocator(), &rcl_options.arguments),
    what + ": its arguments", count, arguments.data());
  detail::reject_unknown_ros_arguments(rcl_options.arguments, arguments.data());
  std::lock_guard<std::recursive_mutex> lock(detail::logging_mutex());
  auto node = std::make_unique<rcl_node_t>(rcl_get_zero_initialized_node());
  throw_unless_ok(
    rcl_node_init(node.get(), name.c_str(), name_space.c_str(), context->handle(), &rcl_options),
    what);
  // Only the first of several nodes with the same name publishes, and rcl must not be told that another
  // one has gone: it would forget the publisher.
  const std::string log_name = rcl_node_get_logger_name(node.get());
  const bool logs = options.enable_rosout && rcl_logging_rosout_enabled();
  const bool is_first = logs && rosout_names().insert(log_name).second;
  const auto log = std::make_shared<std::optional<rclrt_front_end::PublisherHere>>();
  std::shared_ptr<rcl_node_t> made(
    node.release(), [context, is_first, log_name, log](rcl_node_t * used) {
      std::lock_guard<std::recursive_mutex> logging(detail::logging_mutex());
      if (is_first) {
        rosout_names().erase(log_name);
        if (rcl_logging_rosout_fini_publisher_for_node(used) != RCL_RET_OK) {
          take_rcl_error();
        }
      }
      if (rcl_node_fini(used) != RCL_RET_OK) {
        take_rcl_error();
      }
      delete used;
    });
  if (logs) {  // warns if it is not the first
    log->emplace(
      resolve(made.get(), "/rosout", false));  // rcl publishes there: no PublisherBase counts it
    throw_unless_ok(rcl_logging_rosout_init_publisher_for_node(made.get()), what + ": /rosout");
  }
  return made;
}

}  // namespace

Node::Node(const std::string & name, const NodeOptions & options) : Node(name, "", options) {}

Node::Node(const std::string & name, const std::string & name_space, const NodeOptions & options)
: state_(std::make_shared<detail::NodeState>())
{
  state_->use_intra_process = options.use_intra_process;
  state_->context = options.context ? options.context : default_context();
  if (!state_->context->ok()) {
    throw ShutdownError(
      "creating node '" + name + "': the context was shut down (" +
      state_->context->shutdown_reason() + ")");
  }
  state_->handle = make_handle(name, name_space, options, state_->context);
  state_->fully_qualified_name = rcl_node_get_fully_qualified_name(state_->handle.get());
  state_->logger = Logger(rcl_node_get_logger_name(state_->handle.get()));
  CallbackGroupOptions group;
  group.name = "default";
  state_->default_group = create_callback_group(CallbackGroupType::kMutuallyExclusive, group);
  state_->parameters = detail::given_parameters(*state_->context->handle(), *state_->handle);
  if (state_->parameters.get<bool>("use_sim_time").value_or(false)) {
    state_->time_source = std::make_shared<detail::TimeSource>(*this);
  }
}

Node::~Node()
{
  state_->time_source.reset();
  for (const auto & group : callback_groups()) {
    for (const auto & entity : group->entities()) {
      entity->close();
    }
  }
}

std::string Node::name() const { return rcl_node_get_name(state_->handle.get()); }
std::string Node::name_space() const { return rcl_node_get_namespace(state_->handle.get()); }
const std::string & Node::fully_qualified_name() const noexcept
{
  return state_->fully_qualified_name;
}
const std::shared_ptr<Context> & Node::context() const noexcept { return state_->context; }
const Parameters & Node::parameters() const noexcept { return state_->parameters; }
const Logger & Node::logger() const noexcept { return state_->logger; }
const std::shared_ptr<Clock> & Node::clock() const noexcept { return state_->ros_clock; }
const std::shared_ptr<Clock> & Node::steady_clock() const noexcept { return state_->steady_clock; }
const std::shared_ptr<rcl_node_t> & Node::handle() const noexcept { return state_->handle; }
bool Node::uses_intra_process() const noexcept { return state_->use_intra_process; }

const std::shared_ptr<CallbackGroup> & Node::default_callback_group() const noexcept
{
  return state_->default_group;
}

std::vector<std::shared_ptr<CallbackGroup>> Node::callback_groups() const
{
  return state_->present_groups();
}

std::unique_lock<std::recursive_mutex> Node::lock_creation() const
{
  if (rclrt_core::runs_inline()) {
    throw Error(
      "node '" + fully_qualified_name() +
      "': a callback with inline_bound must not create anything. The middleware's thread runs "
      "it, and holds locks that this needs");
  }
  return std::unique_lock<std::recursive_mutex>(state_->creation_mutex);
}

std::shared_ptr<CallbackGroup> Node::create_callback_group(
  CallbackGroupType type, const CallbackGroupOptions & options)
{
  const auto lock = lock_creation();
  std::string label = options.name;
  const auto present = callback_groups();
  if (label.empty()) {
    label = std::to_string(state_->groups_made);
  }
  const std::string full_name = fully_qualified_name() + "/group/" + label;
  for (const auto & other : present) {
    if (other->name() == full_name) {
      throw Error(
        "node '" + fully_qualified_name() + "' has a callback group '" + label +
        "' already; give another name");
    }
  }
  auto group = std::make_shared<CallbackGroup>(full_name, type, options);
  std::shared_ptr<EntityObserver> observer;
  {
    std::lock_guard<std::mutex> state_lock(state_->mutex);
    auto & groups = state_->groups;
    groups.erase(
      std::remove_if(
        groups.begin(), groups.end(), [](const auto & known) { return known.expired(); }),
      groups.end());
    groups.push_back(group);
    ++state_->groups_made;
    observer = state_->observer.lock();
  }
  if (observer) {
    observer->group_created(group);
  }
  return group;
}

EntitySetup Node::prepare(
  rclrt_core::CallbackKind kind, const std::string & label, const Scheduling & scheduling,
  const std::shared_ptr<CallbackGroup> & group) const
{
  const bool named = !scheduling.name.empty();
  const std::string full_name =
    rclrt_front_end::callback_name(fully_qualified_name(), kind, named ? scheduling.name : label);

  EntitySetup setup;
  setup.kind = kind;
  setup.scheduling = scheduling;
  setup.node = handle().get();
  setup.group = group ? group : default_callback_group();

  bool group_is_ours = false;
  std::set<std::string> taken;
  for (const auto & present : callback_groups()) {
    group_is_ours |= present == setup.group;
    for (const auto & entity : present->entities()) {
      taken.insert(entity->name());
    }
  }
  if (!group_is_ours) {
    throw Error(
      "creating '" + full_name + "': callback group '" + setup.group->name() +
      "' is not one of this node; make it with this node's create_callback_group()");
  }
  setup.name = full_name;
  for (int number = 2; taken.count(setup.name) > 0; ++number) {
    if (named) {
      throw Error("creating '" + full_name + "': the name is taken; give another Scheduling::name");
    }
    setup.name = full_name + "#" + std::to_string(number);
  }
  return setup;
}

void Node::adopt(const std::shared_ptr<Entity> & entity)
{
  try {
    entity->group()->add(entity);
  } catch (...) {
    entity->close();
    throw;
  }
}

std::size_t Node::count_publishers(const std::string & topic) const
{
  std::size_t count = 0;
  throw_unless_ok(
    rcl_count_publishers(handle().get(), resolve_topic_name(topic).c_str(), &count),
    "count_publishers('" + topic + "')");
  return count;
}

std::string Node::resolve_topic_name(const std::string & name) const
{
  return resolve(handle().get(), name, false);
}

std::string Node::resolve_service_name(const std::string & name) const
{
  return resolve(handle().get(), name, true);
}

std::shared_ptr<Waitable> Node::create_waitable(
  const Scheduling & scheduling, std::function<void()> callback,
  const std::shared_ptr<CallbackGroup> & group)
{
  if (scheduling.name.empty()) {
    throw Error(
      "create_waitable() on node '" + fully_qualified_name() + "': give it a Scheduling::name");
  }
  return make_entity<Waitable>(
    rclrt_core::CallbackKind::kWaitable, "", scheduling, group, context(), std::move(callback));
}

}  // namespace rclrt_rcl
