// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Nodes, callback groups and entities that come and go, and what keeps them alive.

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <vector>

#include "conformance/suite.hpp"

namespace conformance
{
namespace
{

class Groups : public Suite
{
};
OVER_ALL_EXECUTORS(Groups);
class OurGroups : public Suite
{
};
OVER_OUR_EXECUTORS(OurGroups);

TEST_P(Groups, are_counted_as_they_are_added_and_removed)
{
  using Counts = std::vector<std::size_t>;
  const auto by_hand = make_group(*node, false, false);
  EXPECT_EQ(group_counts(*executor), (Counts{0, 0, 0}));
  add_group(*executor, by_hand, *node);
  EXPECT_EQ(group_counts(*executor), (Counts{1, 1, 0}));
  executor->add_node(node);
  EXPECT_EQ(group_counts(*executor), (Counts{2, 1, 1}));  // the default group
  auto later = make_group(*node, true);
  const auto not_ours = make_group(*node, false, false);
  executor->spin_some();
  EXPECT_EQ(group_counts(*executor), (Counts{3, 1, 2}));
  later.reset();
  executor->spin_some();
  EXPECT_EQ(group_counts(*executor), (Counts{2, 1, 1}));
  executor->remove_callback_group(by_hand);
  EXPECT_EQ(group_counts(*executor), (Counts{1, 0, 1}));
  executor->remove_node(node);
  EXPECT_EQ(group_counts(*executor), (Counts{0, 0, 0}));
}

TEST_P(Groups, and_nodes_belong_to_one_executor_and_errors_say_so_in_rclcpps_words)
{
  const auto expect_error = [](const std::string & words, const std::function<void()> & call) {
    const std::string error = error_of(call);
    EXPECT_NE(error.find(words), std::string::npos) << error << ", not: " << words;
  };
  const auto other = make_executor();
  const auto group = make_group(*node, false, false);
  EXPECT_NE(error_of([&] { executor->remove_callback_group(group); }), "");
  add_group(*executor, group, *node);
  const std::string added = " has already been added to ";
  expect_error(added, [&] { add_group(*executor, group, *node); });
  expect_error(added + "an executor.", [&] { add_group(*other, group, *node); });
  executor->remove_callback_group(group);
  add_group(*other, group, *node);

  const std::string needed = " needs to be associated with ";
  expect_error(needed + "an executor.", [&] { executor->remove_node(node); });
  executor->add_node(node);
  for (const auto & one : {executor.get(), other.get()}) {
    expect_error("Node '/node'" + added + "an executor.", [&] { one->add_node(node); });
  }
  executor->remove_node(node);
  other->add_node(node);
  expect_error(needed + "this executor.", [&] { executor->remove_node(node); });
}

TEST_P(Groups, of_one_node_may_be_in_several_executors)
{
  std::array<std::atomic<int>, 2> ticks{};
  const auto group = make_group(*node, false, false);
  const auto first = node->create_wall_timer(1ms, [&] { ++ticks[0]; });
  const auto second = make_timer(*node, 1ms, [&] { ++ticks[1]; }, group);
  const auto other = make_executor();
  {
    const Spinning spinning(*executor, node);
    EXPECT_TRUE(wait_for([&] { return ticks[0] > 2; }));
    EXPECT_EQ(ticks[1], 0);
  }
  const Spinning spinning(*other);
  add_group(*other, group, *node);
  EXPECT_TRUE(wait_for([&] { return ticks[1] > 2; }));
}

TEST_P(Groups, that_come_while_it_spins_are_served_also_with_what_was_published_before)
{
  if (!follows_groups(GetParam())) {
    GTEST_SKIP() << "Humble's own executors lose track of groups that come and go";
  }
  const auto latched = QoS(1).transient_local();
  const auto former = node->create_publisher<Message>("former", latched);
  former->publish(Message());
  const Spinning spinning(*executor, node);
  std::array<std::atomic<int>, 4> calls{};
  const auto group = make_group(*node);
  const auto count = [&](std::size_t which) {
    return [&calls, which](const Message &) { ++calls[which]; };
  };
  const auto timer = make_timer(*node, 1ms, [&] { ++calls[0]; }, group);
  const auto publisher = node->create_publisher<Message>("topic", 10);
  const auto first = node->create_subscription<Message>("topic", 10, count(1));
  const auto second = make_subscription(*node, "topic", 10, count(2), group);
  const auto late = make_subscription(*node, "former", latched, count(3), group);
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Message());
    return calls[0] > 2 && calls[1] > 2 && calls[2] > 2 && calls[3] == 1;
  }));
}

