// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of chains: chain_cases.txt. That they find what a simulator knows is tested in see/rclrt_tools/test:
// test_watch.py and test_watch_joins.py.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_watch/assumptions.hpp"
#include "rclrt_watch/chain_watch.hpp"

extern "C" const char rclrt_test_folder[];  // of the package

namespace rclrt_watch
{
namespace
{

using rclrt_config::ChainSemantics;
using rclrt_core::Duration;
using std::chrono::milliseconds;

constexpr int64_t kMs = 1'000'000;

JobKey key(uint64_t sequence, uint32_t process = 1) { return {process, 1, sequence}; }

rclrt_config::Chain chain_of(std::istringstream & words)
{
  rclrt_config::Chain chain;
  chain.name = "grab";
  chain.links = {{"/look/timer/10ms", false}, {"/act/subscription/a", false}};
  chain.semantics = ChainSemantics::kLatency;
  chain.deadline = milliseconds(6);
  chain.silent_after = milliseconds(25);
  const auto number = [&words] {
    uint32_t value = 0;
    words >> value;
    return value;
  };
  for (std::string word; words >> word;) {
    if (word == "age") {
      chain.semantics = ChainSemantics::kAge;
    } else if (word == "reaction") {
      chain.semantics = ChainSemantics::kReaction;
    } else if (word == "timer") {
      chain.links[1].pattern = "/act/timer/20ms";
    } else if (word == "reads") {
      chain.links[1].reads = true;
    } else if (word == "inputs") {
      chain.links[1].inputs = number();
    } else if (word == "last") {
      chain.last_only = true;
    } else if (word == "no_deadline") {
      chain.deadline.reset();
    } else if (word == "warn_after") {
      chain.warn_after = number();
    } else if (word == "bound") {
      chain.bound = milliseconds(number());
    } else if (word == "error_after") {
      chain.error_after = number();
    } else {
      ADD_FAILURE() << word;
    }
  }
  return chain;
}

void look(ChainWatch & watch, uint64_t sequence, int64_t at_ms)
{
  ChainWatch::Job job;
  job.key = key(sequence);
  job.release = job.start = at_ms * kMs;
  job.end = job.start + 2 * kMs;
  watch.add_job(0, job);
}

void act(ChainWatch & watch, uint64_t sequence, int64_t end_ms, std::istringstream words)
{
  ChainWatch::Job job;
  job.key = key(sequence);
  job.release = job.start = (end_ms - 1) * kMs;
  job.end = end_ms * kMs;
  for (std::string word; words >> word;) {
    uint64_t number = 1000 + sequence;
    if (word == "input") {
      words >> job.input;
    } else if (word == "took") {
      uint64_t stamp = 0;
      words >> number >> stamp;
      job.key = key(sequence, 2);
      job.message = MessageKey(number, stamp);
    } else {
      job.by_link_before = word == "by" && words >> number;
      job.by = key(number);
    }
  }
  watch.add_job(1, job);
}

std::string in_ms(const std::optional<Duration> & value)
{
  return value ? std::to_string(*value / milliseconds(1)) : "-";
}

/// Numbers of the jobs of the worst instance.
std::string path_of(const ChainWatch & watch)
{
  std::string path;
  for (const JobKey & one : watch.worst_path()) {
    path += (path.empty() ? "" : "-") + std::to_string(std::get<2>(one));
  }
  return path;
}

std::string seen(ChainWatch & watch, const std::string & word)
{
  const ChainReport report = watch.report();
  std::string state = to_string(report.state);
  std::replace(state.begin(), state.end(), ' ', '_');
  const std::map<std::string, std::string> texts = {{"state", state},
                                                    {"last", in_ms(report.last)},
                                                    {"worst", in_ms(report.worst)},
                                                    {"p99", in_ms(report.p99)},
                                                    {"p50", in_ms(watch.percentile(50))},
                                                    {"path", path_of(watch)}};
  const std::map<std::string, uint64_t> numbers = {
    {"instances", report.instances},   {"misses", report.misses},
    {"row", report.misses_in_a_row},   {"most", report.most_misses_in_a_row},
    {"silences", report.silences},     {"left_out", report.left_out},
    {"overtaken", report.overtaken},   {"above", watch.above_bound()},
    {"remembered", watch.remembered()}};
  const auto text = texts.find(word);
  return text != texts.end()       ? text->second
         : word == "peak"          ? std::to_string(watch.take_peak())
         : numbers.count(word) > 0 ? std::to_string(numbers.at(word))
                                   : "no such number";
}

/// One line of a case, as chain_cases.txt says.
void follow(ChainWatch & watch, const std::string & verb, std::istringstream words)
{
  std::string first;
  words >> first;
  int64_t ms = 0;
  if (verb == "expect") {
    for (std::string value; words >> value; words >> first) {
      EXPECT_EQ(seen(watch, first), value) << first;
      first.clear();
    }
    return;
  }
  const uint64_t number = std::stoull(first);
  if (verb == "settle") {
    const uint64_t before = watch.report().misses;
    const uint64_t misses = watch.settle(static_cast<int64_t>(number) * kMs);
    EXPECT_EQ(watch.report().misses, before + misses);
  } else if (verb == "sent") {
    uint64_t stamp = 0;
    uint64_t job = 0;
    words >> stamp >> job >> ms;
    watch.add_publication({number, stamp}, key(job), ms * kMs);
  } else if (words >> ms; verb == "look") {
    look(watch, number, ms);
  } else if (verb == "act") {
    std::string rest;
    std::getline(words, rest);
    act(watch, number, ms, std::istringstream(rest));
  } else if (verb == "instance") {
    const std::size_t dots = first.find("..");
    const uint64_t last = dots == std::string::npos ? number : std::stoull(first.substr(dots + 2));
    for (uint64_t i = number; i <= last; ++i) {
      const auto start = static_cast<int64_t>(10 * i);
      look(watch, 2 * i, start);
      act(watch, 2 * i + 1, start + ms, std::istringstream("by " + std::to_string(2 * i)));
    }
  } else {
    ADD_FAILURE() << verb;
  }
}

TEST(ChainWatch, keeps_the_rules)
{
  const std::string path = std::string(rclrt_test_folder) + "/chain_cases.txt";
  std::ifstream file(path);
  std::optional<ChainWatch> watch;
  std::string name;
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    if (line.rfind("case ", 0) == 0) {
      name = line;
      std::istringstream chain(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
      watch.emplace(chain_of(chain));
      ++cases;
      continue;
    }
    std::istringstream said(line);
    for (std::string one; std::getline(said, one, ',');) {
      SCOPED_TRACE(name + ": " + one);
      std::istringstream words(one);
      if (std::string verb; words >> verb) {
        follow(*watch, verb, std::move(words));
      }
    }
  }
  EXPECT_EQ(cases, 22) << path;
}

/// Which of these inputs, in this order, brought something out, and what.
std::string kept(JoinWatch join, const std::string & names)
{
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ChainWatch::Job job;
    job.key = key(i);
    job.input = static_cast<uint64_t>(names[i]);
    std::string one = i == 0 ? "" : " ";
    for (const ChainWatch::Job & used : join.add(job, false)) {
      one += static_cast<char>(used.input) + std::to_string(std::get<2>(used.key));
    }
    all += one.size() > (i == 0 ? 0 : 1) ? one : one + "-";
  }
  return all;
}

TEST(JoinWatch, works_with_the_newest_of_each_input_once_all_have_come)
{
  EXPECT_EQ(kept(JoinWatch(2, true), "abbaaab"), "- a0b1 - b2a3 - - a5b6");
  EXPECT_EQ(kept(JoinWatch(3, true), "abaac"), "- - - - b1a3c4");
}

/// Until then what comes out is what surely has: the messages of the round before.
TEST(JoinWatch, finds_out_what_was_kept_before_the_first_record_where_an_input_comes_twice)
{
  EXPECT_EQ(kept(JoinWatch(2, false), "ababab"), "- - - a0b1 - a2b3");
  EXPECT_EQ(kept(JoinWatch(2, false), "abbaab"), "- - - b2a3 - a4b5");
  EXPECT_EQ(
    kept(JoinWatch(9, false), "abcdefghiabcdefghi"),
    "- - - - - - - - - - - - - - - - - a0b1c2d3e4f5g6h7i8");
}

// ---- What a proof takes for granted, held against jobs and threads: each thing is told once, with the chains it breaks.

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class AssumptionsTest : public ::testing::Test
{
protected:
  static rclrt_config::Configuration configuration()
  {
    rclrt_config::Machine machine;
    machine.cpu_count = 2;
    rclrt_config::Configuration parsed;
    const auto status = parsed.parse(
      "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
      "        /a/timer/x: {scheduling_policy: fifo, priority: 7, cpu_affinity: [0], wcet: 3ms, "
      "min_period: 10ms, response_bound: 5ms}\n"
      "        /b/timer/x: {cpu_affinity: [1], wcet: 1ms}\n"
      "        /d/timer/x: {scheduling_policy: deadline, runtime: 3ms, deadline: 9ms, period: 9ms, "
      "wcet: 3ms}\n"
      "      chains:\n"
      "        of a: {callbacks: [/a/timer/x], bound: 5ms}\n"
      "        of b: {callbacks: [/b/timer/x], bound: 5ms}\n",
      "f", machine);
    EXPECT_TRUE(status.ok()) << status.message();
    return parsed;
  }

  /// A job of /a/timer/x as the file says it is.
  static rclrt_job_record job()
  {
    rclrt_job_record record{};
    record.release_ns = record.ready_ns = record.start_ns = 100 * kMs;
    record.end_ns = 103 * kMs;
    record.cpu_ns = 3 * kMs;
    record.callback = 1;
    record.thread = 77;
    record.policy = RCLRT_POLICY_FIFO;
    record.priority = 7;
    record.jobs = 1;
    return record;
  }
  template <typename Change>
  static rclrt_job_record but(Change change)
  {
    rclrt_job_record record = job();
    change(record);
    return record;
  }
  void add(const std::vector<rclrt_job_record> & records)
  {
    assumptions_.add({{1, "/a/timer/x"}, {2, "/b/timer/x"}, {3, "/c/timer/x"}}, records);
    assumptions_.settle(INT64_MAX);
  }
  void look(SchedulingPolicy policy, int priority, rclrt_core::ThreadId id = 77, int times = 3)
  {
    rclrt_core::ThreadReport thread;
    thread.id = id;
    thread.name = "worker";
    thread.in_force.scheduling_policy = policy;
    thread.in_force.priority = priority;
    for (int i = 0; i < times; ++i) {
      assumptions_.look_at_threads({{thread}, {0}}, [this](const Attributes & attributes) {
        asked_.push_back(attributes.priority);
        return outranked_;
      });
    }
  }
  std::vector<std::string> told() const
  {
    std::vector<std::string> lines;
    for (const Broken & broken : broken_) {
      std::string line = broken.who + " " + broken.text + " |";
      for (const std::string & chain : broken.chains) {
        line += " " + chain;
      }
      lines.push_back(line);
    }
    return lines;
  }

  const rclrt_config::Configuration configuration_ = configuration();
  std::vector<Broken> broken_;
  std::vector<std::string> outranked_;
  std::vector<int> asked_;
  Assumptions assumptions_{
    terms_of(configuration_), [this](const Broken & broken) { broken_.push_back(broken); }};
};

TEST_F(AssumptionsTest, nothing_is_told_of_what_is_as_the_file_says)
{
  EXPECT_TRUE(assumptions_.has_proof());
  add({job(), but([](auto & r) {
         r.release_ns += 10 * kMs;
         r.end_ns += 10 * kMs;
       })});
  add({but([](auto & r) {
    r.cpu_ns = RCLRT_TRACE_UNKNOWN;
    r.release_ns += 20 * kMs;
    r.end_ns += 20 * kMs;
  })});
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(AssumptionsTest, each_kind_is_told_once_with_the_chains_on_the_same_cpu)
{
  const auto longer = but([](auto & r) {
    r.cpu_ns = 4 * kMs;
    r.release_ns = 0;
  });
  add({longer});
  add({longer});
  EXPECT_THAT(
    told(), ElementsAre(
              "/a/timer/x took 103 ms; its bound is 5 ms | of a",
              "/a/timer/x runs for 4 ms; the file says 3 ms | of a",
              "/a/timer/x is released 0 ms after the last time; the file says 10 ms | of a"));
}

TEST_F(AssumptionsTest, releases_that_come_closer_are_told_also_if_their_records_come_late)
{
  const auto at = [](int64_t ms) {
    return but([ms](auto & r) {
      r.release_ns = r.start_ns = ms * kMs;
      r.end_ns = r.start_ns + 1;
    });
  };
  assumptions_.add({{1, "/a/timer/x"}}, {at(120)});
  assumptions_.settle(110 * kMs);
  assumptions_.add({{1, "/a/timer/x"}}, {at(100), at(110)});
  assumptions_.settle(130 * kMs);
  EXPECT_THAT(told(), IsEmpty());
  assumptions_.add({{1, "/a/timer/x"}}, {at(129)});
  assumptions_.settle(140 * kMs);
  EXPECT_THAT(
    told(),
    ElementsAre("/a/timer/x is released 9 ms after the last time; the file says 10 ms | of a"));
}

TEST_F(AssumptionsTest, what_is_in_force_is_held_against_the_file)
{
  add({but([](auto & r) { r.policy = RCLRT_POLICY_OTHER; })});
  add({but([](auto & r) {
    r.priority = 6;
    r.release_ns += 10 * kMs;
    r.end_ns += 10 * kMs;
  })});
  add({but([](auto & r) {
    r.cpu = 1;
    r.release_ns += 20 * kMs;
    r.end_ns += 20 * kMs;
  })});
  EXPECT_THAT(
    told(), ElementsAre(
              "/a/timer/x runs under other, which any program may preempt | of a",
              "/a/timer/x runs under fifo 6; the file says 7 | of a",
              "/a/timer/x runs on CPU 1; the file says 0 | of a"));
}

TEST_F(AssumptionsTest, a_reservation_is_held_against_the_file)
{
  const auto job_of_d = [](uint8_t policy) {
    return but([policy](auto & r) {
      r.callback = 4;
      r.policy = policy;
    });
  };
  assumptions_.add({{4, "/d/timer/x"}}, {job_of_d(RCLRT_POLICY_DEADLINE)});
  EXPECT_THAT(told(), IsEmpty());
  assumptions_.add({{4, "/d/timer/x"}}, {job_of_d(RCLRT_POLICY_FIFO)});
  EXPECT_THAT(
    told(), ElementsAre(StartsWith("/d/timer/x runs under fifo; the file says deadline")));
}

TEST_F(AssumptionsTest, jobs_that_did_not_run_and_callbacks_that_are_not_planned_are_told)
{
  add({but([](auto & r) {
    r.outcome = RCLRT_JOB_DROPPED;
    r.jobs = 4;
  })});
  add({but([](auto & r) {
    r.callback = 3;
    r.policy = RCLRT_POLICY_OTHER;
  })});
  add({but([](auto & r) { r.callback = 3; })});
  EXPECT_THAT(
    told(), ElementsAre(
              "/a/timer/x 4 of its jobs did not run | of a",
              "/c/timer/x is not in the file, and runs in real time | of a of b"));
}

TEST_F(AssumptionsTest, a_thread_that_has_lost_its_priority_is_told_at_the_third_look)
{
  add({job()});
  look(SchedulingPolicy::kFifo, 7);
  look(SchedulingPolicy::kFifo, 80);
  look(SchedulingPolicy::kOther, 0, 77, 2);
  EXPECT_THAT(told(), IsEmpty()) << "lent is more, and one look may be in the middle of a change";
  look(SchedulingPolicy::kOther, 0, 77, 1);
  look(SchedulingPolicy::kFifo, 6, 77, 3);
  EXPECT_THAT(
    told(), ElementsAre("/a/timer/x thread 77 has other 0, which no job asked for | of a"));
}

/// It lowers itself for a job before it takes it, and another thread may take that job.
TEST_F(AssumptionsTest, a_thread_may_have_what_a_job_of_another_thread_has_asked_for)
{
  add({job(), but([](auto & r) {
         r.thread = 78;
         r.priority = 60;
       })});
  std::vector<rclrt_core::ThreadReport> threads(2);
  threads[0].id = 77;
  threads[1].id = 78;
  const auto look_at_both = [&](int priority) {
    for (auto & thread : threads) {
      thread.in_force.scheduling_policy = SchedulingPolicy::kFifo;
      thread.in_force.priority = priority;
    }
    for (int i = 0; i < 3; ++i) {
      assumptions_.look_at_threads({threads, {0}}, {});
    }
    const auto lines = told();
    return std::count_if(lines.begin(), lines.end(), [](const std::string & line) {
      return line.find("which no job asked for") != std::string::npos;
    });
  };
  EXPECT_EQ(look_at_both(7), 0);
  EXPECT_EQ(look_at_both(6), 2);
}

TEST_F(AssumptionsTest, a_thread_without_jobs_that_is_not_real_time_any_more_is_told)
{
  look(SchedulingPolicy::kOther, 0, 5);
  EXPECT_THAT(told(), IsEmpty());
  look(SchedulingPolicy::kFifo, 90, 5, 1);
  look(SchedulingPolicy::kOther, 0, 5);
  EXPECT_THAT(told(), ElementsAre(" thread 5 'worker' is not real-time any more | of a of b"));
}

TEST_F(AssumptionsTest, the_number_of_a_thread_that_has_ended_is_given_again)
{
  look(SchedulingPolicy::kFifo, 90, 5, 1);
  look(SchedulingPolicy::kOther, 0, 6, 1);
  look(SchedulingPolicy::kOther, 0, 5);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(AssumptionsTest, no_more_is_kept_than_anybody_reads)
{
  for (int i = 0; i < 20'000; ++i) {
    assumptions_.note(std::to_string(i % 15'000), "stranger", "", {});
  }
  EXPECT_EQ(assumptions_.broken().size(), 10'000u);
  EXPECT_EQ(assumptions_.broken().front().times, 2u);
}

TEST_F(AssumptionsTest, a_thread_of_the_middleware_below_its_readers_is_told)
{
  add({job()});
  outranked_ = {"dds.udp.7"};
  look(SchedulingPolicy::kFifo, 7);
  EXPECT_THAT(asked_, ElementsAre(7, 7, 7));
  EXPECT_THAT(
    told(),
    ElementsAre(
      "/a/timer/x the middleware's thread dds.udp.7 is not more urgent than this callback | of a"));
}

}  // namespace
}  // namespace rclrt_watch
