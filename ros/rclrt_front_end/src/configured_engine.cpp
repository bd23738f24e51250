// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/configured_engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "rclrt_front_end/named_threads.hpp"
#include "usable_cpus.hpp"
#include "watcher.hpp"

namespace rclrt_front_end
{

using rclrt_config::Configuration;
using rclrt_config::Unmatched;
using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::Callback;
using rclrt_core::CallbackKind;
using rclrt_core::CallbackOptions;
using rclrt_core::Finding;
using rclrt_core::Group;
using rclrt_core::Status;

namespace
{

// A job takes the oldest message of its queue: with fewer jobs than messages, the rest would lag behind
// for ever.
Status check_overruns(const CallbackOptions & options)
{
  const bool has_queue = options.kind == CallbackKind::kSubscription ||
                         options.kind == CallbackKind::kService ||
                         options.kind == CallbackKind::kClient;
  const auto rule = options.overrun_rule.value_or(rclrt_core::OverrunRule::kQueueAll);
  if (!has_queue || rule == rclrt_core::OverrunRule::kQueueAll) {
    return {};
  }
  return Status::error(
    "'" + options.name + "': overruns " + to_string(rule) +
    " is for timers; to keep the latest message only, give the QoS depth 1");
}

Status check_inline(const CallbackOptions & options)
{
  if (
    options.inline_bound == rclrt_core::Duration{0} ||
    options.kind == CallbackKind::kSubscription) {
    return {};
  }
  return Status::error(
    "'" + options.name +
    "': inline_bound is for subscriptions only. Remove it here, or write names that "
    "match subscriptions only");
}

// All but the name: that of a group that comes back may have another number in it.
bool have_same(const rclrt_core::GroupOptions & a, const rclrt_core::GroupOptions & b)
{
  return a.attributes == b.attributes && a.parallelism == b.parallelism && a.budget == b.budget;
}

Status make_live_trace(
  const rclrt_config::TraceOptions & trace, rclrt_core::EngineOptions * options)
{
  const bool is_wanted = trace.live && options->trace_capacity > 0 && !options->trace_memory;
  return is_wanted ? rclrt_core::make_live_trace(&options->trace_memory) : Status();
}

}  // namespace

Status ConfiguredEngine::make(
  rclrt_core::Platform & platform, ConfiguredEngineOptions options,
  std::unique_ptr<ConfiguredEngine> * engine)
{
  Configuration configuration;
  rclrt_config::Machine machine = rclrt_config::Machine::here();
  machine.domain_id = options.domain_id;
  Status status = configuration.find(options.configuration_file, options.parameter_files, machine);
  if (status.ok()) {
    status = configuration.apply(&options.engine);
  }
  if (status.ok()) {
    if (configuration.middleware_thread()) {
      options.middleware_threads.attributes = configuration.middleware_thread();
    }
    options.deadline_scheduler =
      configuration.deadline_scheduler().value_or(options.deadline_scheduler);
    configuration.apply(&options.trace);
    const Status live = make_live_trace(options.trace, &options.engine);
    std::unique_ptr<ConfiguredEngine> made(
      new ConfiguredEngine(platform, std::move(configuration), options));
    Attributes timer_thread = options.engine.timer_thread;
    status = made->fit_to_machine("the timer thread", &timer_thread);
    made->timer_thread_cpus_ = timer_thread.cpu_affinity;
    if (status.ok() && timer_thread != options.engine.timer_thread) {
      status = made->engine_->set_timer_thread(timer_thread);
    }
    std::optional<Attributes> & middleware = made->middleware_threads_.attributes;
    if (status.ok() && middleware.has_value()) {
      status = made->fit_to_machine("middleware threads", &middleware.value());
    }
    if (status.ok()) {
      made->record(options.trace, live);
      made->watch(options);
      *engine = std::move(made);
    }
  }
  return status;
}

ConfiguredEngine::ConfiguredEngine(
  rclrt_core::Platform & platform, Configuration configuration,
  const ConfiguredEngineOptions & options)
: middleware_(options.middleware),
  middleware_threads_(options.middleware_threads),
  deadline_backend_(options.deadline_scheduler),
  make_deadline_scheduler_(options.make_deadline_scheduler),
  engine_(std::make_unique<rclrt_core::Engine>(platform, options.engine)),
  configuration_(std::move(configuration))
{
  if (!middleware_.rmw.empty()) {
    MiddlewareThreads::instance().know(middleware_);
  }
}

rclrt_config::TraceOptions ConfiguredEngineOptions::nothing_recorded()
{
  rclrt_config::TraceOptions options;
  options.live = false;
  return options;
}

void ConfiguredEngine::record(rclrt_config::TraceOptions options, const Status & live)
{
  if (!live.ok()) {
    report(
      {"trace", "other programs cannot see it: " + live.message(), 0,
       "Mend that, or set TraceOptions::live to false", rclrt_core::Severity::kNote});
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody has a reason to set it meanwhile
  const char * const directory = std::getenv("RCLRT_TRACE");
  if (directory != nullptr) {
    options.directory = directory;
  }
  if (!options.directory.empty() && engine_->options().trace_capacity > 0) {
    recorder_ = std::make_unique<Recorder>(
      *engine_, std::move(options), [this](const Finding & finding) { report(finding); });
  }
}

void ConfiguredEngine::watch(const ConfiguredEngineOptions & options)
{
  const bool is_watched = configuration_.is_watched();
  if (is_watched && !engine_->options().trace_memory) {
    report(
      {"chains", "are not watched: they are seen by the live trace, which this executor has not", 0,
       "Let the executor keep records: TraceOptions::live, trace_capacity"});
  }
  Watcher::Options watched;
  watched.tell = [this](const Finding & finding) { report(finding); };
  watched.on_miss = options.on_chain_miss;
  if (configuration_.diagnostics()) {
    watched.publish = options.publish_diagnostics;
    // A test or a program without a middleware has no messages either.
    if (!watched.publish && !middleware_.rmw.empty()) {
      report(
        {"diagnostics", "are not published: this executor was built without diagnostic_msgs", 0,
         "Install the package diagnostic_msgs and build again, or write diagnostics: false",
         rclrt_core::Severity::kNote});
    }
  }
  if (!watched.publish && (!is_watched || !engine_->options().trace_memory)) {
    return;
  }
  watcher_ = std::make_unique<Watcher>(*engine_, configuration_, std::move(watched));
}

std::vector<ChainReport> ConfiguredEngine::chains() const
{
  return watcher_ ? watcher_->chains() : std::vector<ChainReport>();
}

// A spin that could not begin may have left something behind there that would tell us.
ConfiguredEngine::~ConfiguredEngine()
{
  MiddlewareThreads::instance().release(this);
  NamedThreads::instance().release(this);
}

Status ConfiguredEngine::add_group(
  rclrt_core::GroupOptions options, const std::string & cie_id, std::shared_ptr<Group> * group,
  const std::shared_ptr<const void> & of)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  Status status = configure_group(&options, cie_id);
  if (!status.ok() || !of) {
    return status.ok() ? engine_->add_group(std::move(options), group) : status;
  }
  for (auto known = groups_.begin(); known != groups_.end();) {
    known = known->first.expired() ? groups_.erase(known) : std::next(known);
  }
  const auto known = groups_.find(of);
  if (known != groups_.end() && have_same(known->second->options(), options)) {
    *group = known->second;
    return engine_->add_group_again(*group);
  }
  status = engine_->add_group(std::move(options), group);
  if (status.ok()) {
    groups_[of] = *group;
  }
  return status;
}

bool ConfiguredEngine::names_groups_by_members() const
{
  const std::lock_guard<PiMutex> lock(mutex_);
  return configuration_.names_groups_by_members();
}

bool ConfiguredEngine::has_other_options(
  rclrt_core::GroupOptions options, const std::string & cie_id, const Group & group)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  return !configure_group(&options, cie_id).ok() || !have_same(options, group.options());
}