TEST_P(Groups, leave_what_waits_to_the_next_executor)
{
  if (GetParam() == Kind::kRclcppEvents) {
    GTEST_SKIP() << "the events executor of rclcpp forgets what was announced";
  }
  int of_topic = 0;
  int of_queue = 0;
  const auto intra = make_node("intra", by_pointer());
  const auto subscription =
    node->create_subscription<Message>("topic", 10, [&](const Message &) { ++of_topic; });
  const auto queue =
    intra->create_subscription<Message>("queue", 10, [&](const Message &) { ++of_queue; });
  const auto publisher = node->create_publisher<Message>("topic", 10);
  const auto to_queue = intra->create_publisher<Message>("queue", 10);
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 1 && readers_of(*to_queue) == 1; }));
  for (int i = 0; i < 4; ++i) {
    publisher->publish(Message());
    to_queue->publish(Message());
  }
  std::this_thread::sleep_for(20ms);  // most likely all have arrived
  for (int i = 0; i < 4; ++i) {
    const auto run = [&](const std::shared_ptr<Node> & of, const int & count) {
      executor = make_executor();
      executor->add_node(of);
      for (int attempt = 0; attempt < 20 && count == i; ++attempt) {
        executor->spin_once(500ms);
      }
      EXPECT_EQ(count, i + 1);
    };
    run(node, of_topic);
    run(intra, of_queue);
  }
}

TEST_P(Groups, of_a_node_leave_with_the_executor_also_with_what_it_was_told_and_did_not_run)
{
  const auto waitable = make_waitable(*node, [] {});
  executor->add_node(node);
  waitable->trigger();
  executor = make_executor();
  executor->add_node(node);
  executor->spin_some();
  EXPECT_EQ(waitable->executed(), GetParam() == Kind::kRclcppEvents ? 0 : 1);
}

// Rclcpp's own sometimes lose track of the node, and the multi-threaded one crashes in rmw_wait() now and then.
TEST_P(OurGroups, of_nodes_that_come_and_go_while_it_spins_run_then_only)
{
  std::atomic<int> stays{0};
  const auto timer = node->create_wall_timer(1ms, [&] { ++stays; });
  const Spinning spinning(*executor, node);
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> ticks{0};
    auto other = make_node("other");
    auto of_other = other->create_wall_timer(1ms, [&] { ++ticks; });
    for (int round = 0; round < 2; ++round) {
      const int before = ticks;
      executor->add_node(other);
      EXPECT_TRUE(i % 10 != 0 || wait_for([&] { return ticks > before; }));
      executor->remove_node(other);
    }
    std::this_thread::sleep_for(3ms);  // one may have been running
    const int after = ticks;
    std::this_thread::sleep_for(2ms);
    EXPECT_EQ(ticks, after) << "a removed node must not run";
  }
  const int then = stays;
  EXPECT_TRUE(wait_for([&] { return stays > then + 2; })) << "the one that stays goes on";
}

TEST_P(Groups, of_a_node_that_is_added_while_spin_starts_are_served)
{
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> ticks{0};
    const auto other = make_node("other");
    const auto timer = other->create_wall_timer(1ms, [&] { ++ticks; });
    const auto one = make_executor();
    std::thread thread([&] { one->spin(); });
    one->add_node(other);
    EXPECT_TRUE(wait_for([&] { return ticks > 0; }));
    one->cancel();
    thread.join();
  }
}

TEST_P(OurGroups, take_entities_while_their_node_comes_and_goes)
{
  std::atomic<bool> done{false};
  std::thread mover([&] {
    while (!done) {
      executor->add_node(node);
      executor->remove_node(node);
      std::this_thread::sleep_for(1us);  // or the others might not get a lock for a long time
    }
  });
  for (int i = 0; i < 300; ++i) {
    EXPECT_NO_THROW(make_waitable(*node, [] {}));
    EXPECT_NO_THROW(node->create_wall_timer(1h, [] {}));
  }
  done = true;
  mover.join();
}

