// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Both ends of an action, made from a .action file. Statuses and cancelling of many goals are asked for as another node
// would: by the messages of action_msgs, written here.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "test_msgs.h"
}
#include "rclrt_micro/action.h"
#include "system.hpp"

namespace
{
using Goal = test_msgs__action__Fibonacci_Goal;
using Result = test_msgs__action__Fibonacci_Result;
using Feedback = test_msgs__action__Fibonacci_Feedback;
using Id = std::vector<uint8_t>;

const rclrt_action_type & kType = test_msgs__action__Fibonacci__type;
const rclrt_action_names kNames = RCLRT_ACTION_NAMES("fibonacci");

// action_msgs/GoalStatusArray: id -> status.
struct Statuses
{
  std::map<Id, int> of;
};
const rclrt_type kStatuses = {
  "action_msgs::msg::dds_::GoalStatusArray_", nullptr, [](void * message, rclrt_reader * reader) {
    auto & statuses = *static_cast<Statuses *>(message);
    statuses.of.clear();
    for (size_t left = rclrt_read_count(reader, 100, 25); left > 0; --left) {
      Id id(16);
      rclrt_read_bytes(reader, id.data(), id.size());
      (void)rclrt_read_i32(reader);
      (void)rclrt_read_u32(reader);
      statuses.of[id] = rclrt_read_i8(reader);
    }
  }};

// action_msgs/CancelGoal.
struct Cancel
{
  Id id = Id(16);
  int32_t sec = 0;
  uint32_t nanosec = 0;
  int code = -1;
  size_t cancelled = 0;
};
const rclrt_type kCancelRequest = {
  "action_msgs::srv::dds_::CancelGoal_Request_",
  [](const void * message, rclrt_writer * writer) {
    const auto & cancel = *static_cast<const Cancel *>(message);
    rclrt_write_bytes(writer, cancel.id.data(), cancel.id.size());
    rclrt_write_i32(writer, cancel.sec);
    rclrt_write_u32(writer, cancel.nanosec);
  },
  nullptr};
const rclrt_type kCancelResponse = {
  "action_msgs::srv::dds_::CancelGoal_Response_", nullptr,
  [](void * message, rclrt_reader * reader) {
    auto & cancel = *static_cast<Cancel *>(message);
    cancel.code = rclrt_read_i8(reader);
    cancel.cancelled = rclrt_read_count(reader, 100, 24);
  }};

class Actions : public ::testing::Test
{
protected:
  static constexpr uint8_t kPlaces = 2;
  static constexpr int32_t kRefused = -1;
  static constexpr int32_t kDeferred = 50;

  void SetUp() override
  {
    RigOptions with;
    with.byte_ns = 10'000;
    with.slots = 64;
    with.ring = 16384;
    system = std::make_unique<System>(with);
    system->start();
    for (size_t i = 0; i < kPlaces; ++i) {
      places[i].request = &requests[i];
      places[i].result = &results[i];
    }
    config.goals = places;
    config.goal_count = kPlaces;
    config.priority = 4;
    config.context = this;
    config.on_goal = [](void * context, rclrt_goal * goal) {
      auto & self = *static_cast<Actions *>(context);
      const int32_t order = static_cast<const Goal *>(goal->request)->order;
      self.last = goal;
      self.asked.push_back(order);
      return order == kRefused    ? RCLRT_GOAL_REFUSE
             : order == kDeferred ? RCLRT_GOAL_DEFER
                                  : RCLRT_GOAL_EXECUTE;
    };
    config.on_cancel = [](void * context, rclrt_goal *) {
      return static_cast<Actions *>(context)->may_cancel;
    };
    client_config.priority = 3;
    client_config.random = 0x1234567890ABCDEF;
    client_config.feedback = &feedback;
    client_config.result = &result;
    client_config.context = this;
    client_config.on_response = [](void * context, rclrt_client_goal *, bool accepted) {
      auto & self = *static_cast<Actions *>(context);
      self.note(accepted ? "accepted" : "refused");
      if (self.fills) {
        self.fill();
      }
    };
    client_config.on_feedback = [](void * context, rclrt_client_goal *, const void * message) {
      const auto & sequence = static_cast<const Feedback *>(message)->sequence;
      static_cast<Actions *>(context)->note("feedback " + std::to_string(sequence.size));
    };
    client_config.on_result =
      [](void * context, rclrt_client_goal *, rclrt_goal_status end, const void * message) {
        const auto & sequence = static_cast<const Result *>(message)->sequence;
        static_cast<Actions *>(context)->note(
          "result " + std::to_string(end) + " " + std::to_string(sequence.size));
      };
    client_config.on_cancel = [](void * context, rclrt_client_goal *, rclrt_cancel_code code) {
      static_cast<Actions *>(context)->note("cancel " + std::to_string(code));
    };
    must(rclrt_action_server_init(
      &server, &system->node, &system->executor, &kType, &kNames, &config));
    must(rclrt_action_client_init(
      &client, &system->node, &system->executor, &kType, &kNames, &client_config));
    must(rclrt_subscription_init(
      &status, &system->node, &kStatuses, "fibonacci/_action/status", rclrt_qos_reliable()));
    must(rclrt_executor_add_subscription(
      &system->executor, &status, &statuses, [](void *, const void *) {}, nullptr, 1,
      RCLRT_ON_NEW_DATA));
    system->spin_for(200);
  }

