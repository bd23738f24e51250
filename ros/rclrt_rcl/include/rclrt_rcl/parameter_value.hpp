// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The value of a parameter: one of ten types, the "not set" among them.
///
///   ParameterValue value = 42;  value.as<int>();  value = std::vector<double>{1, 2};
///
/// Types are kept apart as ROS 2 does: 10 is an integer, 10.0 is a double, and neither is taken for
/// the other.
#ifndef RCLRT_RCL__PARAMETER_VALUE_HPP_
#define RCLRT_RCL__PARAMETER_VALUE_HPP_

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rcl_interfaces/msg/parameter_value.hpp"
#include "rclrt_rcl/parameter_error.hpp"

namespace rclrt_rcl
{

/// With the numbers of rcl_interfaces/msg/ParameterType.
enum class ParameterType : uint8_t
{
  kNotSet = 0,
  kBool = 1,
  kInteger = 2,
  kDouble = 3,
  kString = 4,
  kByteArray = 5,
  kBoolArray = 6,
  kIntegerArray = 7,
  kDoubleArray = 8,
  kStringArray = 9,
};

const char * to_string(ParameterType type) noexcept;

namespace detail
{

/// The type in which a C++ type is kept: integers as int64_t, floats as double, types from which a
/// string can be made as std::string, vectors of these in the same way (but vector<uint8_t> as
/// bytes). `void`: it cannot be kept.
template <typename T>
constexpr auto parameter_scalar()
{
  // NOLINTNEXTLINE(bugprone-branch-clone): they differ in what they return.
  if constexpr (std::is_same_v<T, bool>) {
    return bool();
  } else if constexpr (std::is_integral_v<T>) {
    return int64_t();
  } else if constexpr (std::is_floating_point_v<T>) {
    return double();
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return std::string();
  }
}

template <typename T>
struct KeptAs
{
  using Type = decltype(parameter_scalar<T>());
};
template <>
struct KeptAs<std::vector<uint8_t>>
{
  using Type = std::vector<uint8_t>;
};
template <typename E>
struct KeptAs<std::vector<E>>
{
  using Type = std::vector<decltype(parameter_scalar<E>())>;
};

template <typename T>
using Kept = typename KeptAs<std::decay_t<T>>::Type;

}  // namespace detail

class ParameterValue
{
public:
  /// In the order of ParameterType.
  using Storage = std::variant<
    std::monostate, bool, int64_t, double, std::string, std::vector<uint8_t>, std::vector<bool>,
    std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

  /// Not set.
  ParameterValue() = default;

  /// Errors: an unsigned number beyond 2^63 - 1.
  template <
    typename T,
    typename = std::enable_if_t<
      !std::is_same_v<std::decay_t<T>, ParameterValue> && !std::is_void_v<detail::Kept<T>>>>
  ParameterValue(T && value)  // NOLINT(runtime/explicit)
  : storage_(convert<detail::Kept<T>>(std::forward<T>(value)))
  {
  }

  /// Error: an unknown type.
  static ParameterValue from_message(const rcl_interfaces::msg::ParameterValue & message);
  rcl_interfaces::msg::ParameterValue to_message() const;

  ParameterType type() const noexcept { return static_cast<ParameterType>(storage_.index()); }
  bool is_set() const noexcept { return type() != ParameterType::kNotSet; }

  /// Throws ParameterError if it is of another type, not set, or does not fit into T.
  template <typename T>
  T as() const
  {
    const auto * kept = std::get_if<detail::Kept<T>>(&storage_);
    if (kept == nullptr) {
      throw ParameterError(
        is_set() ? ParameterError::Reason::kWrongType : ParameterError::Reason::kNoValue,
        "the value " + to_string() + " is " + rclrt_rcl::to_string(type()) + ", not " +
          rclrt_rcl::to_string(type_of<T>()));
    }
    return convert<T>(*kept);
  }

  /// As YAML would have it, e.g. `[1.5, 2.0]`, `"text"`.
  std::string to_string() const;

  template <typename T>
  static constexpr ParameterType type_of()
  {
    return static_cast<ParameterType>(
      index_of<detail::Kept<T>>(std::make_index_sequence<std::variant_size_v<Storage>>()));
  }

  const Storage & storage() const noexcept { return storage_; }

  friend bool operator==(const ParameterValue & a, const ParameterValue & b)
  {
    return a.storage_ == b.storage_;
  }
  friend bool operator!=(const ParameterValue & a, const ParameterValue & b) { return !(a == b); }

private:
  template <typename Wanted, std::size_t... index>
  static constexpr std::size_t index_of(std::index_sequence<index...>)
  {
    static_assert(!std::is_void_v<Wanted>, "a parameter cannot have a value of this type");
    return ((std::is_same_v<Wanted, std::variant_alternative_t<index, Storage>> ? index : 0) + ...);
  }

  template <typename To, typename From>
  static To convert(From && from)
  {
    using Source = std::decay_t<From>;
    constexpr bool is_number = std::is_arithmetic_v<To>;
    if constexpr (std::is_same_v<Source, To> || (!is_number && std::is_convertible_v<From, To>)) {
      return std::forward<From>(from);
    } else if constexpr (std::is_integral_v<To> && std::is_integral_v<Source>) {
      return narrow<To>(from);
    } else if constexpr (is_number) {
      return static_cast<To>(from);
    } else {
      To to;
      to.reserve(from.size());
      for (const auto & element : from) {
        to.push_back(convert<typename To::value_type>(element));
      }
      return to;
    }
  }

  template <typename To, typename From>
  static To narrow(From from)
  {
    const To to = static_cast<To>(from);
    if (static_cast<From>(to) != from || (from < From()) != (to < To())) {
      throw ParameterError(
        ParameterError::Reason::kOutOfRange, "the value " + std::to_string(from) + " is outside " +
                                               std::to_string(std::numeric_limits<To>::min()) +
                                               " to " +
                                               std::to_string(std::numeric_limits<To>::max()));
    }
    return to;
  }

  Storage storage_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PARAMETER_VALUE_HPP_
