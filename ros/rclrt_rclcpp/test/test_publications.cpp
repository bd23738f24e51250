// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A publication is not held up by what it has released, and of that the most urgent comes first, although
// rclcpp does not say when a publication ends. With the real middleware, which tells reader after reader in
// the thread that publishes.

#include <cstdio>

#include "publications_fixture.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"

namespace rclrt_rclcpp
{
namespace
{

using Get = rcl_interfaces::srv::GetParameters;

TYPED_TEST_SUITE(Publications, Configurable, ExecutorNames);

TYPED_TEST(Publications, release_the_more_urgent_first_though_its_reader_was_created_later)
{
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Time()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, release_the_more_urgent_first_if_its_reader_was_created_first)
{
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->subscribe_high();
  this->subscribe_mid();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Time()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, of_serialized_messages_release_the_more_urgent_first)
{
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  rclcpp::SerializedMessage bytes;
  const Time message;
  rclcpp::Serialization<Time>().serialize_message(&message, &bytes);
  this->run_at_low([&] { publisher->publish(bytes); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, from_threads_that_are_not_ours_release_the_more_urgent_first)
{
  const auto publisher = this->outside->template create_publisher<Time>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  Attributes before;
  Attributes after;
  std::thread([&] {
    before = attributes_here();
    this->published_at = now_ns();
    publisher->publish(Time());
    after = attributes_here();
  }).join();
  EXPECT_EQ(before.policy, rclrt_core::SchedulingPolicy::kOther);
  EXPECT_EQ(to_string(after), to_string(before)) << "it gets back what it had";
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, in_the_process_release_the_more_urgent_first)
{
  this->start(rclcpp::NodeOptions().use_intra_process_comms(true));
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  ASSERT_EQ(publisher->get_intra_process_subscription_count(), 2U);
  this->run_at_low([&] { publisher->publish(Time()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, in_the_process_to_owners_release_the_more_urgent_first)
{
  this->start(rclcpp::NodeOptions().use_intra_process_comms(true));
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->template subscribe_mid<std::unique_ptr<Time>>();
  this->template subscribe_high<std::unique_ptr<Time>>();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(std::make_unique<Time>()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, in_the_process_end_with_the_thread_as_urgent_as_before)
{
  this->start(rclcpp::NodeOptions().use_intra_process_comms(true));
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  Attributes before;
  Attributes after;
  this->run_at_low([&] {
    before = attributes_here();
    publisher->publish(Time());
    after = attributes_here();
  });
  EXPECT_EQ(before.priority, kLow);
  if (std::is_same_v<TypeParam, PriorityEventsExecutor>) {
    EXPECT_EQ(after.priority, kHigh)
      << "'high' waits for the one thread there is, and lends it that";
  } else {
    EXPECT_EQ(to_string(after), to_string(before));
  }
  std::thread([&] {
    before = attributes_here();
    publisher->publish(Time());
    after = attributes_here();
  }).join();
  EXPECT_EQ(before.policy, rclrt_core::SchedulingPolicy::kOther);
  EXPECT_EQ(to_string(after), to_string(before));
}

// While the message is being delivered something else becomes ready that is less urgent than `high`.
TYPED_TEST(Publications, are_not_held_up_by_what_is_less_urgent_than_what_they_released)
{
  const auto publisher = this->low->template create_publisher<Time>("topic", 10);
  this->subscribe_high();
  std::atomic<int64_t> start{0};
  Caller other(kMid, [&] {
    start = now_ns();
    compute();
  });
  Caller interrupter(kTop, [&] { other.ask(); });
  this->call_when_told([&] { interrupter.ask(); });
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Time()); });
  const int64_t of_high = this->start_of("high");
  EXPECT_NE(of_high, 0);
  EXPECT_TRUE(wait_for([&] { return start != 0; }));
  EXPECT_LT(of_high, start);
}

// Every server of a name gets the request.
TYPED_TEST(Publications, of_requests_release_the_more_urgent_server_first)
{
  const auto client = this->low->template create_client<Get>("get");
  using Request = std::shared_ptr<Get::Request>;
  using Response = std::shared_ptr<Get::Response>;
  this->kept.push_back(
    this->mid->template create_service<Get>("get", [](Request, Response) { compute(); }));
  this->kept.push_back(this->high->template create_service<Get>("get", [](Request, Response) {}));
  this->spin();
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  std::this_thread::sleep_for(milliseconds(100));  // nobody says how many there are
  this->run_at_low([&] { client->async_send_request(std::make_shared<Get::Request>()); });
  this->expect_high_before_mid();
}

// Every client of a name is told of the answer. It is for `mid`: `high` finds nothing to take.
TYPED_TEST(Publications, of_answers_release_the_more_urgent_client_first)
{
  this->counts_empty = true;
  const auto of_high = this->high->template create_client<Get>("get");
  const auto of_mid = this->mid->template create_client<Get>("get");
  this->kept.push_back(this->low->template create_service<Get>(
    "get", [](std::shared_ptr<Get::Request>, std::shared_ptr<Get::Response>) {}));
  this->spin();
  ASSERT_TRUE(of_mid->wait_for_service(seconds(30)));
  ASSERT_TRUE(of_high->wait_for_service(seconds(30)));
  this->published_at = now_ns();
  of_mid->async_send_request(
    std::make_shared<Get::Request>(), [](rclcpp::Client<Get>::SharedFuture) { compute(); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, of_a_program_that_links_the_library_are_no_finding)
{
  this->subscribe_high();
  this->spin();
  for (const auto & finding : this->findings()) {
    EXPECT_NE(finding.subject, "publications") << to_string(finding);
  }
}

/// What a command prints.
std::string output_of(const std::string & command)
{
  std::string text;
  char line[1024];
  std::FILE * const pipe = popen(command.c_str(), "r");
  while (pipe && std::fgets(line, sizeof line, pipe)) {
    text += line;
  }
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0) << command;
  return text;
}

TEST(LoadedLibrary, that_does_not_see_publications_says_so_and_what_helps)
{
  const std::string library = LOADED_EXECUTOR;
  const std::string program = std::string(LOADING_PROGRAM) + " " + library;
  const std::string finding = output_of(program);
  const std::string remedy = "LD_PRELOAD=" + library;
  EXPECT_NE(finding.find("rmw_publish() is not called through rclrt_rclcpp"), std::string::npos)
    << finding;
  EXPECT_NE(finding.find("rcl_clock_add_jump_callback() is not called"), std::string::npos)
    << finding;
  for (const char * subject : {"publications", "entities"}) {
    const auto at = finding.find(subject);
    EXPECT_NE(finding.find(remedy, at), std::string::npos) << subject << ": " << finding;
  }
  EXPECT_EQ(output_of(remedy + " " + program), "");
}

}  // namespace
}  // namespace rclrt_rclcpp