  void note(std::string what) { news.push_back(std::move(what)); }
  std::vector<std::string> take_news()
  {
    system->spin_for(300);
    return std::exchange(news, {});
  }
  static Id id_of(const rclrt_client_goal & goal) { return {goal.id, goal.id + sizeof(goal.id)}; }
  int status_of(const rclrt_client_goal & goal)
  {
    const auto found = statuses.of.find(id_of(goal));
    return found == statuses.of.end() ? -1 : found->second;
  }

  // Sends a goal; the server's side of it is `last`.
  void send(rclrt_client_goal & goal, int32_t order, const std::string & wanted = "accepted")
  {
    last = nullptr;
    const Goal message{order};
    must(rclrt_action_send_goal(&client, &goal, &message));
    ASSERT_EQ(take_news(), std::vector<std::string>{wanted});
  }
  static void set_result(rclrt_goal * goal, uint32_t size)
  {
    static_cast<Result *>(goal->result)->sequence.size = size;
  }
  // What the cancel service says.
  Cancel cancel(Cancel request)
  {
    rclrt_client asker;
    EXPECT_EQ(
      rclrt_client_init(
        &asker, &system->node, &kCancelRequest, &kCancelResponse, "fibonacci/_action/cancel_goal",
        2),
      RCLRT_OK);
    EXPECT_EQ(
      rclrt_executor_add_client(
        &system->executor, &asker, &request, [](void *, const void *, uint16_t) {}, nullptr, 2),
      RCLRT_OK);
    system->spin_for(200);
    EXPECT_EQ(rclrt_client_request(&asker, &request, nullptr), RCLRT_OK);
    system->spin_for(300);
    EXPECT_EQ(rclrt_client_fini(&asker), RCLRT_OK);
    return request;
  }

  // All messages of the pool are taken by some for which the line is slow.
  void fill()
  {
    Blob blob;
    blob.size = 400;
    while (rclrt_publish(&busy[0], &blob) == RCLRT_OK ||
           rclrt_publish(&busy[1], &blob) == RCLRT_OK) {
    }
  }

  std::unique_ptr<System> system;
  rclrt_publisher busy[2] = {};
  bool fills = false;
  rclrt_action_server server{};
  rclrt_action_client client{};
  rclrt_action_server_config config{};
  rclrt_action_client_config client_config{};
  rclrt_goal places[kPlaces] = {};
  Goal requests[kPlaces] = {};
  Result results[kPlaces] = {};
  rclrt_client_goal goals[4] = {};
  Feedback feedback{};
  Result result{};
  rclrt_subscription status{};
  Statuses statuses;
  std::vector<std::string> news;
  std::vector<int32_t> asked;
  rclrt_goal * last = nullptr;
  bool may_cancel = true;
};

TEST_F(Actions, give_feedback_and_a_result)
{
  send(goals[0], 5);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(asked, std::vector<int32_t>{5});
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_EXECUTING);
  for (uint32_t size = 1; size <= 3; ++size) {
    Feedback message{};
    message.sequence.size = size;
    EXPECT_EQ(rclrt_goal_feedback(last, &message), RCLRT_OK);
  }
  EXPECT_EQ(take_news(), (std::vector<std::string>{"feedback 1", "feedback 2", "feedback 3"}));
  auto & sequence = static_cast<Result *>(last->result)->sequence;
  sequence.size = 2;
  sequence.data[1] = 77;
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 4 2"});
  EXPECT_EQ(result.sequence.data[1], 77);
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_SUCCEEDED);
}

