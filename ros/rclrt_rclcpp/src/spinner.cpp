// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "spinner.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "group_names.hpp"
#include "one_at_a_time.hpp"
#include "publications.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp/utilities.hpp"
#include "rclrt_front_end/diagnostics_on_rcl.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "unserved.hpp"

namespace rclrt_rclcpp
{
namespace
{

std::unique_ptr<rclrt_front_end::ConfiguredEngine> make_engine(
  const std::shared_ptr<rclcpp::Context> & context, const EngineExecutorOptions & from,
  rclrt_core::EngineOptions engine_options)
{
  std::unique_ptr<rclrt_front_end::ConfiguredEngine> engine;
  detail::check(rclrt_front_end::make_engine(
    rclrt_front_end::process_platform(), *context->get_rcl_context(), from,
    std::move(engine_options), rclrt_front_end::publish_diagnostics(context->get_rcl_context()),
    &engine));
  return engine;
}

void log(rclrt_core::Severity severity, const std::string & line)
{
  if (severity == rclrt_core::Severity::kNote) {
    RCLCPP_INFO(rclcpp::get_logger(rclrt_front_end::kLoggerName), "%s", line.c_str());
  } else {
    RCLCPP_WARN(rclcpp::get_logger(rclrt_front_end::kLoggerName), "%s", line.c_str());
  }
}

std::string text_of(const std::exception_ptr & thrown)
{
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception & error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

rclrt_core::EngineOptions with_telling(
  rclrt_core::EngineOptions options, std::function<void()> tell)
{
  options.on_finding = std::move(tell);
  return options;
}

}  // namespace

Spinner::Spinner(
  rclcpp::Executor & executor, const EngineExecutorOptions & options,
  rclrt_core::EngineOptions engine_options, Of of, const std::function<void()> & prepare)
: base_(executor),
  context_(base_.context()),
  options_(options),
  of_(of),
  teller_(rclrt_front_end::process_platform(), log),
  engine_(make_engine(
    context_, options, with_telling(std::move(engine_options), [this] { request_telling(); })))
{
  prepare();
  base_.set_on_change(
    [this] {
      if (!base_.spinning() || cancelled_) {
        engine().stop();
      }
      request_update();
    },
    [this] { cancelled_ = of_ == Of::kOurs; });
  if (of_ != Of::kOurs) {
    request_update();  // it has nodes already
  }
}

void Spinner::end(std::unique_ptr<Spinner> spinner)
{
  if (spinner->engine().runs_here()) {
    // By exit() in a callback. This thread cannot wait for its own job, and the other threads go on until the process
    // has ended: what they use stays.
    spinner->base_.clear_on_change();
    rclrt_front_end::keep_for_ever(spinner.release());
  }
}

Spinner::~Spinner()
{
  base_.spinning() = false;
  engine().stop();
  base_.clear_on_change();
  detach_all();
  clocks_.clear();  // they belong to the engine
  engine_.reset();  // it may tell of something until it is gone
}

void Spinner::know_node(
  const std::shared_ptr<NodeBase> & node, const std::shared_ptr<const rclcpp::Node> & owner)
{
  const std::lock_guard<rclrt_front_end::PiMutex> lock(update_mutex_);
  KnownNode known;
  known.base = node;
  known.owner = owner;
  known.has_owner = owner != nullptr;
  const auto is_it = [&node](const KnownNode & other) { return other.base.lock() == node; };
  const auto before = std::find_if(nodes_.begin(), nodes_.end(), is_it);
  if (before != nodes_.end() && !owner) {
    known = *before;  // what was said when it was added still holds
  }
  nodes_.erase(
    std::remove_if(
      nodes_.begin(), nodes_.end(),
      [&](const KnownNode & other) { return other.base.expired() || is_it(other); }),
    nodes_.end());
  nodes_.push_back(known);
}

/// In the order in which nodes were added and groups created: that is how names are numbered.
std::vector<std::shared_ptr<rclcpp::CallbackGroup>> Spinner::present_in_order(Kept & kept)
{
  using SharedGroup = std::shared_ptr<rclcpp::CallbackGroup>;
  std::map<SharedGroup, std::size_t> order;
  std::vector<std::pair<std::shared_ptr<NodeBase>, SharedGroup>> all;
  for (const KnownNode & known_node : nodes_) {
    if (const auto node = known_node.base.lock()) {
      kept.push_back(node);
      node->for_each_callback_group([&](const auto & group) {
        kept.push_back(group);
        order.emplace(group, order.size());
        all.emplace_back(node, group);
      });
    }
  }
  std::vector<SharedGroup> present;
  for (const auto & weak : base_.groups()) {
    if (const auto group = weak.lock()) {
      kept.push_back(group);
      order.emplace(group, order.size());
      present.push_back(group);
    }
  }
  const auto is_present = [&present](const auto & group) {
    return std::find(present.begin(), present.end(), group) != present.end();
  };
  for (const auto & [node, group] : all) {
    const bool has_node = spins_ && is_present(node->get_default_callback_group());
    if (has_node && !is_present(group) && is_clock_group(*node, *group, kept)) {
      present.push_back(group);
    }
  }
  std::sort(present.begin(), present.end(), [&order](const auto & a, const auto & b) {
    return order.at(a) < order.at(b);
  });
  return present;
}

void Spinner::update(const IsNew & is_new)
{
  Kept kept;  // destroyed after the lock
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(left_mutex_);
    kept.swap(left_);
  }
  const std::size_t left = kept.size();
  const std::lock_guard<rclrt_front_end::PiMutex> lock(update_mutex_);
  for (std::size_t i = 0; i < left; ++i) {
    if (is_known(kept[i].get())) {
      forget(kept[i].get(), kept);
    }
  }
  const auto present = present_in_order(kept);
  const bool by_members = !spins_ && engine_->names_groups_by_members();
  std::vector<const rclcpp::CallbackGroup *> gone;
  for (const auto & [key, known] : groups_) {
    // Another group may lie at the same address by now.
    const auto group = known.group.lock();
    kept.push_back(group);
    if (
      std::find(present.begin(), present.end(), group) == present.end() ||
      (by_members && is_another(*group, known, kept))) {
      gone.push_back(key);
    }
  }
  for (const auto * key : gone) {
    remove_group(key, kept);
  }
  remove_members([](const Member & member) { return member.entity.expired(); }, kept);
  if (of_ == Of::kWaitSet) {
    base_.update_wait_set();
  }
  std::exception_ptr failure;
  const bool required = engine().options().attributes_mode == rclrt_core::AttributesMode::kRequire;
  for (const auto & group : present) {
    std::vector<LeftOut> left_out;
    try {
      if (groups_.count(group.get()) == 0) {
        add_group(group, kept);
      }
      left_out = add_members(group, groups_.at(group.get()), kept);
    } catch (...) {
      left_out.push_back({"a callback group", std::current_exception()});
    }
    const bool throws = !left_out.empty() && (required || (is_new && is_new(*group, kept)));
    for (const LeftOut & one : left_out) {
      if (throws && !failure) {
        failure = one.why;
      } else if (!throws) {
        engine_->report(
          {one.what, "is not served: " + text_of(one.why), 0,
           "It is tried again whenever the executor's entities change"});
      }
    }
  }
  {
    const std::lock_guard<rclrt_front_end::PiMutex> clocks_lock(clocks_mutex_);
    clocks_.erase(
      std::remove_if(
        clocks_.begin(), clocks_.end(),
        [&kept](const auto & clock) {
          kept.push_back(clock->clock());
          return !clock->is_used();
        }),
      clocks_.end());
    clock_groups_.clear();
    for (const auto & entry : groups_) {
      if (entry.second.clock) {
        clock_groups_.push_back(entry.second.clock);
      }
    }
    if (!has_clocks_.exchange(!clocks_.empty() || !clock_groups_.empty())) {
      request_telling();  // only to wake whoever is to look at them
    }
  }
  if (is_new) {
    request_telling();  // entries that match nothing may be about the new node
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

/// Whether the configuration means something else by it now, by what it has got since.
bool Spinner::is_another(const rclcpp::CallbackGroup & group, const KnownGroup & known, Kept & kept)
{
  const std::string now = detail::cie_id(known.node, group, kept);
  return now != known.cie_id &&
         engine_->has_other_options(
           options_for_group(group, known.in_engine->name()), now, *known.in_engine);
}

void Spinner::let_go(const std::function<bool(const KnownGroup &)> & is_it) noexcept
{
  Kept kept;  // destroyed after the lock
  const std::lock_guard<rclrt_front_end::PiMutex> lock(update_mutex_);
  for (auto known = groups_.begin(); known != groups_.end();) {
    if (!is_it(known->second)) {
      ++known;
      continue;
    }
    remove_members(
      [key = known->first](const Member & member) { return member.group == key; }, kept);
    // Only fails for groups that have callbacks, and this one has none.
    static_cast<void>(engine_->remove_group(known->second.in_engine));
    known = groups_.erase(known);
  }
  const std::lock_guard<rclrt_front_end::PiMutex> clocks_lock(clocks_mutex_);
  clock_groups_.clear();
}

void Spinner::detach_all() noexcept
{
  let_go([](const KnownGroup &) { return true; });
}

rclrt_core::GroupOptions Spinner::options_for_group(
  const rclcpp::CallbackGroup & group, const std::string & name) const
{
  rclrt_core::GroupOptions group_options;
  group_options.name = name;
  if (group.type() == rclcpp::CallbackGroupType::Reentrant) {
    group_options.parallelism = options_.reentrant_parallelism;
  }
  if (options_.scheduling) {
    if (const auto scheduling = options_.scheduling->find(&group, name)) {
      group_options.attributes = scheduling->attributes;
      group_options.budget = scheduling->budget;
    }
  }
  return group_options;
}

void Spinner::add_group(const std::shared_ptr<rclcpp::CallbackGroup> & group, Kept & kept)
{
  KnownGroup known;
  known.group = group;
  std::string label;
  bool has_own_thread = false;
  for (const KnownNode & known_node : nodes_) {
    if (const auto node = known_node.base.lock()) {
      kept.push_back(node);
      label = detail::label_of_group(*node, *group, kept);
      if (!label.empty()) {
        known.node = node->get_fully_qualified_name();
        known.clock_topic = clock_topic_in(*node, *group, kept);
        has_own_thread = is_clock_group(*node, *group, kept);
        if (known_node.has_owner) {
          known.owner = known_node.owner;
        }
        break;
      }
    }
  }
  known.cie_id = detail::cie_id(known.node, *group, kept);
  detail::check(engine_->add_group(
    options_for_group(*group, known.node + "/group/" + label), known.cie_id, &known.in_engine,
    group));
  known.clock = has_own_thread ? std::make_shared<ClockGroup>(group) : nullptr;
  groups_[group.get()] = std::move(known);
}

void Spinner::remove_group(const rclcpp::CallbackGroup * group, Kept & kept)
{
  remove_members([group](const Member & member) { return member.group == group; }, kept);
  const auto found = groups_.find(group);
  detail::check(engine_->remove_group(found->second.in_engine));
  groups_.erase(found);
}

void Spinner::remove_members(const std::function<bool(const Member &)> & gone, Kept & kept)
{
  std::vector<const void *> all;
  for (const auto & [entity, member] : members_) {
    if (gone(member)) {
      all.push_back(entity);
    }
  }
  for (const void * entity : all) {
    forget(entity, kept);
  }
}

void Spinner::forget(const void * entity, Kept & kept) noexcept
{
  const auto found = members_.find(entity);
  const Member & member = found->second;
  std::shared_ptr<const void> present;
  try {
    present = member.unhook();
  } catch (...) {
    RCLCPP_ERROR(
      rclcpp::get_logger("rclrt"), "letting '%s' go: %s", member.callback->name().c_str(),
      text_of(std::current_exception()).c_str());
  }
  names_.erase(member.callback->name());
  const uint64_t waiting = engine_->remove(member.callback);
  if (present && waiting > 0 && member.callback->kind() != rclrt_core::CallbackKind::kTimer) {
    Unserved::instance().keep(
      present, member.events ? member.events->counts() : EventCounts{{0, waiting}});
  }
  kept.push_back(std::move(present));
  members_.erase(found);
}

void Spinner::request_update()
{
  if (!context_->is_valid()) {
    engine().stop();
  }
  teller_.request(rclrt_front_end::Teller::kUpdate);
  if (runs_inline_) {
    engine().stop();  // run_one() comes back, updates, and goes on
  }
}

void Spinner::request_telling() { teller_.request(); }

rclrt_core::TimePoint Spinner::look_at_clocks()
{
  if (!has_clocks_) {
    return rclrt_core::kNever;
  }
  Kept kept;  // destroyed after the lock
  const std::lock_guard<rclrt_front_end::PiMutex> lock(clocks_mutex_);
  const rclrt_core::TimePoint now = rclrt_front_end::process_platform().now();
  if (hearing_ > 0) {
    return now + kSimulatedClockPeriod;
  }
  rclrt_core::Duration period = kSystemClockPeriod;
  for (const auto & group : clock_groups_) {
    period = std::min<rclrt_core::Duration>(period, kClockPatience / 2);
    group->look(engine(), now, kept);
  }
  return now + std::min(period, look_at_all_clocks());
}

rclrt_core::Duration Spinner::look_at_all_clocks()
{
  rclrt_core::Duration period = kSystemClockPeriod;
  for (const auto & clock : clocks_) {
    period = std::min<rclrt_core::Duration>(period, clock->look());
  }
  return period;
}

bool Spinner::hear_clock(const std::function<bool()> & take)
{
  struct Hearing
  {
    explicit Hearing(Spinner & its_spinner) : spinner(its_spinner)
    {
      const std::lock_guard<rclrt_front_end::PiMutex> lock(spinner.clocks_mutex_);
      ++spinner.hearing_;
      for (const auto & group : spinner.clock_groups_) {
        group->keep();
      }
    }
    ~Hearing()
    {
      const std::lock_guard<rclrt_front_end::PiMutex> lock(spinner.clocks_mutex_);
      spinner.look_at_all_clocks();
      --spinner.hearing_;
    }
    Spinner & spinner;
  } const hearing(*this);
  return take();
}

void Spinner::tell_findings() { teller_.tell_if_requested(*engine_); }

void Spinner::rethrow()
{
  if (const std::exception_ptr thrown = engine().take_exception()) {
    std::rethrow_exception(thrown);
  }
}

void Spinner::set_attributes(
  const std::string & callback, const rclrt_core::Attributes & attributes)
{
  for (const auto & known : engine().callbacks()) {
    if (known->name() == callback) {
      detail::check(engine_->set_attributes(known, attributes));
      request_telling();  // there may be a scheduler of deadlines now
      return;
    }
  }
  throw std::runtime_error("set_attributes(): '" + callback + "' is not in this executor");
}

void Spinner::look_at_definitions()
{
  if (const auto unsafe = several_at_a_time()) {
    engine_->report(*unsafe);
  }
  const auto finding = unseen_publications();
  if (finding && has_urgent_callback()) {
    engine_->report(*finding);
  }
}

bool Spinner::has_urgent_callback() const
{
  const auto callbacks = engine_->engine().callbacks();
  return std::any_of(callbacks.begin(), callbacks.end(), [this](const auto & callback) {
    return more_urgent(engine_->engine().attributes(*callback), rclrt_core::Attributes());
  });
}

}  // namespace rclrt_rclcpp
