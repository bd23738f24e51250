// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The POSIX port where threads meet: the completion and reception handlers, and a publisher, each in a
// thread of its own while the program works; what a thread makes ready. Under the thread sanitizer this
// shows what no interleaving of whole accesses can.
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include "posix.hpp"

namespace
{
// What crosses from one thread to another.
template <typename T>
class Mailbox
{
public:
  void put(T item)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(std::move(item));
    filled_.notify_one();
  }

  // Waits for a while.
  std::optional<T> get(std::chrono::milliseconds patience)
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!filled_.wait_for(lock, patience, [this] { return !items_.empty(); })) {
      return {};
    }
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> items_;
};

// A line with DMA in both directions: a thread reads what write() was given, and calls the completion
// handler; another has the agent, and calls the reception handler and the timer's.
class Hardware
{
public:
  Hardware()
  {
    line.context = this;
    line.open = [](void *) { return true; };
    line.write = [](void * self, const uint8_t * bytes, size_t size) -> ptrdiff_t {
      static_cast<Hardware *>(self)->to_send_.put({bytes, size});
      return 0;
    };
    line.read = [](void * self, uint8_t *, size_t, uint64_t) -> ptrdiff_t {
      (void)static_cast<Hardware *>(self)->interrupts_.get(std::chrono::milliseconds(1));
      return 0;
    };
  }

  Hardware(const Hardware &) = delete;
  Hardware & operator=(const Hardware &) = delete;

  void start(rclrt_daemon & daemon)
  {
    sender_ = std::thread([this, &daemon] {
      while (!stop_) {
        const auto piece = to_send_.get(std::chrono::milliseconds(5));
        if (piece) {
          on_line_.put(Agent::Bytes(piece->first, piece->first + piece->second));
          rclrt_daemon_transmitted(&daemon);
        }
      }
    });
    receiver_ = std::thread([this, &daemon] { receive(daemon); });
  }

  void stop()
  {
    stop_ = true;
    sender_.join();
    receiver_.join();
  }

  rclrt_transport line{};
  std::atomic<bool> restart{false};
  std::map<std::string, std::vector<uint32_t>> arrived;  // to be looked at after stop()

private:
  void receive(rclrt_daemon & daemon)
  {
    Deframer deframer(RCLRT_FRAMING_SERIAL);
    Agent agent([&](const Agent::Bytes & message) {
      const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0);
      const size_t half = frame.size() / 2;
      rclrt_daemon_received(&daemon, frame.data(), half);
      rclrt_daemon_received(&daemon, frame.data() + half, frame.size() - half);
      interrupts_.put(true);
    });
    agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      arrived[topic].push_back(number(data));
    };
    while (!stop_) {
      if (restart.exchange(false)) {
        agent.restart();
      }
      const auto bytes = on_line_.get(std::chrono::milliseconds(1));
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      agent.tick(static_cast<uint64_t>(std::chrono::nanoseconds(now).count()));
      for (const auto & message : deframer.feed(bytes.value_or(Agent::Bytes{}))) {
        agent.receive(message);
      }
      (void)rclrt_daemon_tick(&daemon);
    }
  }

  Mailbox<std::pair<const uint8_t *, size_t>> to_send_;
  Mailbox<Agent::Bytes> on_line_;
  Mailbox<bool> interrupts_;
  std::atomic<bool> stop_{false};
  std::thread sender_;
  std::thread receiver_;
};

// Publishes 0, 1, ... until it is stopped.
struct Stream
{
  rclrt_ret init(Program & program, const char * topic, uint8_t priority)
  {
    return rclrt_publisher_init(
      &publisher, &program.node, &kBlob, topic, rclrt_qos_reliable(), priority);
  }
  void publish(uint32_t size)
  {
    const Blob blob{next, size};
    next += rclrt_publish(&publisher, &blob) == RCLRT_OK ? 1U : 0U;
  }
  std::vector<uint32_t> all() const
  {
    std::vector<uint32_t> numbers(next);
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
  }

  rclrt_publisher publisher{};
  uint32_t next = 0;
};

class Handlers : public ::testing::TestWithParam<rclrt_mode>
{
};

