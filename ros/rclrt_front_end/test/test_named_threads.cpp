// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads of the process get what a user says of their names, also those that come later, and in the end what they had.
// Nothing here needs a permission: threads become less urgent.

#include "rclrt_front_end/named_threads.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

namespace rclrt_front_end
{
namespace
{

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;

/// A thread with a name, while it exists.
class Named
{
public:
  explicit Named(const std::string & name)
  : thread_([this, name] {
      pthread_setname_np(pthread_self(), name.c_str());
      id_ = rclrt_core::LinuxPlatform().current_thread();
      while (!stop_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    })
  {
    while (id_ == 0) {
      std::this_thread::yield();
    }
  }
  ~Named()
  {
    stop_ = true;
    thread_.join();
  }
  Named(const Named &) = delete;
  Named & operator=(const Named &) = delete;

  SchedulingPolicy policy() const
  {
    rclrt_core::LinuxPlatform platform;
    Attributes now;
    EXPECT_EQ(platform.read_back(id_, &now), 0);
    return now.scheduling_policy;
  }

private:
  std::atomic<bool> stop_{false};
  std::atomic<rclrt_core::ThreadId> id_{0};
  std::thread thread_;
};

Attributes with(SchedulingPolicy policy)
{
  Attributes attributes;
  attributes.scheduling_policy = policy;
  return attributes;
}

class NamedThreadsTest : public ::testing::Test
{
protected:
  ~NamedThreadsTest() override
  {
    threads_.release(&one_);
    threads_.release(&two_);
  }
  std::string require(const int & owner, std::vector<NamedThreads::Wish> wishes)
  {
    return threads_.require(&owner, std::move(wishes), [this](const rclrt_core::Finding & finding) {
      told_ += to_string(finding) + "\n";
    });
  }