TEST_F(Actions, end_once_and_only_as_their_state_allows)
{
  send(goals[0], kDeferred);
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_ACCEPTED);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_SUCCEEDED), RCLRT_ERR_STATE);
  EXPECT_EQ(rclrt_goal_begin(last), RCLRT_OK);
  EXPECT_EQ(rclrt_goal_begin(last), RCLRT_ERR_STATE);
  EXPECT_EQ(take_news(), std::vector<std::string>{});
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_EXECUTING);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_CANCELED), RCLRT_ERR_STATE);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_EXECUTING), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_ABORTED), RCLRT_OK);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_ABORTED), RCLRT_ERR_STATE);
  Feedback message{};
  EXPECT_EQ(rclrt_goal_feedback(last, &message), RCLRT_ERR_STATE);
  EXPECT_EQ(rclrt_goal_feedback(last, nullptr), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_goal_finish(nullptr, RCLRT_GOAL_ABORTED), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 6 0"});
}

TEST_F(Actions, are_refused_by_the_program_and_when_there_is_no_place)
{
  send(goals[0], kRefused, "refused");
  send(goals[0], 1);
  rclrt_goal * const first = last;
  send(goals[1], 2);
  send(goals[2], 3, "refused");
  EXPECT_EQ(last, nullptr) << "the program was not asked";
  // The first one is finished and its result was fetched: its place is free.
  set_result(first, 1);
  EXPECT_EQ(rclrt_goal_finish(first, RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 4 1"});
  send(goals[2], 3);
  EXPECT_EQ(last, first);
  EXPECT_EQ(static_cast<const Goal *>(first->request)->order, 3);
  EXPECT_EQ(status_of(goals[0]), -1);
  EXPECT_EQ(asked, (std::vector<int32_t>{kRefused, 1, 2, 3}));
}

TEST_F(Actions, whose_result_nobody_has_asked_for_keep_their_place_for_a_while)
{
  system->spin_for(20'000);
  for (int i = 0; i < kPlaces; ++i) {
    send(goals[i], i);
    // As if the client had gone: its request for the result does not come.
    last->asker_count = 0;
    EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  }
  system->spin_for(9'000);
  send(goals[2], 7, "refused");
  system->spin_for(1'000);
  send(goals[2], 7);
  EXPECT_EQ(last, &places[0]) << "the one that has been there longest";
}

TEST_F(Actions, are_cancelled_if_the_program_agrees)
{
  EXPECT_EQ(rclrt_action_cancel_goal(&goals[0]), RCLRT_ERR_ARGUMENT) << "not under way";
  send(goals[0], 5);
  may_cancel = false;
  EXPECT_EQ(rclrt_action_cancel_goal(&goals[0]), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"cancel 1"});
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_EXECUTING);
  may_cancel = true;
  EXPECT_EQ(rclrt_action_cancel_goal(&goals[0]), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"cancel 0"});
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_CANCELING);
  EXPECT_EQ(rclrt_action_cancel_goal(&goals[0]), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"cancel 3"});
  set_result(last, 3);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_CANCELED), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 5 3"});
}

