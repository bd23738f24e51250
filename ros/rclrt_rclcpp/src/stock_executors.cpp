// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// librclrt_stock: rclcpp's own executors spin by the engine. librclrt_run, which is preloaded, opens this library in a
// program that uses rclcpp, and calls the functions below instead of rclcpp's. Those return false if the executor is to go
// on as it is: it is of a class of the program, or the engine could not be made.
//
// The executor stays what it is: its nodes and groups, whether it spins, cancel() and what it throws are rclcpp's. Only
// how it waits and what runs next is ours. So nothing has to be moved, or given back.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): masks of threads are POSIX's

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <vector>

#include "rclcpp/executors.hpp"
#include "rclcpp/version.h"
#include "rclrt_front_end/common_options.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "spinner.hpp"
#include "unserved.hpp"

/// Before it has nodes of its own, apart from the base class's, or is not there.
#define RCLRT_SERVES_EVENTS_EXECUTOR (RCLCPP_VERSION_MAJOR >= 29)
#if RCLRT_SERVES_EVENTS_EXECUTOR
#include "rclcpp/experimental/executors/events_executor/events_executor.hpp"
#endif

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

namespace rclrt_rclcpp
{
namespace
{

using rclcpp::executors::MultiThreadedExecutor;
using rclcpp::executors::SingleThreadedExecutor;
using rclrt_front_end::PiMutex;
using Of = Spinner::Of;
using NodeBase = rclcpp::node_interfaces::NodeBaseInterface;

using Late = std::vector<std::shared_ptr<rclcpp::Waitable>>;

/// From which of its calls a function is ours. An executor that a function makes for one call (rclcpp::spin_some(), the
/// clients of parameters) is not worth an engine, which costs a millisecond and two threads.
enum class Since
{
  kFirstCall,     // of spin()
  kSecondCall,    // of what a program calls in a loop
  kWithTheOthers  // of what other functions call
};

/// One executor, from the first node or group that it is given until it is destroyed.
struct Known
{
  bool is_called = false;
  std::vector<std::weak_ptr<NodeBase>> nodes;
  std::unique_ptr<Spinner> spinner;  ///< null until it spins
  bool is_left_alone = false;
};

/// All executors of the process. The mutex is held while a spinner is made: milliseconds, once.
struct Table
{
  PiMutex mutex;
  std::map<const void *, Known> known;
};

Table & table()
{
  static auto & one = *new Table;  // never destroyed: executors may be static
  return one;
}

#if RCLRT_SERVES_EVENTS_EXECUTOR

using rclcpp::experimental::executors::EventsExecutor;

/// An explicit instantiation may name private members; it defines a function that returns one.
template <typename Tag, typename Tag::Member member>
struct Reveal
{
  friend typename Tag::Member reveal(Tag) { return member; }
};
struct Queue
{
  using Member = rclcpp::experimental::executors::EventsQueue::UniquePtr EventsExecutor::*;
  friend Member reveal(Queue);
};
template struct Reveal<Queue, &EventsExecutor::events_queue_>;
using Entities = rclcpp::executors::ExecutorEntitiesCollection;
struct Refresh
{
  using Member = void (EventsExecutor::*)(const Entities &);
  friend Member reveal(Refresh);
};
template struct Reveal<Refresh, &EventsExecutor::refresh_current_collection>;
struct Current : EventsExecutor
{
  static constexpr auto kCollection = &Current::current_collection_;
};

template <typename CollectionT, typename Key>
void keep(const CollectionT & entities, const Key * key, int id, std::size_t count)
{
  const auto found = entities.find(key);
  const auto entity = found == entities.end() ? nullptr : found->second.entity.lock();
  if (entity) {
    Unserved::instance().keep(entity, {{id, count}});
  }
}

/// It has the middleware tell it of messages as soon as it has a node. From now on it is not told, and what it was told
/// waits for the spinner. Status events are added to `late` instead: the middleware has told what has changed, and would
/// say "nothing" now.
void silence(rclcpp::Executor & any, Late & late)
{
  auto & executor = static_cast<EventsExecutor &>(any);
  using namespace rclcpp::experimental::executors;  // NOLINT(google-build-using-namespace)
  const Entities known = executor.*Current::kCollection;
  (executor.*reveal(Refresh()))(Entities());
  auto & queue = executor.*reveal(Queue());
  for (ExecutorEvent event; queue->dequeue(event, std::chrono::nanoseconds(0));) {
    const auto count = event.num_events;
    if (event.type == SUBSCRIPTION_EVENT) {
      keep(
        known.subscriptions, static_cast<const rcl_subscription_t *>(event.entity_key), 0, count);
    } else if (event.type == SERVICE_EVENT) {
      keep(known.services, static_cast<const rcl_service_t *>(event.entity_key), 0, count);
    } else if (event.type == CLIENT_EVENT) {
      keep(known.clients, static_cast<const rcl_client_t *>(event.entity_key), 0, count);
    } else if (event.type == WAITABLE_EVENT) {
      const auto * const key = static_cast<const rclcpp::Waitable *>(event.entity_key);
      const auto found = known.waitables.find(key);
      const auto waitable = found == known.waitables.end() ? nullptr : found->second.entity.lock();
      if (std::dynamic_pointer_cast<rclcpp::EventHandlerBase>(waitable)) {
        late.push_back(waitable);
      } else {
        keep(known.waitables, key, event.waitable_data, count);
      }
    }  // Timers are looked at anew.
  }
}

bool is_events(rclcpp::Executor & executor) { return typeid(executor) == typeid(EventsExecutor); }

#else

void silence(rclcpp::Executor &, Late &) {}
bool is_events(rclcpp::Executor &) { return false; }

#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
bool is_static(rclcpp::Executor & executor)
{
  // Humble's has nodes of its own, apart from the base class's.
  return !RCLRT_RCLCPP_IS_HUMBLE &&
         typeid(executor) == typeid(rclcpp::executors::StaticSingleThreadedExecutor);
}
#pragma GCC diagnostic pop

/// Whether its class is one that we know. A class that the program derives is not.
bool is_served(rclcpp::Executor & executor)
{
  return typeid(executor) == typeid(MultiThreadedExecutor) ||
         typeid(executor) == typeid(SingleThreadedExecutor) || is_static(executor) ||
         is_events(executor);
}

std::unique_ptr<Spinner> make_spinner(rclcpp::Executor & executor, Late & late)
{
  EngineExecutorOptions options;
  if (typeid(executor) == typeid(MultiThreadedExecutor)) {
    rclrt_front_end::PreemptiveOptions model;
    model.max_threads = static_cast<MultiThreadedExecutor &>(executor).get_number_of_threads();
    return std::make_unique<Spinner>(executor, options, engine_options(model), Of::kWaitSet);
  }
  const rclrt_front_end::PriorityEventsOptions model;
  if (is_events(executor)) {
    return std::make_unique<Spinner>(
      executor, options, engine_options(model), Of::kEvents, [&] { silence(executor, late); });
  }
  return std::make_unique<Spinner>(executor, options, engine_options(model), Of::kWaitSet);
}

/// rclcpp's handler of these logs, and so allocates: for ever, if it has interrupted an allocation. Making a spinner
/// allocates for a millisecond, so this thread is spared them meanwhile.
class WithoutSignals
{
public:
  WithoutSignals()
  {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals &) = delete;
  WithoutSignals & operator=(const WithoutSignals &) = delete;

private:
  sigset_t before_{};
};

/// Null: the executor is to be left alone. `late` is to be run first.
Spinner * spinner_of(rclcpp::Executor & executor, Since since, Late & late)
{
  const std::lock_guard<PiMutex> lock(table().mutex);
  Known & known = table().known[&executor];
  const bool is_now =
    since == Since::kFirstCall || (since == Since::kSecondCall && known.is_called);
  known.is_called |= since != Since::kWithTheOthers;
  if (is_now && !known.spinner && !known.is_left_alone) {
    try {
      const WithoutSignals here;
      known.spinner = make_spinner(executor, late);
    } catch (const std::exception & error) {
      std::fprintf(stderr, "rclrt: an executor runs as without rclrt: %s\n", error.what());
    }
    known.is_left_alone = !known.spinner;
    for (const auto & weak : known.nodes) {
      const auto node = weak.lock();
      if (node && known.spinner) {
        known.spinner->know_node(node);
      }
    }
    known.nodes.clear();
  }
  return known.spinner.get();
}

/// Calls a function of its spinner, if it has one. `name`: the function's. The flag that a thread spins is set before the
/// spinner is made, as by rclcpp's own: a cancel() meanwhile is for this spin.
template <typename... ArgumentsT>
bool spin(
  void * stock, Since since, const char * name, void (Spinner::*function)(ArgumentsT...),
  ArgumentsT... arguments)
{
  auto & executor = *static_cast<rclcpp::Executor *>(stock);
  if (!is_served(executor)) {
    return false;
  }
  std::atomic_bool & flag = BaseClass(executor).spinning();
  std::optional<Spinning> spinning;
  if (since != Since::kWithTheOthers) {
    spinning.emplace(flag, name);
  }
  Late late;
  Spinner * const spinner = spinner_of(executor, since, late);
  for (const auto & waitable : late) {
    detail::execute(*waitable, waitable->take_data());
  }
  if (!spinner) {
    return spinning && !flag;  // cancelled meanwhile
  }
  (spinner->*function)(arguments...);
  return true;
}

}  // namespace
}  // namespace rclrt_rclcpp

