// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/qos.hpp"

#include "rclrt_rcl/error.hpp"
#include "rmw/qos_profiles.h"
#include "rmw/time.h"

namespace rclrt_rcl
{
namespace
{

rmw_time_t to_rmw(std::chrono::nanoseconds duration, const char * what)
{
  if (duration.count() < 0) {
    throw Error(
      std::string("QoS: ") + what + " of " + std::to_string(duration.count()) +
      " ns is negative; give 0 for none");
  }
  return rmw_time_from_nsec(duration.count());
}

}  // namespace

QoS::QoS(std::size_t depth) : profile_(rmw_qos_profile_default) { keep_last(depth); }

QoS QoS::sensor_data() { return QoS(rmw_qos_profile_sensor_data); }
QoS QoS::services() { return QoS(rmw_qos_profile_services_default); }
QoS QoS::parameters() { return QoS(rmw_qos_profile_parameters); }
QoS QoS::parameter_events() { return QoS(rmw_qos_profile_parameter_events); }
QoS QoS::rosout() { return QoS(1000).transient_local().lifespan(std::chrono::seconds(10)); }
QoS QoS::clock() { return QoS(1).best_effort(); }
QoS QoS::system_defaults() { return QoS(rmw_qos_profile_system_default); }
QoS QoS::best_available() { return QoS(rmw_qos_profile_best_available); }

QoS & QoS::keep_last(std::size_t depth)
{
  profile_.history = RMW_QOS_POLICY_HISTORY_KEEP_LAST;
  profile_.depth = depth;
  return *this;
}
QoS & QoS::keep_all()
{
  profile_.history = RMW_QOS_POLICY_HISTORY_KEEP_ALL;
  profile_.depth = 0;
  return *this;
}
QoS & QoS::reliable()
{
  profile_.reliability = RMW_QOS_POLICY_RELIABILITY_RELIABLE;
  return *this;
}
QoS & QoS::best_effort()
{
  profile_.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  return *this;
}
QoS & QoS::transient_local()
{
  profile_.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
  return *this;
}
QoS & QoS::durability_volatile()
{
  profile_.durability = RMW_QOS_POLICY_DURABILITY_VOLATILE;
  return *this;
}
QoS & QoS::deadline(std::chrono::nanoseconds period)
{
  profile_.deadline = to_rmw(period, "a deadline");
  return *this;
}
QoS & QoS::lifespan(std::chrono::nanoseconds age)
{
  profile_.lifespan = to_rmw(age, "a lifespan");
  return *this;
}
QoS & QoS::liveliness_automatic(std::chrono::nanoseconds lease)
{
  profile_.liveliness = RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  profile_.liveliness_lease_duration = to_rmw(lease, "a liveliness lease");
  return *this;
}
QoS & QoS::liveliness_manual_by_topic(std::chrono::nanoseconds lease)
{
  profile_.liveliness = RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC;
  profile_.liveliness_lease_duration = to_rmw(lease, "a liveliness lease");
  return *this;
}
QoS & QoS::avoid_ros_namespace_conventions(bool avoid)
{
  profile_.avoid_ros_namespace_conventions = avoid;
  return *this;
}

bool compatible(const QoS & publisher, const QoS & subscription, std::string * reason)
{
  rmw_qos_compatibility_type_t result = RMW_QOS_COMPATIBILITY_ERROR;
  char text[1024] = "";
  const rmw_ret_t checked = rmw_qos_profile_check_compatible(
    publisher.profile(), subscription.profile(), &result, text, sizeof(text));
  throw_unless_ok(checked, "comparing QoS");
  if (reason != nullptr) {
    *reason = text;
  }
  return result != RMW_QOS_COMPATIBILITY_ERROR;
}

}  // namespace rclrt_rcl
