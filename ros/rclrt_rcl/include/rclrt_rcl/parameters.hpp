// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The parameters of a node: named values that it has declared, that others may read and change
/// while it runs, and that a command line or file may override at the start.
///
/// Changes come one at a time. Each is checked (declared, not read-only, type, range), then shown
/// to the on-set callbacks, which may refuse; then all values of the change are in force at once;
/// then the post-set callbacks and /parameter_events are told of it. A change that is refused
/// changes nothing. Callbacks may read parameters (on-set callbacks see the values from before) but
/// not change them.
///
/// Thread-safe. Reading takes a lock with priority inheritance that is held for a few map
/// operations only, never while a callback runs, and copies the value.
#ifndef RCLRT_RCL__PARAMETERS_HPP_
#define RCLRT_RCL__PARAMETERS_HPP_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rcl_interfaces/msg/list_parameters_result.hpp"
#include "rcl_interfaces/msg/parameter_descriptor.hpp"
#include "rcl_interfaces/msg/parameter_event.hpp"
#include "rcl_interfaces/msg/set_parameters_result.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_rcl/parameter.hpp"

namespace rclrt_rcl
{

/// Description, read_only, dynamic_typing, ranges. Its name and type are filled in.
using ParameterDescriptor = rcl_interfaces::msg::ParameterDescriptor;
using SetParametersResult = rcl_interfaces::msg::SetParametersResult;
using ParameterMap = std::map<std::string, ParameterValue>;

class Parameters : public std::enable_shared_from_this<Parameters>
{
public:
  /// May refuse a change, with a reason.
  using OnSet = std::function<SetParametersResult(const std::vector<Parameter> &)>;
  /// Hears of a change that has happened.
  using PostSet = std::function<void(const std::vector<Parameter> &)>;
  /// The callback stays as long as a copy of this handle. The thread that drops the last copy waits
  /// until the callback has returned, unless it does so inside a callback.
  using CallbackHandle = std::shared_ptr<void>;
  /// Tells the world; stamp and node are not filled in.
  using Publish = std::function<void(rcl_interfaces::msg::ParameterEvent)>;

  /// `node`: for error texts. `overrides`: values that count more than defaults.
  Parameters(std::string node, ParameterMap overrides, bool allow_undeclared, Publish publish = {});

  /// Returns the value in force: the override if there is one, else `value`. `type` kNotSet means
  /// that of `value`; where neither has a type, the descriptor must say dynamic_typing.
  /// Errors: declared already, an empty name, a value of the wrong type or out of range, refused.
  ParameterValue declare(
    const std::string & name, const ParameterValue & value,
    ParameterDescriptor descriptor = ParameterDescriptor(),
    ParameterType type = ParameterType::kNotSet, bool ignore_override = false);
  /// Errors: undeclared, read-only.
  void undeclare(const std::string & name);
  bool has(const std::string & name) const;

  /// Errors: undeclared (unless those are allowed: then the value is not set); declared without a
  /// value.
  Parameter get(const std::string & name) const;
  /// All or none: an error if one is.
  std::vector<Parameter> get(const std::vector<std::string> & names) const;
  /// The value, which may be not set, or nothing if undeclared.
  std::optional<ParameterValue> find(const std::string & name) const;
  /// The parameters whose name begins with `prefix` + ".". The names are without this prefix. With
  /// an empty prefix: all parameters.
  ParameterMap get_by_prefix(const std::string & prefix) const;

  /// All or none. Not successful: read-only, wrong type, out of range, refused. Errors: undeclared
  /// (unless those are allowed: then they are declared, with dynamic typing). A value that is not
  /// set removes a parameter with dynamic typing.
  SetParametersResult set_atomically(const std::vector<Parameter> & parameters);
  /// The same, but undeclared ones are not successful.
  SetParametersResult try_set_atomically(const std::vector<Parameter> & parameters);

  /// Error: undeclared (unless those are allowed).
  std::vector<ParameterDescriptor> describe(const std::vector<std::string> & names) const;
  /// `depth` 0: no limit. Names are hierarchies with dots.
  rcl_interfaces::msg::ListParametersResult list(
    const std::vector<std::string> & prefixes, uint64_t depth) const;

  /// The one added last is asked first.
  CallbackHandle add_on_set_callback(OnSet callback);
  CallbackHandle add_post_set_callback(PostSet callback);

  const ParameterMap & overrides() const noexcept { return overrides_; }

private:
  struct Entry
  {
    ParameterValue value;
    ParameterDescriptor descriptor;
  };
  using Entries = std::map<std::string, Entry>;
  class Change;

  void require_declared(const std::string & name) const;
  SetParametersResult apply(const std::vector<Parameter> & parameters);
  SetParametersResult ask(const std::vector<Parameter> & parameters) const;
  void tell(
    const std::vector<Parameter> & parameters, rcl_interfaces::msg::ParameterEvent event) const;
  void replace(Entries entries);
  /// E.g. "parameter 'rate' of '/planner'".
  std::string about(const std::string & name) const;
  template <typename F>
  CallbackHandle add(std::vector<std::shared_ptr<F>> Parameters::* list, F callback);

  const std::string node_;
  const ParameterMap overrides_;
  const bool allow_undeclared_;
  const Publish publish_;

  /// One change at a time; held while callbacks run. Taken before values_mutex_.
  std::mutex change_mutex_;
  /// The thread that holds it, to recognise a change from inside a callback. Written by the holder.
  std::atomic<std::thread::id> changer_{};
  std::vector<std::shared_ptr<OnSet>> on_set_;
  std::vector<std::shared_ptr<PostSet>> post_set_;

  /// Guards entries_, which only the holder of change_mutex_ writes.
  const std::unique_ptr<rclrt_core::Mutex> values_mutex_;
  Entries entries_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PARAMETERS_HPP_