TEST_F(Actions, are_cancelled_by_name_by_time_or_all)
{
  EXPECT_EQ(cancel({Id(16, 9), 0, 0, -1, 0}).code, RCLRT_CANCEL_UNKNOWN_GOAL);
  EXPECT_EQ(cancel({}).code, RCLRT_CANCEL_NONE) << "all of none";
  send(goals[0], kDeferred);
  const int64_t first = last->accepted_ns;
  send(goals[1], 2);
  const auto until = [](int64_t ns) {
    return Cancel{
      Id(16), static_cast<int32_t>(ns / 1'000'000'000), static_cast<uint32_t>(ns % 1'000'000'000),
      -1, 0};
  };
  Cancel said = cancel(until(first - 1));
  EXPECT_EQ(said.code, RCLRT_CANCEL_NONE);
  EXPECT_EQ(said.cancelled, 0U);
  said = cancel(until(first));
  EXPECT_EQ(said.cancelled, 1U);
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_CANCELING);
  EXPECT_EQ(status_of(goals[1]), RCLRT_GOAL_EXECUTING);
  Cancel named = until(first);
  named.id = id_of(goals[1]);
  EXPECT_EQ(cancel(named).cancelled, 1U) << "the one named, although it came later";
  EXPECT_EQ(status_of(goals[1]), RCLRT_GOAL_CANCELING);
  for (auto & place : places) {
    EXPECT_EQ(rclrt_goal_finish(&place, RCLRT_GOAL_CANCELED), RCLRT_OK);
  }
  EXPECT_EQ(take_news().size(), 2U);
  EXPECT_EQ(cancel(named).code, RCLRT_CANCEL_GOAL_TERMINATED);
  send(goals[0], 1);
  send(goals[1], 2);
  EXPECT_EQ(cancel({}).cancelled, 2U);
}

TEST_F(Actions, send_what_found_no_room_when_there_is_some)
{
  for (auto & publisher : busy) {
    must(rclrt_publisher_init(&publisher, &system->node, &kBlob, "busy", rclrt_qos_reliable(), 30));
  }
  // The client has no room for its request for the result.
  fills = true;
  send(goals[0], 5);
  fills = false;
  EXPECT_EQ(last->asker_count, 1U) << "it came later";
  // The server has none for the result.
  fill();
  set_result(last, 4);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(last->asker_count, 1U) << "there was no room";
  EXPECT_TRUE(server.owes_status);
  server.config.keep_ns = 1;
  system->world.run_until(system->world.now_ns() + 10);
  server.request.id[0] ^= 0xFF;
  places[1].status = RCLRT_GOAL_EXECUTING;
  server.request.find(&server.request);
  EXPECT_EQ(server.candidate, nullptr) << "the result of the other is still to be sent";
  places[1].status = RCLRT_GOAL_UNKNOWN;
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 4 4"});
  EXPECT_EQ(status_of(goals[0]), RCLRT_GOAL_SUCCEEDED);
}

TEST_F(Actions, are_told_apart_and_of_those_that_nobody_knows_there_is_an_empty_result)
{
  send(goals[0], 5);
  rclrt_goal * const first = last;
  send(goals[1], 6);
  EXPECT_NE(id_of(goals[0]), id_of(goals[1]));
  set_result(last, 6);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 4 6"});
  set_result(first, 5);
  // It has forgotten the first, as one that was started again.
  first->status = RCLRT_GOAL_UNKNOWN;
  goals[0].state = 2;  // accepted: asks again
  EXPECT_TRUE(client.owed.settle(&client));
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 0 0"});
}