TEST_P(Groups, and_entities_may_be_made_and_destroyed_by_another_thread_while_it_spins)
{
  if (!follows_groups(GetParam())) {
    GTEST_SKIP() << "Humble's own executors lose track of groups that come and go";
  }
  std::atomic<int> of_the_default_group{0};
  const auto stays = node->create_wall_timer(1ms, [&] { ++of_the_default_group; });
  const Spinning spinning(*executor, node);
  std::atomic<int> ticks{0};
  const auto publisher = node->create_publisher<Message>("topic", 10);
  for (int i = 0; i < 20; ++i) {
    auto group = make_group(*node);
    auto timer = make_timer(*node, 1ms, [&] { ++ticks; }, group);
    const auto subscription =
      make_subscription(*node, "topic", 10, [&](const Message &) { ++ticks; }, group);
    const auto client = make_client(*node, "service", group);
    const auto service = make_service(*node, "service", [] {}, group);
    const auto answer = ask(*client, {});
    publisher->publish(Message());
    if (i % 2 == 0) {
      const int before = ticks;
      EXPECT_TRUE(wait_for([&] { return ticks > before; }));
    }
    i % 3 == 0 ? timer.reset() : group.reset();
  }
  const int then = of_the_default_group;
  EXPECT_TRUE(wait_for([&] { return of_the_default_group > then; })) << "what stays goes on";
}

TEST_P(OurGroups, that_go_and_come_back_still_exclude_what_runs)
{
  const auto group = make_group(*node);
  std::atomic<bool> runs{false};
  std::atomic<bool> overlapped{false};
  const auto other = make_waitable(*node, [&] { overlapped = overlapped || runs; }, group);
  const auto waitable = make_waitable(
    *node,
    [&] {
      runs = true;
      for (int i = 0; i < 3; ++i) {
        executor->remove_node(node);
        executor->add_node(node);
        other->trigger();
        std::this_thread::sleep_for(20ms);  // time to do it wrong
      }
      runs = false;
    },
    group);
  const Spinning spinning(*executor, node);
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return other->executed() > 0; }));
  EXPECT_FALSE(overlapped);
}

TEST_P(OurGroups, may_lose_what_runs_and_others_in_its_callback)
{
  executor->add_node(node);
  std::promise<void> done;
  auto other = node->create_wall_timer(1ms, [] {});
  std::shared_ptr<Triggered> self;
  self = make_waitable(*node, [&] {
    other.reset();
    self.reset();
    executor->remove_node(node);
    done.set_value();
  });
  const Spinning spinning(*executor);
  self->trigger();
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(wait_for([&] { return ours(*executor).statistics().empty(); }));
}

TEST_P(Groups, never_call_a_subscription_that_is_gone)
{
  int received = 0;
  auto subscription =
    node->create_subscription<Message>("topic", 10, [&](const Message &) { ++received; });
  const auto publisher = node->create_publisher<Message>("topic", 10);
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 1; }));
  executor->add_node(node);
  publisher->publish(Message());
  std::this_thread::sleep_for(20ms);  // most likely it waits by now
  subscription.reset();
  executor->spin_some();
  executor->spin_all(1s);
  EXPECT_EQ(received, 0);
}

