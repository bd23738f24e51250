// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "status_source.hpp"

#include <iterator>
#include <map>
#include <mutex>

#include "rclrt_front_end/status_event_on_rcl.hpp"

namespace rclrt_rclcpp
{
namespace
{

using Event = StatusSource::Event;

rcl_event_t & handle_of(Event & event)
{
  struct Opened : Event
  {
    static auto handle() { return &Opened::event_handle_; }
  };
  return event.*Opened::handle();
}

rmw_event_type_t kind_of(Event & event)
{
  return rcl_event_get_rmw_handle(&handle_of(event))->event_type;
}

template <typename Status>
class SourceOf : public StatusSource
{
public:
  std::shared_ptr<void> take(Event & event) override
  {
    Status status{};
    return status_.take(handle_of(event), &status) ? std::make_shared<Status>(status) : nullptr;
  }
  bool look(Event & event) override { return status_.look(handle_of(event)); }
  Undo listen(const std::shared_ptr<Event> & event, const Announce & announced) override
  {
    const Token token = make_token(announced);
    constexpr rcl_event_callback_t kCall = &announce;
    const rcl_ret_t result = status_.template listen<kCall>(handle_of(*event), token);
    if (result != RCL_RET_OK) {
      take_back(token);
      rclcpp::exceptions::throw_from_rcl_error(result, "failed to set the callback of an event");
    }
    return [weak = std::weak_ptr<Event>(event), token] {
      const auto present = weak.lock();
      if (present && rcl_event_set_callback(&handle_of(*present), nullptr, nullptr) != RCL_RET_OK) {
        rcl_reset_error();
      }
      take_back(token);
    };
  }

private:
  rclrt_front_end::StatusEvent<Status> status_;
};

std::shared_ptr<StatusSource> make_source(rmw_event_type_t kind)
{
  switch (kind) {
    case RMW_EVENT_LIVELINESS_CHANGED:
      return std::make_shared<SourceOf<rmw_liveliness_changed_status_t>>();
    case RMW_EVENT_REQUESTED_DEADLINE_MISSED:
      return std::make_shared<SourceOf<rmw_requested_deadline_missed_status_t>>();
    case RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE:
      return std::make_shared<SourceOf<rmw_requested_qos_incompatible_event_status_t>>();
    case RMW_EVENT_MESSAGE_LOST:
      return std::make_shared<SourceOf<rmw_message_lost_status_t>>();
    case RMW_EVENT_LIVELINESS_LOST:
      return std::make_shared<SourceOf<rmw_liveliness_lost_status_t>>();
    case RMW_EVENT_OFFERED_DEADLINE_MISSED:
      return std::make_shared<SourceOf<rmw_offered_deadline_missed_status_t>>();
    case RMW_EVENT_OFFERED_QOS_INCOMPATIBLE:
      return std::make_shared<SourceOf<rmw_offered_qos_incompatible_event_status_t>>();
#if !RCLRT_RCLCPP_IS_HUMBLE  // which has no such events
    case RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE:
    case RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE:
      return std::make_shared<SourceOf<rmw_incompatible_type_status_t>>();
    case RMW_EVENT_SUBSCRIPTION_MATCHED:
    case RMW_EVENT_PUBLICATION_MATCHED:
      return std::make_shared<SourceOf<rmw_matched_status_t>>();
#endif
    default:
      return nullptr;
  }
}

/// Does not keep events alive.
struct Sources
{
  using Known = std::pair<std::weak_ptr<Event>, std::shared_ptr<StatusSource>>;
  rclrt_front_end::PiMutex mutex;
  std::map<const Event *, Known> all;
};

}  // namespace

std::shared_ptr<StatusSource> StatusSource::of(const std::shared_ptr<Event> & event)
{
  static auto & sources = *new Sources;  // never destroyed: executors may outlive what is static
  const std::lock_guard<rclrt_front_end::PiMutex> lock(sources.mutex);
  for (auto known = sources.all.begin(); known != sources.all.end();) {
    known = known->second.first.expired() ? sources.all.erase(known) : std::next(known);
  }
  auto & known = sources.all[event.get()];
  if (!known.second) {
    known = {event, make_source(kind_of(*event))};
  }
  return known.second;
}

bool StatusSource::is_looked_for(Event & event)
{
  return rclrt_front_end::is_looked_for(kind_of(event));
}

}  // namespace rclrt_rclcpp
