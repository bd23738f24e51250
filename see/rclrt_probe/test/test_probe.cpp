// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The parts of the probe without preloading, also under sanitizers: this program calls the stand-ins itself, and there is
/// no ROS 2 behind them.

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "inventory.hpp"
#include "pointer_table.hpp"
#include "probe.hpp"
#include "seen.hpp"

extern "C" {
void ros_trace_rcl_node_init(const void *, const void *, const char *, const char *);
void ros_trace_rcl_timer_init(const void *, int64_t);
void ros_trace_rclcpp_timer_callback_added(const void *, const void *);
void ros_trace_rclcpp_timer_link_node(const void *, const void *);
void ros_trace_rmw_send_response(const void *, const void *, const uint8_t *, int64_t, int64_t);
void ros_trace_callback_start(const void *, bool);
void ros_trace_callback_end(const void *);
}

namespace rclrt_probe
{
namespace
{

using rclrt_core::CallbackKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> names_of(Inventory & inventory)
{
  std::vector<std::string> names;
  for (const auto & callback : inventory.callbacks_of(0, 0, true)) {
    names.push_back(callback.name);
  }
  return names;
}

const std::array<char, 64> things{};

TEST(Inventory, TakesNoObjectForAQueueBecauseOfWhatWasAtItsAddressBefore)
{
  Inventory inventory;
  const void * const object = &things[9];
  for (const char * const topic :
       {"first", "second"}) {  // As rclrt_rcl says it: one object for both ways.
    const void * const handle = topic;
    inventory.add(CallbackKind::kSubscription, handle, nullptr, nullptr, topic);
    inventory.add_subscription_object(object, handle);
    inventory.add_callback(object, &things[10]);
    inventory.set_intra_process(object);
  }
  EXPECT_THAT(names_of(inventory), ElementsAre("?/subscription/first", "?/subscription/second"));
}

TEST(PointerTable, FindsWhatWasSetAndForgetsWhatIsSetToNothing)
{
  PointerTable<int, 4> table;
  int one = 1;
  int two = 2;
  EXPECT_EQ(table.find(&things[0]), nullptr);
  EXPECT_TRUE(table.set(&things[0], &one));
  EXPECT_TRUE(table.set(&things[1], &two));
  EXPECT_EQ(table.find(&things[0]), &one);
  EXPECT_EQ(table.find(&things[1]), &two);
  EXPECT_TRUE(table.set(&things[0], nullptr));
  EXPECT_EQ(table.find(&things[0]), nullptr);
  EXPECT_EQ(table.find(&things[1]), &two);
  EXPECT_EQ(table.find(nullptr), nullptr);
}

TEST(PointerTable, SaysWhenItIsFullAndStaysUsable)
{
  PointerTable<int, 4> table;
  int value = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_TRUE(table.set(&things[i], &value)) << i;
  }
  EXPECT_FALSE(table.set(&things[12], &value));
  EXPECT_TRUE(table.set(&things[3], nullptr));
  EXPECT_EQ(table.find(&things[12]), nullptr);
  EXPECT_EQ(table.find(&things[11]), &value);
}

TEST(Inventory, NamesCallbacksAsOurFrontEndsDo)
{
  Inventory inventory;
  inventory.add_node(&things[0], "planner", "/ns");
  inventory.add_node(&things[1], "driver", "/");
  inventory.add(CallbackKind::kSubscription, &things[2], nullptr, &things[0], "/ns/scan");
  inventory.add(CallbackKind::kService, &things[3], nullptr, &things[1], "/ask");
  for (int i = 4; i < 6; ++i) {
    inventory.add(CallbackKind::kTimer, &things[i], nullptr, nullptr, "", 100'000'000);
    inventory.set_node(&things[i], &things[1]);
  }
  EXPECT_THAT(
    names_of(inventory), ElementsAre(
                           "/ns/planner/subscription/ns/scan", "/driver/service/ask",
                           "/driver/timer/100ms", "/driver/timer/100ms#2"));
}

TEST(Inventory, TellsACallbackOnceAndAgainInANewProcess)
{
  Inventory inventory;
  inventory.add_node(&things[0], "a", "");
  inventory.add(CallbackKind::kClient, &things[1], nullptr, &things[0], "b");
  EXPECT_THAT(names_of(inventory), ElementsAre("/a/client/b"));
  EXPECT_THAT(names_of(inventory), IsEmpty());
  inventory.tell_again();
  EXPECT_THAT(names_of(inventory), ElementsAre("/a/client/b"));
}

TEST(Inventory, TakesTheSameEntityInTheSamePlaceForTheSame)
{
  Inventory inventory;
  inventory.add_node(&things[0], "a", "");
  const auto * const first =
    inventory.add(CallbackKind::kClient, &things[1], nullptr, &things[0], "b");
  EXPECT_EQ(inventory.add(CallbackKind::kClient, &things[1], nullptr, &things[0], "b"), first);
  EXPECT_NE(inventory.add(CallbackKind::kClient, &things[1], nullptr, &things[0], "c"), first);
}

TEST(Inventory, LinksTheCallbackOfASubscriptionInWhateverOrderItIsToldOf)
{
  Inventory inventory;
  inventory.add_node(&things[0], "a", "");
  const auto * const plain =
    inventory.add(CallbackKind::kSubscription, &things[1], nullptr, &things[0], "/t");
  // As rclcpp does for the queue inside of the process, then for the subscription.
  inventory.set_intra_process(&things[2]);
  inventory.add_callback(&things[2], &things[3]);
  inventory.set_symbol(&things[3], "f()");
  inventory.add_subscription_object(&things[2], &things[1]);
  inventory.add_subscription_object(&things[4], &things[1]);
  inventory.add_callback(&things[4], &things[5]);
  inventory.set_group(&things[1], &things[6], true);
  EXPECT_EQ(inventory.find_callback(&things[5]), plain);
  const Callback * const queue = inventory.find_callback(&things[3]);
  ASSERT_NE(queue, nullptr);
  EXPECT_NE(queue, plain);
  EXPECT_EQ(inventory.symbol_of(queue->id), "f()");
  const auto told = inventory.callbacks_of(0, 0, true);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].name, "/a/subscription/t/intra_process");
  EXPECT_EQ(told[1].group, told[0].group);
  EXPECT_EQ(told[0].parallelism, 1u);
  EXPECT_EQ(told[0].group_name, "/a/group/default");
}

