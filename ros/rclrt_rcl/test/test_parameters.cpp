// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of parameters, without a node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_text.hpp"
#include "parameters_fixture.hpp"

namespace rclrt_rcl
{
namespace
{

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reason = ParameterError::Reason;

TEST_F(ParametersRules, a_declared_parameter_can_be_read_and_set)
{
  const auto parameters = make();
  EXPECT_EQ(parameters->declare("rate", 10.0), 10.0);
  EXPECT_TRUE(parameters->has("rate"));
  EXPECT_EQ(parameters->get("rate").as<double>(), 10.0);
  EXPECT_EQ(refusal(*parameters, "rate", 20.0), "accepted");
  EXPECT_EQ(parameters->get("rate").as<double>(), 20.0);
}

TEST_F(ParametersRules, misuse_is_an_error_that_names_node_and_parameter)
{
  const auto parameters = make();
  parameters->declare("rate", 10.0);
  parameters->declare("fixed", 1, read_only());
  EXPECT_EQ(reason_of([&] { parameters->declare("rate", 1.0); }), Reason::kAlreadyDeclared);
  EXPECT_EQ(
    error_of([&] { parameters->declare("rate", 1.0); }),
    "parameter 'rate' of '/node' is declared already");
  EXPECT_EQ(reason_of([&] { parameters->declare("", 1.0); }), Reason::kInvalidName);
  EXPECT_EQ(reason_of([&] { parameters->get("ratio"); }), Reason::kUndeclared);
  EXPECT_THAT(
    error_of([&] { parameters->get("ratio"); }),
    AllOf(HasSubstr("'ratio' of '/node' is not declared"), HasSubstr("declare_parameter")));
  EXPECT_EQ(
    reason_of([&] { parameters->set_atomically({Parameter("ratio", 1)}); }), Reason::kUndeclared);
  EXPECT_EQ(reason_of([&] { parameters->undeclare("ratio"); }), Reason::kUndeclared);
  EXPECT_EQ(reason_of([&] { parameters->undeclare("fixed"); }), Reason::kReadOnly);
  EXPECT_EQ(reason_of([&] { parameters->describe({"ratio"}); }), Reason::kUndeclared);
  EXPECT_EQ(reason_of([&] { parameters->declare("nothing", {}); }), Reason::kWrongType);
  EXPECT_EQ(
    reason_of([&] { parameters->declare("x", 1, ParameterDescriptor(), ParameterType::kDouble); }),
    Reason::kWrongType);
}

TEST_F(ParametersRules, the_type_is_fixed_unless_it_is_declared_dynamic)
{
  const auto parameters = make();
  parameters->declare("rate", 10.0);
  parameters->declare("any", 1, dynamic());
  EXPECT_EQ(
    refusal(*parameters, "rate", 20),
    "parameter 'rate' of '/node': wrong type: 20 is integer, the parameter is double; write 20.0");
  EXPECT_THAT(refusal(*parameters, "rate", {}), HasSubstr("cannot be removed"));
  EXPECT_EQ(parameters->get("rate").as<double>(), 10.0);
  EXPECT_EQ(refusal(*parameters, "any", "text"), "accepted");
  EXPECT_EQ(parameters->get("any").as<std::string>(), "text");
  EXPECT_EQ(refusal(*parameters, "any", {}), "accepted");
  EXPECT_FALSE(parameters->has("any"));
}

TEST_F(ParametersRules, a_read_only_parameter_is_set_by_an_override_only)
{
  const auto parameters = make({{"fixed", 2}});
  EXPECT_EQ(parameters->declare("fixed", 1, read_only()), 2);
  EXPECT_THAT(refusal(*parameters, "fixed", 3), HasSubstr("read-only"));
  EXPECT_EQ(parameters->get("fixed").as<int>(), 2);
}

TEST_F(ParametersRules, integers_stay_in_their_range)
{
  ParameterDescriptor descriptor;
  descriptor.integer_range.resize(1);
  descriptor.integer_range[0].from_value = -10;
  descriptor.integer_range[0].to_value = 11;
  descriptor.integer_range[0].step = 5;
  const auto parameters = make();
  parameters->declare("n", 0, descriptor);
  for (const int good : {-10, -5, 10, 11}) {
    EXPECT_EQ(refusal(*parameters, "n", good), "accepted");
  }
  EXPECT_THAT(refusal(*parameters, "n", 12), HasSubstr("12 is out of range, must be -10 to 11"));
  EXPECT_THAT(refusal(*parameters, "n", -11), HasSubstr("out of range"));
  EXPECT_THAT(refusal(*parameters, "n", 3), HasSubstr("-10 to 11 in steps of 5"));
  EXPECT_EQ(reason_of([&] { parameters->declare("m", 3, descriptor); }), Reason::kOutOfRange);
  EXPECT_EQ(reason_of([&] { parameters->declare("d", 3.0, descriptor); }), Reason::kWrongType);
}

TEST_F(ParametersRules, doubles_stay_in_their_range_but_for_rounding)
{
  ParameterDescriptor descriptor;
  descriptor.floating_point_range.resize(1);
  descriptor.floating_point_range[0].from_value = 0.0;
  descriptor.floating_point_range[0].to_value = 1.0;
  descriptor.floating_point_range[0].step = 0.1;
  const auto parameters = make();
  parameters->declare("x", 0.5, descriptor);
  EXPECT_EQ(refusal(*parameters, "x", 0.1 + 0.1 + 0.1), "accepted");
  EXPECT_EQ(refusal(*parameters, "x", 1.0), "accepted");
  EXPECT_THAT(refusal(*parameters, "x", 0.55), HasSubstr("in steps of 0.1"));
  EXPECT_THAT(refusal(*parameters, "x", 1.1), HasSubstr("0.0 to 1.0"));
}

TEST_F(ParametersRules, an_override_counts_more_than_the_default_but_keeps_the_rules)
{
  const auto parameters = make({{"rate", 20.0}, {"wrong", "text"}});
  EXPECT_EQ(parameters->declare("rate", 10.0), 20.0);
  EXPECT_EQ(reason_of([&] { parameters->declare("wrong", 10.0); }), Reason::kWrongType);
  EXPECT_THAT(
    error_of([&] { parameters->declare("wrong", 10.0); }),
    HasSubstr("override (command line or file) of parameter 'wrong' of '/node': wrong type"));
  EXPECT_EQ(
    parameters->declare("wrong", 10.0, ParameterDescriptor(), ParameterType::kNotSet, true), 10.0);
}

TEST_F(ParametersRules, a_parameter_without_a_default_has_no_value_until_it_gets_one)
{
  const auto parameters = make({{"given", 3}});
  const ParameterDescriptor none;
  EXPECT_EQ(parameters->declare("given", {}, none, ParameterType::kInteger), 3);
  EXPECT_FALSE(parameters->declare("open", {}, none, ParameterType::kInteger).is_set());
  EXPECT_EQ(reason_of([&] { parameters->get("open"); }), Reason::kNoValue);
  EXPECT_THAT(refusal(*parameters, "open", 1.5), HasSubstr("wrong type"));
  EXPECT_EQ(refusal(*parameters, "open", 1), "accepted");
  EXPECT_EQ(parameters->get("open").as<int>(), 1);
}

TEST_F(ParametersRules, undeclared_ones_are_usable_if_allowed)
{
  const auto parameters = make({}, true);
  EXPECT_EQ(parameters->get("x").type(), ParameterType::kNotSet);
  EXPECT_EQ(refusal(*parameters, "x", 1), "accepted");
  EXPECT_EQ(refusal(*parameters, "x", "text"), "accepted");
  EXPECT_EQ(parameters->get("x").as<std::string>(), "text");
}

TEST_F(ParametersRules, a_change_of_several_is_all_or_nothing)
{
  const auto parameters = make();
  parameters->declare("a", 1);
  parameters->declare("b", 1);
  EXPECT_FALSE(parameters->set_atomically({Parameter("a", 2), Parameter("b", "wrong")}).successful);
  EXPECT_EQ(parameters->get("a").as<int>(), 1);
  EXPECT_TRUE(parameters->set_atomically({Parameter("a", 2), Parameter("b", 3)}).successful);
  EXPECT_EQ(parameters->get("a").as<int>(), 2);
  EXPECT_EQ(parameters->get("b").as<int>(), 3);
}

TEST_F(ParametersRules, lists_follow_prefixes_and_depth)
{
  const auto parameters = make();
  for (const char * name : {"top", "arm.left", "arm.gripper.force", "army", "leg.left"}) {
    parameters->declare(name, 1);
  }
  const auto names = [&](const std::vector<std::string> & prefixes, uint64_t depth) {
    return parameters->list(prefixes, depth).names;
  };
  EXPECT_THAT(
    names({}, 0), ElementsAre("arm.gripper.force", "arm.left", "army", "leg.left", "top"));
  EXPECT_THAT(names({}, 1), ElementsAre("army", "top"));
  EXPECT_THAT(names({"arm"}, 0), ElementsAre("arm.gripper.force", "arm.left"));
  EXPECT_THAT(names({"arm"}, 1), ElementsAre("arm.left"));
  EXPECT_THAT(names({"top", "leg"}, 0), ElementsAre("leg.left", "top"));
  EXPECT_THAT(
    parameters->list({"arm", "leg"}, 0).prefixes, ElementsAre("arm", "arm.gripper", "leg"));
  EXPECT_EQ(parameters->get_by_prefix("arm").size(), 2U);
  EXPECT_EQ(parameters->get_by_prefix("arm").at("gripper.force"), 1);
}

TEST_F(ParametersRules, descriptors_have_name_and_type_filled_in)
{
  const auto parameters = make();
  ParameterDescriptor descriptor;
  descriptor.description = "how often";
  parameters->declare("rate", 10.0, descriptor);
  const auto described = parameters->describe({"rate"}).at(0);
  EXPECT_EQ(described.name, "rate");
  EXPECT_EQ(described.type, static_cast<uint8_t>(ParameterType::kDouble));
  EXPECT_EQ(described.description, "how often");
}

}  // namespace
}  // namespace rclrt_rcl