using rclrt_rclcpp::Since;
using rclrt_rclcpp::Spinner;

RCLRT_EXPORT bool rclrt_stock_spin(void * executor)
{
  return rclrt_rclcpp::spin(executor, Since::kFirstCall, "spin()", &Spinner::spin);
}

RCLRT_EXPORT bool rclrt_stock_spin_some(void * executor, int64_t max_duration)
{
  return rclrt_rclcpp::spin(
    executor, Since::kSecondCall, "spin_some()", &Spinner::spin_some,
    std::chrono::nanoseconds(max_duration));
}

RCLRT_EXPORT bool rclrt_stock_spin_all(void * executor, int64_t max_duration)
{
  return rclrt_rclcpp::spin(
    executor, Since::kSecondCall, "spin_all()", &Spinner::spin_all,
    std::chrono::nanoseconds(max_duration));
}

RCLRT_EXPORT bool rclrt_stock_spin_once(void * executor, int64_t timeout)
{
  return rclrt_rclcpp::spin(
    executor, Since::kSecondCall, "spin_once()", &Spinner::spin_once,
    std::chrono::nanoseconds(timeout));
}

RCLRT_EXPORT bool rclrt_stock_spin_once_impl(void * executor, int64_t timeout)
{
  return rclrt_rclcpp::spin(
    executor, Since::kWithTheOthers, "", &Spinner::spin_once_impl,
    std::chrono::nanoseconds(timeout));
}