TEST_F(Actions, that_come_twice_are_refused_the_second_time)
{
  send(goals[0], 5);
  client.next = 0;  // as a client that was started again with the same number
  send(goals[1], 5, "refused");
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(Actions, answer_the_latest_who_wait_for_the_result)
{
  send(goals[0], 5);
  for (int i = 0; i < 3; ++i) {
    const rclrt_request_id newest = last->askers[last->asker_count - 1];
    goals[0].state = 2;  // asks again
    (void)client.owed.settle(&client);
    EXPECT_EQ(take_news(), std::vector<std::string>{});
    EXPECT_EQ(std::memcmp(&last->askers[0], &newest, sizeof(newest)), 0) << "the oldest goes";
  }
  EXPECT_EQ(server.forgotten, 2U);
  EXPECT_EQ(last->asker_count, RCLRT_GOAL_ASKERS);
  EXPECT_EQ(rclrt_goal_finish(last, RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 4 0"});
}

TEST_F(Actions, that_the_client_forgets_are_not_heard_of)
{
  EXPECT_EQ(rclrt_action_forget(&goals[0]), RCLRT_ERR_ARGUMENT);
  send(goals[0], 5);
  send(goals[1], 6);
  const Goal message{7};
  EXPECT_EQ(rclrt_action_send_goal(&client, &goals[0], &message), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_action_forget(&goals[0]), RCLRT_OK);
  EXPECT_EQ(rclrt_action_forget(&goals[0]), RCLRT_ERR_ARGUMENT);
  Feedback of_first{};
  of_first.sequence.size = 2;
  EXPECT_EQ(rclrt_goal_feedback(&places[0], &of_first), RCLRT_OK);
  system->spin_for(100);
  EXPECT_EQ(feedback.sequence.size, 0U) << "what is in the storage stays";
  EXPECT_EQ(rclrt_goal_finish(&places[0], RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(rclrt_goal_finish(&places[1], RCLRT_GOAL_SUCCEEDED), RCLRT_OK);
  EXPECT_EQ(take_news(), std::vector<std::string>{"result 4 0"});
}

TEST_F(Actions, make_room_when_they_go_and_can_come_again)
{
  const size_t both = system->agent.objects();
  EXPECT_EQ(rclrt_action_client_fini(&client), RCLRT_OK);
  EXPECT_EQ(system->agent.objects(), both - 6) << "three requesters, a reader, its group and topic";
  EXPECT_EQ(rclrt_action_client_fini(&client), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_action_server_fini(&server), RCLRT_OK);
  EXPECT_EQ(system->agent.objects(), both - 15) << "three repliers, two writers with theirs";
  EXPECT_EQ(rclrt_action_server_fini(&server), RCLRT_ERR_ARGUMENT);
  const Goal message{1};
  EXPECT_EQ(rclrt_action_send_goal(&client, &goals[0], &message), RCLRT_ERR_ARGUMENT);
  must(rclrt_action_client_init(
    &client, &system->node, &system->executor, &kType, &kNames, &client_config));
  must(
    rclrt_action_server_init(&server, &system->node, &system->executor, &kType, &kNames, &config));
  system->spin_for(200);
  send(goals[0], 5);
}

TEST_F(Actions, that_cannot_be_are_refused_and_leave_nothing)
{
  const size_t objects = system->agent.objects();
  rclrt_action_server other;
  rclrt_action_client asker;
  const auto server_of = [this, &other](const rclrt_action_server_config * with) {
    return rclrt_action_server_init(
      &other, &system->node, &system->executor, &kType, &kNames, with);
  };
  auto wrong = config;
  wrong.on_goal = nullptr;
  EXPECT_EQ(server_of(&wrong), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(server_of(nullptr), RCLRT_ERR_ARGUMENT);
  rclrt_goal without{};
  wrong = config;
  wrong.goals = &without;
  wrong.goal_count = 1;
  EXPECT_EQ(server_of(&wrong), RCLRT_ERR_ARGUMENT);
  auto nowhere = client_config;
  nowhere.result = nullptr;
  EXPECT_EQ(
    rclrt_action_client_init(&asker, &system->node, &system->executor, &kType, &kNames, &nowhere),
    RCLRT_ERR_ARGUMENT);
  for (uint8_t free = 0; free < 8; ++free) {  // Streams run out, at each of its parts.
    system->session.next_stream = static_cast<uint8_t>(0x7F - free);
    EXPECT_EQ(server_of(&config), RCLRT_ERR_STORAGE);
    if (free < 7) {
      system->session.next_stream = static_cast<uint8_t>(0x7F - free);
      EXPECT_EQ(
        rclrt_action_client_init(
          &asker, &system->node, &system->executor, &kType, &kNames, &client_config),
        RCLRT_ERR_STORAGE);
    }
  }
  system->spin_for(300);
  EXPECT_EQ(system->agent.objects(), objects);
  must(rclrt_executor_set_semantics(&system->executor, RCLRT_SEMANTICS_LET));
  EXPECT_EQ(server_of(&config), RCLRT_ERR_UNSUPPORTED);
}
}  // namespace