TEST_P(Groups, and_what_they_have_are_gone_with_the_last_owner_while_it_spins_and_later)
{
  enum class Until
  {
    kSpins,
    kRemoved,
    kExecutorGone
  };
  for (const Until until : {Until::kSpins, Until::kRemoved, Until::kExecutorGone}) {
    if (until == Until::kSpins && !is_ours(GetParam())) {
      continue;  // they may have what they look at
    }
    executor = make_executor();
    auto other = make_node("dropped");
    auto group = make_group(*other);
    auto subscription = make_subscription(*other, "topic", 1, [](const Message &) {}, group);
    auto client = make_client(*other, "service", nullptr);
    auto service = make_service(*other, "service");
    std::atomic<int> ticks{0};
    auto timer = other->create_wall_timer(1ms, [&] { ++ticks; });
    const std::weak_ptr<void> parts[] = {handle_of(*other), group, subscription, client,
                                         service,           timer};
    executor->add_node(other);
    auto spinning = std::make_unique<Spinning<Executor>>(*executor);
    EXPECT_TRUE(wait_for([&] { return ticks > 0; }));
    if (until != Until::kSpins) {
      spinning.reset();
    }
    if (until == Until::kRemoved) {
      executor->remove_node(other);
    } else if (until == Until::kExecutorGone) {
      executor.reset();
    }
    timer.reset();
    service.reset();
    client.reset();
    subscription.reset();
    group.reset();
    other.reset();
    for (const auto & part : parts) {
      const auto is_gone = [&] { return part.expired(); };
      EXPECT_TRUE(until == Until::kSpins ? wait_for(is_gone) : is_gone());
    }
    spinning.reset();
  }
}

TEST_P(Groups, run_nothing_any_more_when_their_node_is_gone)
{
  std::atomic<int> ticks{0};
  auto timer = node->create_wall_timer(1ms, [&] { ++ticks; });
  {
    const Spinning spinning(*executor, node);
    EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
    timer.reset();
    node.reset();
  }
  const int then = ticks;
  executor->spin_some();
  EXPECT_EQ(ticks, then);
}

TEST_P(Groups, that_are_reentrant_run_callbacks_at_once_where_there_are_threads)
{
  if (!has_threads(GetParam())) {
    GTEST_SKIP() << "this executor has one thread";
  }
  const auto group = make_group(*node, true);
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  const auto meet = [&] {
    ++inside;
    if (!met && wait_for([&] { return inside > 1 || met; })) {
      met = true;
    }
    --inside;
  };
  const auto first = make_timer(*node, 1ms, meet, group);
  const auto second = make_timer(*node, 1ms, meet, group);
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return met.load(); }));
}

TEST_P(Groups, that_are_mutually_exclusive_run_their_callbacks_in_turns)
{
  std::atomic<int> inside{0};
  std::atomic<bool> overlap{false};
  std::array<std::atomic<int>, 2> ran{};
  const auto run = [&](std::size_t which) {
    overlap = overlap || ++inside > 1;
    std::this_thread::sleep_for(2ms);
    ++ran[which];
    --inside;
  };
  // Both always have something to do.
  const auto first = node->create_wall_timer(1ms, [&] { run(0); });
  const auto second = node->create_wall_timer(1ms, [&] { run(1); });
  const Spinning spinning(*executor, node);
  const bool may_starve = GetParam() == Kind::kRclcppMulti;
  EXPECT_TRUE(
    wait_for([&] { return may_starve ? ran[0] + ran[1] > 20 : ran[0] > 10 && ran[1] > 10; }));
  EXPECT_FALSE(overlap);
}

// KEEP_LAST drops the oldest message of both at each publication: both always have the same messages.
TEST_P(OurGroups, let_equals_take_turns_in_an_overload)
{
  std::array<std::atomic<int>, 2> runs{};
  std::vector<std::shared_ptr<Subscription>> subscriptions;
  for (auto & run : runs) {
    subscriptions.push_back(
      node->create_subscription<Message>("flood", 10, [&run](const Message &) {
        ++run;
        std::this_thread::sleep_for(2500us);
      }));
  }
  const auto publisher = node->create_publisher<Message>("flood", 10);
  executor->add_node(node);
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 2; }));
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Message());
    return runs[0] + runs[1] >= 60;
  }));
  EXPECT_GE(std::min<int>(runs[0], runs[1]), 25) << runs[0] << " and " << runs[1];
}

TEST_P(Groups, deliver_all_messages_that_wait_in_the_process)
{
  const auto intra = make_node("intra", by_pointer());
  std::atomic<int> received{0};
  const auto subscription =
    intra->create_subscription<Message>("topic", 200, [&](const Message &) { ++received; });
  const auto publisher = intra->create_publisher<Message>("topic", 200);
  publisher->publish(Message());
  executor->add_node(intra);
  for (int i = 0; i < 100; ++i) {
    publisher->publish(Message());
  }
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return received == 101; })) << received;
}

}  // namespace
}  // namespace conformance