TEST_P(Handlers, run_in_threads_of_their_own_while_the_program_works)
{
  Hardware hardware;
  Program program(hardware.line, GetParam());
  hardware.start(program.daemon);
  program.start();
  Echo echo(program, "echo", 5, 6);
  Stream own;
  Stream other;
  must(own.init(program, "own", 2));
  must(other.init(program, "other", 9));
  rclrt_guard guard{};
  std::atomic<int> triggered{0};
  must(rclrt_executor_add_guard(
    &program.executor, &guard, 7,
    [](void * count) { static_cast<std::atomic<int> *>(count)->fetch_add(1); }, &triggered));
  std::thread preempting([&] {
    while (other.next < 60) {
      other.publish(20);
      rclrt_guard_trigger(&guard);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while ((echo.received < Echo::kCount || own.next < 50) &&
         std::chrono::steady_clock::now() < end) {
    own.publish(own.next % 7 == 0 ? (own.next % 2 == 0 ? 400 : 4090) : 12);  // in fragments, or not
    const auto ret = rclrt_executor_spin_some(&program.executor, kMs);
    EXPECT_TRUE(ret == RCLRT_OK || ret == RCLRT_ERR_TIMEOUT) << rclrt_ret_text(ret);
    if (own.next % 25 == 0) {
      Stream brief;
      if (brief.init(program, "brief", 1) == RCLRT_OK) {  // in paper mode their stream may be full
        brief.publish(12);
        const auto ended = rclrt_publisher_fini(&brief.publisher);
        const bool waits_behind_all_others =
          GetParam() == RCLRT_MODE_PAPER && ended == RCLRT_ERR_TIMEOUT;
        EXPECT_TRUE(ended == RCLRT_OK || ended == RCLRT_ERR_AGAIN || waits_behind_all_others)
          << rclrt_ret_text(ended);
      }
      EXPECT_EQ(rclrt_session_ping(&program.session, 10'000 * kMs), RCLRT_OK);
      own.publish(12);
    }
  }
  preempting.join();
  while (!rclrt_daemon_idle(&program.daemon) && std::chrono::steady_clock::now() < end) {
    (void)rclrt_executor_spin_some(&program.executor, kMs);
  }
  EXPECT_EQ(echo.received, Echo::kCount);
  EXPECT_TRUE(echo.in_order);
  EXPECT_GT(triggered, 0);
  // The agent is another one: greeting and creating go on beside the handlers too.
  rclrt_timer_cancel(&echo.timer);
  hardware.restart = true;
  auto ret = RCLRT_ERR_TIMEOUT;
  while (hardware.restart && std::chrono::steady_clock::now() < end) {
    (void)rclrt_executor_spin_some(&program.executor, kMs);
  }
  while (ret != RCLRT_OK && std::chrono::steady_clock::now() < end) {
    ret = rclrt_session_keep_alive(&program.session, 2000 * kMs);
  }
  EXPECT_EQ(ret, RCLRT_OK);
  hardware.stop();
  EXPECT_EQ(hardware.arrived["rt/own"], own.all());
  EXPECT_EQ(hardware.arrived["rt/other"], other.all());
}

INSTANTIATE_TEST_SUITE_P(
  All, Handlers, ::testing::Values(RCLRT_MODE_OWN, RCLRT_MODE_PAPER),
  [](const auto & of) { return of.param == RCLRT_MODE_OWN ? "own" : "paper"; });

// Each trigger waits for the run before: a single one that did not end the wait would be slept through.
TEST(Wake, what_another_thread_makes_ready_runs_without_anything_coming_on_the_line)
{
  AgentThread agent(RCLRT_POSIX_UDP);
  Program program(agent, RCLRT_POSIX_UDP);
  ASSERT_TRUE(program.posix.transport.open(&program.posix));
  std::atomic<int> runs{0};
  rclrt_guard guard{};
  must(rclrt_executor_add_guard(
    &program.executor, &guard, 7,
    [](void * count) { static_cast<std::atomic<int> *>(count)->fetch_add(1); }, &runs));
  constexpr int kRuns = 500;
  std::atomic<bool> slept_through{false};
  std::thread other([&] {
    const auto end = std::chrono::steady_clock::now() + kPatience / 2;
    for (int i = 0; i < kRuns && !slept_through; ++i) {
      rclrt_guard_trigger(&guard);
      while (runs == i && !slept_through) {
        std::this_thread::yield();
        slept_through = std::chrono::steady_clock::now() > end;
      }
    }
  });
  while (runs < kRuns && !slept_through) {
    (void)rclrt_executor_spin_some(&program.executor, 100'000 * kMs);
  }
  other.join();
  EXPECT_FALSE(slept_through);
  EXPECT_EQ(runs, kRuns);
}

// Runs `body` under SCHED_FIFO at `priority`. False: that is not permitted here.
bool under_fifo(int priority, const std::function<void()> & body)
{
  bool permitted = false;
  std::thread([&] {
    sched_param parameters{};
    parameters.sched_priority = priority;
    permitted = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
    if (permitted) {
      body();
    }
  }).join();
  return permitted;
}

// What the calling thread runs at, inherited or its own: 0 outside SCHED_FIFO.
int priority_in_effect()
{
  std::ifstream file("/proc/thread-self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 18; ++i) {  // from the state on; 18 is the priority: -1 - that of SCHED_FIFO
    fields >> field;
  }
  return std::max(0, -1 - std::atoi(field.c_str()));
}

TEST(CriticalSection, is_left_at_the_priority_of_who_waits_for_it)
{
  rclrt_posix posix{};
  must(rclrt_posix_udp(&posix, "127.0.0.1", 1));
  const rclrt_port & port = posix.port;
  const uint32_t token = port.enter(port.context);  // under SCHED_OTHER
  EXPECT_EQ(priority_in_effect(), 0);
  std::atomic<bool> done{false};
  std::atomic<bool> permitted{true};
  std::thread urgent([&] {
    permitted = under_fifo(11, [&] { port.leave(port.context, port.enter(port.context)); });
    done = true;
  });
  const auto end = std::chrono::steady_clock::now() + kPatience / 4;
  int seen = 0;
  while (seen == 0 && !done && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    seen = priority_in_effect();
  }
  EXPECT_TRUE(!permitted || !done) << "it did not wait";
  port.leave(port.context, token);
  urgent.join();
  rclrt_posix_fini(&posix);
  if (!permitted) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md";
  }
  EXPECT_EQ(seen, 11);
}

}  // namespace