TEST(Inventory, ThreadsThatShareAWaitSetAreOneExecutorAndASecondSetOfAThreadIsTheSame)
{
  Inventory inventory;
  Executor * const one = inventory.executor_of(&things[0], nullptr);
  EXPECT_EQ(inventory.executor_of(&things[0], nullptr), one);
  EXPECT_EQ(inventory.executor_of(&things[1], one), one);
  Executor * const two = inventory.executor_of(&things[2], nullptr);
  EXPECT_NE(two, one);
  EXPECT_EQ(two->number, 2);
  inventory.forget_wait_set(&things[0]);
  EXPECT_EQ(inventory.find_wait_set(&things[0]), nullptr);
}

TEST(Inventory, AResponseIsNotTakenForItsRequest)
{
  const std::array<uint8_t, 16> gid{1, 2, 3};
  EXPECT_NE(hash_of(gid.data()), hash_of(gid.data(), true));
  EXPECT_EQ(hash_of(gid.data()), rclrt_core::publisher_in_trace(gid));
}

TEST(Seen, NothingIsMissingWhereNothingOfRosWasUsed) { EXPECT_EQ(Seen().missing(false), ""); }

TEST(Seen, SaysWhatIsMissing)
{
  Seen seen;
  seen.note(Point::kWait);
  seen.note(Point::kTake);
  seen.note(Point::kGuessed);
  EXPECT_THAT(
    seen.missing(true),
    AllOf(HasSubstr("TRACETOOLS_DISABLED"), HasSubstr("symbols"), HasSubstr("more than")));
}

// The process has one probe, which reads its folder once: so one test for all that goes through the stand-ins.
TEST(Process, JobsOfManyThreadsComeIntoTheFileWhileItIsWritten)
{
  const std::string folder = ::testing::TempDir() + "/probe-" + std::to_string(getpid());
  setenv("RCLRT_PROBE_FOLDER", folder.c_str(), 1);
  ros_trace_rcl_node_init(&things[0], nullptr, "node", "/");
  constexpr int kThreads = 6;
  constexpr int kJobs = 400;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      const char * const timer = &things[1 + i];
      const char * const callback = &things[20 + i];
      ros_trace_rcl_timer_init(timer, 1'000'000 * (i + 1));
      ros_trace_rclcpp_timer_callback_added(timer, callback);
      ros_trace_rclcpp_timer_link_node(timer, &things[0]);
      const std::array<uint8_t, 16> gid{};
      for (int job = 0; job < kJobs; ++job) {
        ros_trace_callback_start(callback, false);
        ros_trace_rmw_send_response(nullptr, nullptr, gid.data(), job, 0);
        ros_trace_callback_end(callback);
      }
    });
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
  probe()->writer.finish();
  std::string content;
  for (const auto & entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    content += std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::filesystem::remove_all(folder);
  EXPECT_GT(content.size(), kThreads * kJobs * 2 * sizeof(rclrt_job_record));
  EXPECT_THAT(content, AllOf(HasSubstr("/node/timer/1ms"), HasSubstr("/node/timer/6ms")));
}

}  // namespace
}  // namespace rclrt_probe