Status ConfiguredEngine::fit_to_machine(const std::string & subject, Attributes * attributes)
{
  const AttributesMode mode = engine_->options().attributes_mode;
  if (mode == AttributesMode::kOff) {
    return {};
  }
  const auto finding = leave_out_unusable_cpus(engine_->platform(), subject, attributes);
  if (!finding) {
    return {};
  }
  report(*finding);
  return mode == AttributesMode::kRequire ? Status::error(to_string(*finding)) : Status();
}

Status ConfiguredEngine::configure_group(
  rclrt_core::GroupOptions * options, const std::string & cie_id)
{
  configuration_.apply(options, cie_id);
  return fit_to_machine("group '" + options->name + "'", &options->attributes);
}

Status ConfiguredEngine::remove_group(const std::shared_ptr<Group> & group)
{
  return engine_->remove_group(group);
}

Status ConfiguredEngine::configure(CallbackOptions * options, const Group & group, bool * is_ranked)
{
  Status status = configuration_.apply(options);
  if (status.ok()) {
    status = fit_to_machine("'" + options->name + "'", &options->attributes);
  }
  if (!status.ok()) {
    return status;
  }
  if (configuration_.is_derived(*options, group.options().attributes)) {
    *is_ranked = options->kind == CallbackKind::kTimer;
    if (!*is_ranked) {
      Configuration::inherit_from_publishers(options);
    }
  }
  status = check_overruns(*options);
  return status.ok() ? check_inline(*options) : status;
}

