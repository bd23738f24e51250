// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "error_text.hpp"
#include "rclrt_rcl/parameter.hpp"

namespace rclrt_rcl
{
namespace
{

using ::testing::HasSubstr;
using Reason = ParameterError::Reason;

std::vector<ParameterValue> one_of_each()
{
  return {
    {},
    true,
    42,
    1.5,
    "text",
    std::vector<uint8_t>{1, 255},
    std::vector<bool>{true, false},
    std::vector<int>{1, -2},
    std::vector<float>{0.5F},
    std::vector<std::string>{"a", "b"}};
}

TEST(ParameterValue, has_the_type_of_what_it_was_made_of)
{
  uint8_t type = 0;
  for (const auto & value : one_of_each()) {
    EXPECT_EQ(static_cast<uint8_t>(value.type()), type++) << value.to_string();
  }
  EXPECT_EQ(ParameterValue(uint16_t{7}).type(), ParameterType::kInteger);
  EXPECT_EQ(ParameterValue(std::string("s")).type(), ParameterType::kString);
  EXPECT_EQ(ParameterValue(std::vector<const char *>{"s"}).type(), ParameterType::kStringArray);
}

TEST(ParameterValue, comes_back_as_the_type_asked_for_if_it_fits)
{
  EXPECT_EQ(ParameterValue(42).as<int8_t>(), 42);
  EXPECT_EQ(ParameterValue(1.5).as<float>(), 1.5F);
  EXPECT_EQ(ParameterValue("text").as<std::string>(), "text");
  EXPECT_EQ(
    ParameterValue(std::vector<int>{1, 2}).as<std::vector<uint16_t>>(),
    (std::vector<uint16_t>{1, 2}));
  EXPECT_EQ(ParameterValue(std::vector<float>{0.5F}).as<std::vector<double>>().at(0), 0.5);
}

TEST(ParameterValue, says_what_does_not_fit)
{
  EXPECT_EQ(
    error_of([] { ParameterValue(10).as<double>(); }), "the value 10 is integer, not double");
  EXPECT_EQ(reason_of([] { ParameterValue(10).as<double>(); }), Reason::kWrongType);
  EXPECT_EQ(reason_of([] { ParameterValue().as<double>(); }), Reason::kNoValue);
  EXPECT_EQ(
    error_of([] { ParameterValue(300).as<uint8_t>(); }), "the value 300 is outside 0 to 255");
  EXPECT_EQ(reason_of([] { ParameterValue(-1).as<uint64_t>(); }), Reason::kOutOfRange);
  EXPECT_EQ(reason_of([] { ParameterValue value(UINT64_MAX); }), Reason::kOutOfRange);
  EXPECT_EQ(
    error_of([] { Parameter("rate", true).as<std::string>(); }),
    "parameter 'rate': the value true is bool, not string");
}

TEST(ParameterValue, survives_the_way_through_a_message)
{
  for (const auto & value : one_of_each()) {
    EXPECT_EQ(ParameterValue::from_message(value.to_message()), value) << value.to_string();
    EXPECT_EQ(value.to_message().type, static_cast<uint8_t>(value.type()));
  }
  rcl_interfaces::msg::ParameterValue unknown;
  unknown.type = 77;
  EXPECT_THAT(error_of([&] { ParameterValue::from_message(unknown); }), HasSubstr("77"));
}

TEST(ParameterValue, is_written_as_in_yaml)
{
  EXPECT_EQ(ParameterValue(10.0).to_string(), "10.0");
  EXPECT_EQ(ParameterValue(0.1).to_string(), "0.1");
  EXPECT_EQ(ParameterValue(1e100).to_string(), "1e+100");
  EXPECT_EQ(ParameterValue(std::vector<double>{1, 2.5}).to_string(), "[1.0, 2.5]");
  EXPECT_EQ(ParameterValue(std::vector<bool>{true, false}).to_string(), "[true, false]");
  EXPECT_EQ(ParameterValue(std::vector<std::string>{}).to_string(), "[]");
  EXPECT_EQ(ParameterValue("x").to_string(), "\"x\"");
}

}  // namespace
}  // namespace rclrt_rcl