  NamedThreads & threads_ = NamedThreads::instance();
  const int one_ = 1;
  const int two_ = 2;
  std::string told_;
};

TEST_F(NamedThreadsTest, have_what_is_said_of_their_names_until_the_last_owner_has_gone)
{
  const Named driver("driver");
  const Named logger_1("logger.1");
  const Named other("drive");
  const SchedulingPolicy before = driver.policy();
  require(
    one_, {{"driver", with(SchedulingPolicy::kBatch)}, {"logger*", with(SchedulingPolicy::kIdle)}});
  EXPECT_EQ(driver.policy(), SchedulingPolicy::kBatch);
  EXPECT_EQ(logger_1.policy(), SchedulingPolicy::kIdle);
  EXPECT_EQ(other.policy(), before);
  EXPECT_TRUE(threads_.has("logger.7"));
  EXPECT_FALSE(threads_.has("drive"));
  require(two_, {});
  threads_.release(&one_);
  EXPECT_EQ(driver.policy(), SchedulingPolicy::kBatch) << "another executor spins";
  threads_.release(&two_);
  EXPECT_EQ(driver.policy(), before);
  EXPECT_EQ(logger_1.policy(), before);
  EXPECT_EQ(told_, "");
}

TEST_F(NamedThreadsTest, that_appear_later_are_seen_at_the_next_look)
{
  require(one_, {{"late", with(SchedulingPolicy::kBatch)}});
  const Named late("late");
  threads_.look();
  EXPECT_EQ(late.policy(), SchedulingPolicy::kBatch);
}

TEST_F(NamedThreadsTest, of_executors_are_left_alone)
{
  const Named worker("rclrt worker");
  const SchedulingPolicy before = worker.policy();
  require(one_, {{"*", with(SchedulingPolicy::kBatch)}});
  EXPECT_EQ(worker.policy(), before);
}

// Until it has run, a new thread has the name of the one that starts it: here of this one, for which the wish is.
TEST_F(NamedThreadsTest, of_executors_are_left_alone_even_before_they_have_a_name)
{
  require(one_, {{"*", with(SchedulingPolicy::kIdle)}});
  std::atomic<bool> looks{true};
  std::thread looking([&] {
    pthread_setname_np(pthread_self(), "rclrt looker");
    while (looks) {
      threads_.look();
    }
  });
  std::atomic<int> taken{0};
  for (int i = 0; i < 200; ++i) {
    rclrt_core::ThreadOptions options;
    options.name = "rclrt worker";
    options.attributes = with(SchedulingPolicy::kBatch);
    std::unique_ptr<rclrt_core::Thread> worker;
    const auto work = [&taken] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rclrt_core::LinuxPlatform platform;
      Attributes now;
      platform.read_back(platform.current_thread(), &now);
      taken += now.scheduling_policy == SchedulingPolicy::kBatch ? 0 : 1;
    };
    ASSERT_TRUE(process_platform().start_thread(options, work, {}, &worker).ok());
    worker->join();
  }
  looks = false;
  looking.join();
  EXPECT_EQ(taken, 0);
}

TEST_F(NamedThreadsTest, that_were_never_there_are_told_at_the_end)
{
  require(one_, {{"nobody", with(SchedulingPolicy::kBatch)}});
  EXPECT_EQ(told_, "");
  threads_.release(&one_);
  EXPECT_NE(told_.find("thread 'nobody': was not there"), std::string::npos) << told_;
}

TEST_F(NamedThreadsTest, that_are_refused_something_are_told)
{
  const Named driver("driver");
  Attributes impossible = with(SchedulingPolicy::kDeadline);  // its runtime is 0
  EXPECT_EQ(require(one_, {{"driver", impossible}}) + "\n", told_);
  EXPECT_NE(told_.find("thread 'driver'"), std::string::npos) << told_;
  EXPECT_NE(require(two_, {{"driver", impossible}}), "")
    << "it is not in force for this one either";
  EXPECT_EQ(require(two_, {{"driver", with(SchedulingPolicy::kBatch)}}), "");
}

/// Ends the process with 0 if a thread that may have no priority keeps what it has, and the finding says why.
[[noreturn]] void ask_without_permission()
{
  const rlimit none{};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct no_capability[2] = {};
  if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || syscall(SYS_capset, &header, no_capability) != 0) {
    std::_Exit(3);
  }
  const Named driver("driver");
  const SchedulingPolicy before = driver.policy();
  Attributes urgent = with(SchedulingPolicy::kFifo);
  urgent.priority = 80;
  const int owner = 1;
  int told = 0;
  const std::string refused = NamedThreads::instance().require(
    &owner, {{"driver", urgent}}, [&told](const rclrt_core::Finding &) { ++told; });
  const bool is_said = refused.find("RLIMIT_RTPRIO is 0") != std::string::npos;
  std::cerr << refused << '\n';
  std::_Exit(is_said && told == 1 && driver.policy() == before ? 0 : 1);
}

TEST_F(NamedThreadsTest, that_may_have_no_priority_keep_what_they_have)
{
  EXPECT_EXIT(ask_without_permission(), ::testing::ExitedWithCode(0), "");
}

TEST_F(NamedThreadsTest, are_found_among_ten_thousand_wishes)
{
  const Named driver("driver");
  std::vector<NamedThreads::Wish> wishes(5000, {"driver", with(SchedulingPolicy::kIdle)});
  wishes.resize(10'000, {"nobody", with(SchedulingPolicy::kIdle)});
  wishes.push_back({"dri*", with(SchedulingPolicy::kBatch)});
  EXPECT_EQ(require(one_, wishes), "");
  EXPECT_EQ(driver.policy(), SchedulingPolicy::kBatch) << "the last one counts";
  threads_.release(&one_);
  EXPECT_EQ(std::count(told_.begin(), told_.end(), '\n'), 5000) << "those that were not there";
}

// Nothing gets a priority here: the policy is impossible, and nobody asks for it.
TEST_F(NamedThreadsTest, that_never_sleep_are_not_meant_by_a_real_time_policy_for_many)
{
  const Named busy("dds.asyn.0");
  Attributes urgent = with(SchedulingPolicy::kDeadline);
  const auto tell = [this](const rclrt_core::Finding & finding) {
    told_ += to_string(finding) + "\n";
  };
  threads_.require(&one_, {{"dds.*", urgent}}, tell, {"dds.asyn.*"});
  EXPECT_NE(told_.find("threads 'dds.*': are not 'dds.asyn.0'"), std::string::npos) << told_;
  EXPECT_EQ(told_.find("asked for"), std::string::npos) << told_;
  told_.clear();
  threads_.look();
  EXPECT_EQ(told_, "") << "once";
  threads_.require(&one_, {{"dds.asyn.0", urgent}}, tell, {"dds.asyn.*"});
  EXPECT_NE(told_.find("asked for"), std::string::npos) << "it is meant itself";
  threads_.require(&one_, {{"dds.*", with(SchedulingPolicy::kBatch)}}, tell, {"dds.asyn.*"});
  EXPECT_EQ(busy.policy(), SchedulingPolicy::kBatch);
}

}  // namespace
}  // namespace rclrt_front_end