void ConfiguredEngine::fit_to_middleware(
  CallbackOptions * options, const LocalPublishers & publishers)
{
  if (options->inline_bound == rclrt_core::Duration{0}) {
    return;
  }
  if (!middleware_.may_run_callbacks) {
    report(middleware_.no_inline(options->name));
  } else if (!publishers) {
    report(
      {options->name,
       "is queued, although it has an inline_bound: it is not known whether this process "
       "publishes on its topic",
       0, "See the finding about publications, or remove inline_bound"});
  } else {
    inline_[options->name] = publishers;
    const auto & chains = configuration_.chains();
    if (std::any_of(chains.begin(), chains.end(), [](const auto & chain) { return chain.bound; })) {
      report(
        {options->name,
         "may run on the middleware's thread (inline_bound), before all callbacks and on any "
         "CPU. The bounds of this file's chains do not count that",
         0, "Remove inline_bound, or add it to each of theirs"});
    }
    return;
  }
  options->inline_bound = rclrt_core::Duration{0};
}

// What has been added is there, and now the others have to make room for it.
Status ConfiguredEngine::added(const std::shared_ptr<Callback> & callback)
{
  Status status = ranked_.count(callback->id()) > 0 ? rank_timers() : Status();
  if (status.ok() && spinning_) {
    status = make_room();
  }
  if (!status.ok()) {
    ranked_.erase(callback->id());
    engine_->remove(callback);
  }
  return status;
}

Status ConfiguredEngine::add_callback(
  CallbackOptions options, const std::shared_ptr<Group> & group,
  std::shared_ptr<Callback> * callback, const LocalPublishers & publishers)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  bool is_ranked = false;  // never: it is no timer
  Status status = configure(&options, *group, &is_ranked);
  if (status.ok()) {
    fit_to_middleware(&options, publishers);
    status = engine_->add_callback(std::move(options), group, callback);
  }
  return status.ok() ? added(*callback) : status;
}

Status ConfiguredEngine::add_timer(
  CallbackOptions options, rclrt_core::TimerOptions timer, const std::shared_ptr<Group> & group,
  std::shared_ptr<Callback> * callback)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  options.kind = CallbackKind::kTimer;
  bool is_ranked = false;
  Status status = configure(&options, *group, &is_ranked);
  options.overrun_rule = options.overrun_rule.value_or(rclrt_core::OverrunRule::kKeepLatest);
  if (status.ok()) {
    status = engine_->add_timer(std::move(options), timer, group, callback);
  }
  if (status.ok() && is_ranked) {
    ranked_[(*callback)->id()] = {*callback, timer.period};
  }
  return status.ok() ? added(*callback) : status;
}

uint64_t ConfiguredEngine::remove(const std::shared_ptr<Callback> & callback)
{
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    ranked_.erase(callback->id());
    inline_.erase(callback->name());
  }
  return engine_->remove(callback);  // may destroy what it refers to, which may come back here
}