/// A node or a group has left the executor, or its events executor looks for what has changed: when this returns, the
/// middleware tells the executor nothing of what is gone, so that another one can have it.
RCLRT_EXPORT bool rclrt_stock_update(void * executor)
{
  Spinner * spinner = nullptr;
  {
    const std::lock_guard<rclrt_rclcpp::PiMutex> lock(rclrt_rclcpp::table().mutex);
    const auto found = rclrt_rclcpp::table().known.find(executor);
    spinner = found == rclrt_rclcpp::table().known.end() ? nullptr : found->second.spinner.get();
  }
  if (spinner) {
    spinner->update();
  }
  return spinner != nullptr;
}

/// `node`: the std::shared_ptr that add_node() or add_callback_group() was given.
RCLRT_EXPORT void rclrt_stock_add_node(void * executor, const void * node)
{
  if (!rclrt_rclcpp::is_served(*static_cast<rclcpp::Executor *>(executor))) {
    return;
  }
  const auto & added = *static_cast<const std::shared_ptr<rclrt_rclcpp::NodeBase> *>(node);
  const std::lock_guard<rclrt_rclcpp::PiMutex> lock(rclrt_rclcpp::table().mutex);
  auto & known = rclrt_rclcpp::table().known[executor];
  if (known.spinner) {
    known.spinner->know_node(added);
  } else if (!known.is_left_alone) {
    known.nodes.push_back(added);
  }
}

/// The executor is about to be destroyed.
RCLRT_EXPORT void rclrt_stock_forget(void * executor)
{
  std::unique_ptr<Spinner> spinner;
  {
    const std::lock_guard<rclrt_rclcpp::PiMutex> lock(rclrt_rclcpp::table().mutex);
    auto & all = rclrt_rclcpp::table().known;
    const auto found = all.find(executor);
    if (found != all.end()) {
      spinner = std::move(found->second.spinner);
      all.erase(found);
    }
  }
  if (spinner) {
    Spinner::end(std::move(spinner));
  }
}

RCLRT_EXPORT void * rclrt_stock_find_next(const char * name) noexcept
{
  using Find = void * (*)(const char *);
  static const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "rclrt_find_next"));
  return find ? find(name) : nullptr;
}
