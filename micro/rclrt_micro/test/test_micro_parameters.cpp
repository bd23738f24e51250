// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters and /rosout as another node sees them: its messages are made from rcl_interfaces' own .msg and .srv files.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "rcl_interfaces.h"
#include "std_msgs.h"
}
#include "rclrt_micro/parameters.h"
#include "system.hpp"

namespace
{
#define REQUEST(name) rcl_interfaces__srv__##name##_Request
#define RESPONSE(name) rcl_interfaces__srv__##name##_Response
#define CALL(name, service, request)                      \
  call<RESPONSE(name)>(                                   \
    service, rcl_interfaces__srv__##name##_Request__type, \
    rcl_interfaces__srv__##name##_Response__type, &(request))

class Parameters : public ::testing::Test
{
protected:
  void SetUp() override
  {
    RigOptions with;
    with.capacity = 512;
    with.byte_ns = 10'000;
    system = std::make_unique<System>(with);
    must(rclrt_session_connect(&system->session, 5000 * kMs));
    must(rclrt_node_init(&system->node, &system->session, "board/arm", 0));
    must(rclrt_parameters_init(&parameters, &system->node, &system->executor, table, 5, 3));
    parameters.context = this;
    parameters.may_change =
      [](void *, const rclrt_parameter * of, const rclrt_parameter_value * value) -> const char * {
      return std::strcmp(of->name, "gain") == 0 && value->real < 0 ? "gain is never negative"
                                                                   : nullptr;
    };
    parameters.on_change = [](void * context, const rclrt_parameter * of) {
      static_cast<Parameters *>(context)->changed.emplace_back(of->name);
    };
  }

  // A request as of another node; empty if there is no answer.
  template <typename Response>
  std::unique_ptr<Response> call(
    const char * service, const rclrt_type & request_type, const rclrt_type & response_type,
    const void * request)
  {
    struct Answer
    {
      Response response{};
      bool came = false;
    };
    auto answer = std::make_unique<Answer>();
    rclrt_client client;
    EXPECT_EQ(
      rclrt_client_init(&client, &system->node, &request_type, &response_type, service, 2),
      RCLRT_OK);
    EXPECT_EQ(
      rclrt_executor_add_client(
        &system->executor, &client, &answer->response,
        [](void * of, const void *, uint16_t) { static_cast<Answer *>(of)->came = true; },
        answer.get(), 2),
      RCLRT_OK);
    system->spin_for(200);
    EXPECT_EQ(rclrt_client_request(&client, request, nullptr), RCLRT_OK);
    system->spin_for(500);
    EXPECT_EQ(rclrt_client_fini(&client), RCLRT_OK);
    return answer->came ? std::make_unique<Response>(answer->response) : nullptr;
  }

  // The reasons of the answer, "" for what was taken over.
  std::vector<std::string> set(std::vector<rcl_interfaces__msg__Parameter> values)
  {
    REQUEST(SetParameters) request{};
    request.parameters.size = static_cast<uint32_t>(values.size());
    std::copy(values.begin(), values.end(), request.parameters.data);
    const auto response = CALL(SetParameters, "/board/arm/set_parameters", request);
    std::vector<std::string> reasons;
    for (uint32_t i = 0; response != nullptr && i < response->results.size; ++i) {
      const auto & result = response->results.data[i];
      EXPECT_EQ(result.successful, result.reason[0] == 0);
      reasons.emplace_back(result.reason);
    }
    return reasons;
  }

  static rcl_interfaces__msg__Parameter value(const char * name, uint8_t type)
  {
    rcl_interfaces__msg__Parameter parameter{};
    std::strcpy(parameter.name, name);
    parameter.value.type = type;
    // Arrays that are not of its type: what the four kinds of values come with.
    parameter.value.integer_array_value.size = 1;
    parameter.value.integer_array_value.data[0] = -1;
    parameter.value.string_array_value.size = 1;
    std::strcpy(parameter.value.string_array_value.data[0], "no");
    return parameter;
  }
  static rcl_interfaces__msg__Parameter integer(const char * name, int64_t number)
  {
    auto parameter = value(name, RCLRT_PARAMETER_INTEGER);
    parameter.value.integer_value = number;
    return parameter;
  }
  static rcl_interfaces__msg__Parameter real(const char * name, double number)
  {
    auto parameter = value(name, RCLRT_PARAMETER_DOUBLE);
    parameter.value.double_value = number;
    return parameter;
  }
  static rcl_interfaces__msg__Parameter text(const char * name, const char * what)
  {
    auto parameter = value(name, RCLRT_PARAMETER_STRING);
    std::strcpy(parameter.value.string_value, what);
    return parameter;
  }

  std::unique_ptr<System> system;
  rclrt_parameters parameters{};
  char name[8] = "left";
  rclrt_parameter table[5] = {
    {"gain", "of the loop", RCLRT_PARAMETER_DOUBLE, false, {}, 0, 0},
    {"motor.limit", nullptr, RCLRT_PARAMETER_INTEGER, false, {}, -5, 100},
    {"motor.name", nullptr, RCLRT_PARAMETER_STRING, false, {}, 0, 0},
    {"motor.pwm.on", nullptr, RCLRT_PARAMETER_BOOL, false, {}, 0, 0},
    {"version", nullptr, RCLRT_PARAMETER_INTEGER, true, {}, 0, 0}};
  std::vector<std::string> changed;

  Parameters()
  {
    table[0].value.real = 0.5;
    table[1].value.integer = 10;
    table[2].value.string = {name, sizeof(name)};
    table[3].value.boolean = true;
    table[4].value.integer = 7;
  }
};

TEST_F(Parameters, have_values_types_and_descriptions)
{
  REQUEST(GetParameters) names{};
  const char * const asked[] = {"gain", "motor.name", "none"};
  names.names.size = 3;
  for (int i = 0; i < 3; ++i) {
    std::strcpy(names.names.data[i], asked[i]);
  }
  const auto values = CALL(GetParameters, "/board/arm/get_parameters", names);
  ASSERT_NE(values, nullptr);
  ASSERT_EQ(values->values.size, 3U);
  EXPECT_EQ(values->values.data[0].type, RCLRT_PARAMETER_DOUBLE);
  EXPECT_EQ(values->values.data[0].double_value, 0.5);
  EXPECT_STREQ(values->values.data[1].string_value, "left");
  EXPECT_EQ(values->values.data[2].type, RCLRT_PARAMETER_NOT_SET);

  REQUEST(GetParameterTypes) same{};
  std::memcpy(&same, &names, sizeof(same));
  const auto types = CALL(GetParameterTypes, "/board/arm/get_parameter_types", same);
  ASSERT_NE(types, nullptr);
  ASSERT_EQ(types->types.size, 3U);
  EXPECT_EQ(types->types.data[1], RCLRT_PARAMETER_STRING);
  EXPECT_EQ(types->types.data[2], RCLRT_PARAMETER_NOT_SET);

  REQUEST(DescribeParameters) described{};
  std::memcpy(&described, &names, sizeof(described));
  std::strcpy(described.names.data[1], "motor.limit");
  std::strcpy(described.names.data[2], "version");
  const auto all = CALL(DescribeParameters, "/board/arm/describe_parameters", described);
  ASSERT_NE(all, nullptr);
  ASSERT_EQ(all->descriptors.size, 3U);
  EXPECT_STREQ(all->descriptors.data[0].description, "of the loop");
  ASSERT_EQ(all->descriptors.data[1].integer_range.size, 1U);
  EXPECT_EQ(all->descriptors.data[1].integer_range.data[0].from_value, -5);
  EXPECT_EQ(all->descriptors.data[1].integer_range.data[0].to_value, 100);
  EXPECT_TRUE(all->descriptors.data[2].read_only);
  EXPECT_FALSE(all->descriptors.data[1].read_only);
}

TEST_F(Parameters, are_set_if_they_fit_and_refused_with_the_reason)
{
  EXPECT_EQ(
    set({real("gain", 0.25), integer("motor.limit", 100), text("motor.name", "right")}),
    std::vector<std::string>(3));
  EXPECT_EQ(table[0].value.real, 0.25);
  EXPECT_EQ(table[1].value.integer, 100);
  EXPECT_STREQ(name, "right");
  EXPECT_EQ(changed, (std::vector<std::string>{"gain", "motor.limit", "motor.name"}));

  EXPECT_EQ(
    set({real("gain", -1), integer("motor.limit", 101), text("motor.name", "much longer")}),
    (std::vector<std::string>{
      "gain is never negative", "the value is out of range", "the text is too long"}));
  EXPECT_EQ(
    set({integer("version", 8), integer("gain", 1), integer("none", 1)}),
    (std::vector<std::string>{
      "the parameter is read-only", "the parameter has another type",
      "there is no such parameter"}));
  EXPECT_EQ(table[0].value.real, 0.25);
  EXPECT_EQ(table[1].value.integer, 100);
  EXPECT_EQ(table[4].value.integer, 7);
  EXPECT_STREQ(name, "right");
  EXPECT_EQ(changed.size(), 3U);
}

TEST_F(Parameters, are_set_all_or_none)
{
  for (const int64_t limit : {101, 50}) {
    REQUEST(SetParametersAtomically) request{};
    request.parameters.size = 2;
    request.parameters.data[0] = real("gain", 2);
    request.parameters.data[1] = integer("motor.limit", limit);
    const auto response =
      CALL(SetParametersAtomically, "/board/arm/set_parameters_atomically", request);
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->result.successful, limit == 50);
    EXPECT_EQ(table[0].value.real, limit == 50 ? 2 : 0.5);
    EXPECT_EQ(table[1].value.integer, limit == 50 ? 50 : 10);
  }
}

TEST_F(Parameters, are_listed_by_prefix_and_depth)
{
  // More than the room of the generated message: 3 names.
  const auto list = [this](std::vector<std::string> prefixes, uint64_t depth) {
    REQUEST(ListParameters) request{};
    request.prefixes.size = static_cast<uint32_t>(prefixes.size());
    for (size_t i = 0; i < prefixes.size(); ++i) {
      std::strcpy(request.prefixes.data[i], prefixes[i].c_str());
    }
    request.depth = depth;
    const auto response = CALL(ListParameters, "/board/arm/list_parameters", request);
    std::string names;
    for (uint32_t i = 0; response != nullptr && i < response->result.names.size; ++i) {
      names += std::string(response->result.names.data[i]) + " ";
    }
    names += "|";
    for (uint32_t i = 0; response != nullptr && i < response->result.prefixes.size; ++i) {
      names += std::string(" ") + response->result.prefixes.data[i];
    }
    return response == nullptr ? std::string("no answer") : names;
  };
  EXPECT_EQ(list({}, 1), "gain version |");
  EXPECT_EQ(list({"motor"}, 0), "motor.limit motor.name motor.pwm.on | motor motor.pwm");
  EXPECT_EQ(list({"motor"}, 1), "motor.limit motor.name | motor");
  EXPECT_EQ(list({"motor.pwm", "gain"}, 1), "gain motor.pwm.on | motor.pwm");
  EXPECT_EQ(list({"mot"}, 0), "|");
}

TEST_F(Parameters, of_which_too_many_are_asked_for_at_once_are_refused_and_counted)
{
  // By hand: a request with nine names.
  static const rclrt_type nine = {
    "rcl_interfaces::srv::dds_::GetParameters_Request_",
    [](const void *, rclrt_writer * writer) {
      rclrt_write_count(writer, RCLRT_PARAMETERS_AT_ONCE + 1);
      for (unsigned i = 0; i <= RCLRT_PARAMETERS_AT_ONCE; ++i) {
        rclrt_write_string(writer, "gain");
      }
    },
    nullptr};
  EXPECT_EQ(
    call<RESPONSE(GetParameters)>(
      "/board/arm/get_parameters", nine, rcl_interfaces__srv__GetParameters_Response__type, this),
    nullptr);
  EXPECT_EQ(parameters.services[0].undecodable, 1U);
}

TEST_F(Parameters, make_room_when_they_go_and_can_come_again)
{
  const size_t objects = system->agent.objects();
  EXPECT_EQ(rclrt_parameters_fini(&parameters), RCLRT_OK);
  EXPECT_EQ(system->agent.objects(), objects - 6);
  EXPECT_EQ(rclrt_parameters_fini(&parameters), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(
    rclrt_parameters_init(&parameters, &system->node, &system->executor, table, 5, 3), RCLRT_OK);
  EXPECT_EQ(system->agent.objects(), objects);
}

TEST_F(Parameters, that_cannot_be_are_refused)
{
  rclrt_parameters other;
  table[1].type = RCLRT_PARAMETER_NOT_SET;
  EXPECT_EQ(
    rclrt_parameters_init(&other, &system->node, &system->executor, table, 5, 3),
    RCLRT_ERR_ARGUMENT);
  table[1].type = RCLRT_PARAMETER_INTEGER;
  table[2].value.string.text = nullptr;
  EXPECT_EQ(
    rclrt_parameters_init(&other, &system->node, &system->executor, table, 5, 3),
    RCLRT_ERR_ARGUMENT);
  must(rclrt_executor_set_semantics(&system->executor, RCLRT_SEMANTICS_LET));
  EXPECT_EQ(
    rclrt_parameters_init(&other, &system->node, &system->executor, table, 2, 3),
    RCLRT_ERR_UNSUPPORTED);
}

TEST_F(Parameters, beside_them_what_the_program_says_is_on_rosout)
{
  struct Seen
  {
    rcl_interfaces__msg__Log log{};
    int count = 0;
  } seen;
  rclrt_subscription subscription;
  rclrt_rosout rosout;
  must(rclrt_subscription_init(
    &subscription, &system->node, &rcl_interfaces__msg__Log__type, "/rosout",
    rclrt_qos_reliable()));
  must(rclrt_executor_add_subscription(
    &system->executor, &subscription, &seen.log,
    [](void * context, const void *) { ++static_cast<Seen *>(context)->count; }, &seen, 1,
    RCLRT_ON_NEW_DATA));
  must(rclrt_rosout_init(&rosout, &system->node, 0));
  system->spin_for(200);
  system->session.clock_offset_ns = 1'700'000'000'500'000'000;
  EXPECT_EQ(RCLRT_LOG(&rosout, DEBUG, "not sent"), RCLRT_OK);
  EXPECT_EQ(RCLRT_LOG(&rosout, WARN, "too hot"), RCLRT_OK);
  const auto line = static_cast<uint32_t>(__LINE__) - 1;
  system->spin_for(200);
  EXPECT_EQ(seen.count, 1);
  EXPECT_STREQ(seen.log.msg, "too hot");
  EXPECT_STREQ(seen.log.name, "board.arm");
  EXPECT_EQ(seen.log.level, 30);
  EXPECT_EQ(seen.log.line, line);
  EXPECT_STREQ(seen.log.file, __FILE__);
  EXPECT_GE(seen.log.stamp.sec, 1'700'000'000);
  EXPECT_LT(seen.log.stamp.nanosec, 1'000'000'000U);
  EXPECT_EQ(rclrt_rosout_fini(&rosout), RCLRT_OK);
}

// What names become is seen at the agent, which knows topics by their names in DDS.
TEST(Names, are_full_ones_in_the_namespace_of_their_node)
{
  System system;
  must(rclrt_session_connect(&system.session, 5000 * kMs));
  must(rclrt_node_init(&system.node, &system.session, "/board/arm", 0));
  std::vector<std::string> topics;
  system.agent.on_data = [&topics](const std::string & topic, const Agent::Bytes &) {
    topics.push_back(topic);
  };
  static const rclrt_remap remaps[] = {{"chatter", "/talk"}, {"/a/b", "c"}, {"~/x", "~/y"}};
  EXPECT_EQ(rclrt_node_set_remaps(nullptr, remaps, 3), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_node_set_remaps(&system.node, nullptr, 1), RCLRT_ERR_ARGUMENT);
  const char * const names[] = {"chatter", "/chatter",       "~/state", "~/x",
                                "/a/b",    "/board/chatter", "chat"};
  for (const bool remapped : {false, true}) {
    must(rclrt_node_set_remaps(&system.node, remaps, remapped ? uint8_t{3} : uint8_t{0}));
    for (const char * name : names) {
      rclrt_publisher publisher;
      const Blob blob;
      must(rclrt_publisher_init(&publisher, &system.node, &kBlob, name, rclrt_qos_reliable(), 1));
      must(rclrt_publish(&publisher, &blob));
      system.spin_for(100);
      must(rclrt_publisher_fini(&publisher));
    }
  }
  const std::vector<std::string> wanted = {
    "rt/board/chatter", "rt/chatter",         "rt/board/arm/state", "rt/board/arm/x",
    "rt/a/b",           "rt/board/chatter",   "rt/board/chat",      "rt/talk",
    "rt/chatter",       "rt/board/arm/state", "rt/board/arm/y",     "rt/board/c",
    "rt/talk",          "rt/board/chat"};
  EXPECT_EQ(topics, wanted);
}
}  // namespace

// Structures that rclrt_micro_messages() has made. That their CDR is that of rosidl: test_all_messages.py.
namespace
{
struct Bytes
{
  uint8_t data[8192] = {};
  rclrt_writer writer{};

  template <typename Message>
  explicit Bytes(const rclrt_type & type, const Message & message)
  {
    rclrt_writer_init(&writer, data, sizeof(data));
    type.encode(&message, &writer);
  }
  template <typename Message>
  bool read(const rclrt_type & type, Message & message) const
  {
    rclrt_reader reader;
    rclrt_reader_init(&reader, data, writer.at);
    type.decode(&message, &reader);
    return !reader.failed;
  }
};

TEST(Messages, are_written_field_by_field_as_the_format_says)
{
  std_msgs__msg__Header header{};
  header.stamp.sec = 0x01020304;
  header.stamp.nanosec = 5;
  std::strcpy(header.frame_id, "map");
  const Bytes bytes(std_msgs__msg__Header__type, header);
  const uint8_t wanted[] = {4, 3, 2, 1, 5, 0, 0, 0, 4, 0, 0, 0, 'm', 'a', 'p', 0};
  ASSERT_EQ(bytes.writer.at, sizeof(wanted));
  EXPECT_EQ(std::memcmp(bytes.data, wanted, sizeof(wanted)), 0);
  EXPECT_STREQ(std_msgs__msg__Header__type.name, "std_msgs::msg::dds_::Header_");
  std_msgs__msg__Header read{};
  ASSERT_TRUE(bytes.read(std_msgs__msg__Header__type, read));
  EXPECT_EQ(read.stamp.sec, header.stamp.sec);
  EXPECT_STREQ(read.frame_id, "map");
}

TEST(Messages, have_the_room_that_is_stated)
{
  // CMakeLists.txt: strings 20, sequences 3, of std_msgs/String.data 100.
  EXPECT_EQ(sizeof(std_msgs__msg__Header::frame_id), 21U);
  EXPECT_EQ(sizeof(std_msgs__msg__String::data), 101U);
  EXPECT_EQ(sizeof(std_msgs__msg__Int32MultiArray{}.data.data) / sizeof(int32_t), 3U);
  EXPECT_EQ(int{std_msgs__msg__Int32__MAX}, 4);
}

TEST(Messages, longer_than_their_room_are_refused_in_both_directions)
{
  std_msgs__msg__String text{};
  std::memset(text.data, 'x', 60);
  const Bytes sixty(std_msgs__msg__String__type, text);
  std_msgs__msg__Header header{};
  Bytes shorter(std_msgs__msg__Header__type, header);
  std::memcpy(shorter.data + 8, sixty.data, sixty.writer.at);  // a frame_id of 60 characters
  shorter.writer.at = 8 + sixty.writer.at;
  EXPECT_FALSE(shorter.read(std_msgs__msg__Header__type, header));

  std_msgs__msg__Int32MultiArray array{};
  array.data.size = 4;
  EXPECT_TRUE(Bytes(std_msgs__msg__Int32MultiArray__type, array).writer.failed);
  array.data.size = 3;
  Bytes full(std_msgs__msg__Int32MultiArray__type, array);
  EXPECT_FALSE(full.writer.failed);
  EXPECT_TRUE(full.read(std_msgs__msg__Int32MultiArray__type, array));
  full.data[full.writer.at - 16] = 4;
  full.writer.at += 4;
  EXPECT_FALSE(full.read(std_msgs__msg__Int32MultiArray__type, array));
}

TEST(Messages, of_services_have_the_names_of_ros)
{
  EXPECT_STREQ(
    rcl_interfaces__srv__GetParameters_Request__type.name,
    "rcl_interfaces::srv::dds_::GetParameters_Request_");
  rcl_interfaces__srv__GetParameters_Request request{};
  request.names.size = 2;
  std::strcpy(request.names.data[1], "gain");
  const Bytes bytes(rcl_interfaces__srv__GetParameters_Request__type, request);
  rcl_interfaces__srv__GetParameters_Request read{};
  ASSERT_TRUE(bytes.read(rcl_interfaces__srv__GetParameters_Request__type, read));
  EXPECT_STREQ(read.names.data[1], "gain");
}
}  // namespace