Status ConfiguredEngine::set_timer_period(
  const std::shared_ptr<Callback> & timer, rclrt_core::Duration period)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  const Status status = engine_->set_timer_period(timer, period);
  const auto found = ranked_.find(timer->id());
  if (!status.ok() || found == ranked_.end()) {
    return status;
  }
  found->second.period = period;
  return rank_timers();
}

Status ConfiguredEngine::set_attributes(
  const std::shared_ptr<Callback> & callback, const Attributes & attributes)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  Attributes usable = attributes;
  Status status = fit_to_machine("'" + callback->name() + "'", &usable);
  if (status.ok()) {
    status = engine_->set_attributes(callback, usable);
  }
  if (!status.ok()) {
    return status;
  }
  ranked_.erase(callback->id());
  return spinning_ ? make_room() : Status();
}

Status ConfiguredEngine::rank_timers()
{
  std::vector<std::shared_ptr<Callback>> timers;
  std::vector<rclrt_core::PriorityTask> tasks;
  for (const auto & [id, timer] : ranked_) {
    timers.push_back(timer.callback);
    rclrt_core::PriorityTask & task = tasks.emplace_back();
    task.name = timer.callback->name();
    task.period = timer.period;
    task.relative_deadline = timer.callback->relative_deadline();
  }
  Status status = configuration_.derive_priorities(&tasks);
  for (std::size_t i = 0; status.ok() && i < tasks.size(); ++i) {
    const Attributes present = engine_->attributes(*timers[i]);
    Attributes wanted = Configuration::derived_attributes(tasks[i].priority);
    wanted.cpu_affinity = present.cpu_affinity;
    if (wanted != present) {
      status = engine_->set_attributes(timers[i], wanted);
    }
  }
  return status;
}

Status ConfiguredEngine::may_run_inline() const
{
  return engine_->options().attributes_mode != AttributesMode::kRequire
           ? Status()
           : Status::error(
               "attributes are required, but this function runs callbacks with those of the "
               "calling "
               "thread; use spin()");
}

void ConfiguredEngine::report(const Finding & finding) const
{
  const std::lock_guard<PiMutex> lock(findings_mutex_);
  const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const auto & other) {
    return other.subject == finding.subject && other.what == finding.what;
  });
  if (known) {
    return;
  }
  findings_.push_back(finding);
  if (engine_->options().on_finding) {
    engine_->options().on_finding();
  }
}

std::vector<Finding> ConfiguredEngine::findings() const
{
  std::vector<Finding> all = engine_->findings();
  std::unique_lock<PiMutex> choice(mutex_);  // begin_spin() may be choosing it
  const auto deadlines = engine_->deadline_scheduler();
  choice.unlock();
  if (deadlines) {
    const std::vector<Finding> more = deadlines->findings();
    all.insert(all.end(), more.begin(), more.end());
  }
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    const std::vector<Finding> notes = configuration_.notes();
    all.insert(all.end(), notes.begin(), notes.end());
    for (const Unmatched & entry : configuration_.unmatched()) {
      all.push_back(entry.finding);
    }
    for (const auto & [name, publishers] : inline_) {
      if (publishers->load() > 0) {
        all.push_back(
          {name,
           "is queued, although it has an inline_bound: this process publishes on its topic "
           "itself, and the publication might wait for the callback",
           0, "Move the publisher to another process, or remove inline_bound"});
      }
    }
  }
  const std::lock_guard<PiMutex> lock(findings_mutex_);
  all.insert(all.end(), findings_.begin(), findings_.end());
  return all;
}

std::map<std::string, rclrt_core::CallbackStatistics> ConfiguredEngine::statistics() const
{
  std::map<std::string, rclrt_core::CallbackStatistics> all;
  for (const auto & callback : engine_->callbacks()) {
    all[callback->name()] = engine_->statistics(*callback);
  }
  return all;
}

std::map<uint32_t, std::string> ConfiguredEngine::callback_names() const
{
  std::map<uint32_t, std::string> names;
  for (rclrt_core::TracedCallback & callback : engine_->trace_source().callbacks) {
    names[callback.id] = std::move(callback.name);
  }
  return names;
}

}  // namespace rclrt_front_end
