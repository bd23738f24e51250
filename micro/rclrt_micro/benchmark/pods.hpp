// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The evaluation of PoDS [PoDS §6] on the simulated port: chains of a timer callback here, a callback
// of no length in ROS 2, and a subscription callback here, over a serial line at 115200 baud.
//
// The model: a byte takes 86.8 us; the agent answers control messages after 0.3 ms; a reply of 10
// bytes leaves it 1 ms after the data came, and does not queue behind control messages. Callbacks
// publish at their end. Everything else takes no time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../test/system.hpp"

namespace pods
{
enum class Who
{
  kBatch,   // today's executor, blocking transmission
  kPaper,   // PoDS as published
  kOwn,     // this library
  kLevels,  // this library with preemption levels
};

struct Experiment
{
  Who who = Who::kOwn;
  unsigned chains = 3;
  uint32_t bytes = 100;
  uint64_t work_ns = 10 * kMs;
  bool reliable = false;
  double success = 1;     // probability that the first transmission counts
  bool together = false;  // one draw for all messages of a sample, not one for each
  unsigned samples = 3;
  uint32_t seed = 1;
};

struct Outcome
{
  std::vector<std::vector<double>> latency_ms;  // per chain, per sample
};

class Bench
{
public:
  explicit Bench(const Experiment & with) : setup_(with), random_(with.seed), system_(options(with))
  {
    Rig & rig = system_;
    reply_line_ = std::make_unique<rclrt_micro::SimLine>(rig.world, kByte115200);
    rig.agent.options.acknowledge_everything = with.who == Who::kOwn || with.who == Who::kLevels;
    route_replies();
    build();
  }

  Outcome run()
  {
    Outcome outcome;
    outcome.latency_ms.resize(setup_.chains);
    for (unsigned sample = 0; sample < setup_.samples; ++sample) {
      for (const auto & chain : chains_) {
        chain->begin_ns = chain->end_ns = 0;
      }
      lost_ = setup_.together && draw();
      const uint64_t begin = first_ns_ + sample * kPeriodNs;
      spin(begin + kPeriodNs - 50 * kMs);
      for (unsigned i = 0; i < setup_.chains; ++i) {
        const auto & chain = *chains_[i];
        if (chain.begin_ns == 0 || chain.end_ns == 0) {
          throw std::runtime_error(
            "chain " + std::to_string(i) + " did not end in sample " + std::to_string(sample));
        }
        outcome.latency_ms[i].push_back(static_cast<double>(chain.end_ns - chain.begin_ns) / 1e6);
      }
    }
    return outcome;
  }

private:
  static constexpr uint64_t kPeriodNs = 500 * kMs;
  static constexpr uint64_t kAnswerNs = 300'000;
  static constexpr uint64_t kReplyNs = 1 * kMs;

  struct Chain
  {
    Bench * bench;
    unsigned index;
    rclrt_publisher publisher;
    rclrt_subscription subscription;
    rclrt_timer timer;
    Blob message;
    std::string out, in;
    uint64_t begin_ns, end_ns;  // of its timer callback and its subscription callback, in a sample
  };

  static void expect_ok(rclrt_ret ret) { require(ret == RCLRT_OK, rclrt_ret_text(ret)); }

  static RigOptions options(const Experiment & with)
  {
    RigOptions rig;
    rig.agent_delay_ns = kAnswerNs;
    rig.nodes = 24;
    rig.capacity = static_cast<uint16_t>(std::max(512U, (with.bytes + 35) / 4 * 4));
    const bool batch_or_paper = with.who == Who::kBatch || with.who == Who::kPaper;
    rig.policy.mode = batch_or_paper ? RCLRT_MODE_PAPER : RCLRT_MODE_OWN;
    // A little more than an acknowledgement takes: 0.3 ms and 20 bytes.
    rig.policy.hold_off_ns = 2'500'000;
    return rig;
  }

  // DATA takes a lane of its own to the client.
  void route_replies()
  {
    Rig & rig = system_;
    reply_line_->deliver = rig.to_client.deliver;
    rig.on_agent_message = [this](const Agent::Bytes & message) {
      if (message[4] != RCLRT_DATA) {
        return false;
      }
      reply_line_->send(Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0));
      return true;
    };
    rig.agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      const std::string reply = "rt/r" + topic.substr(4);
      const auto number = Agent::Bytes(data.begin(), data.begin() + 4);
      system_.world.at(system_.world.now_ns() + kReplyNs, [this, reply, number] {
        Agent::Bytes ten = number;
        ten.resize(10);
        system_.agent.publish(reply, ten);
        system_.arm_agent();
      });
    };
  }

  void build()
  {
    system_.start();
    std::vector<uint8_t> priorities(size_t{2} * setup_.chains);
    require(rclrt_chain_priorities(setup_.chains, 2, priorities.data()), "too many chains");
    if (setup_.who == Who::kLevels) {
      use_levels();
    }
    // As registered today: timers and subscriptions by chain, in the order of importance.
    first_ns_ = (system_.world.now_ns() / kPeriodNs + 20) * kPeriodNs;
    const auto qos = setup_.reliable ? rclrt_qos_reliable() : rclrt_qos_best_effort();
    for (unsigned i = 0; i < setup_.chains; ++i) {
      chains_.push_back(std::make_unique<Chain>());
      Chain & chain = *chains_.back();
      chain.bench = this;
      chain.index = i;
      chain.out = "c" + std::to_string(i);
      chain.in = "r" + std::to_string(i);
      expect_ok(rclrt_publisher_init(
        &chain.publisher, &system_.node, &kBlob, chain.out.c_str(), qos, priorities[2 * i]));
      expect_ok(rclrt_publisher_set_blocking(
        &chain.publisher, setup_.who == Who::kBatch && !setup_.reliable));
      expect_ok(
        rclrt_subscription_init(&chain.subscription, &system_.node, &kBlob, chain.in.c_str(), qos));
    }
    for (auto & chain : chains_) {
      expect_ok(rclrt_executor_add_subscription(
        &system_.executor, &chain->subscription, &chain->message, on_reply, chain.get(),
        priorities[2 * chain->index + 1], RCLRT_ON_NEW_DATA));
    }
    for (auto & chain : chains_) {
      expect_ok(rclrt_executor_add_timer_at(
        &system_.executor, &chain->timer, first_ns_, kPeriodNs, priorities[2 * chain->index],
        on_timer, chain.get()));
    }
    system_.settle(1000);  // the READ_DATA requests
    rclrt_session_handle(&system_.session);
    system_.settle(1000);
    if (setup_.success < 1) {
      system_.agent.refuse = [this](uint8_t, uint16_t) { return setup_.together ? lost_ : draw(); };
    }
    if (levels_) {
      collect();
    }
  }

  // The most important chains get a level each, the rest share the lowest.
  void use_levels()
  {
    std::vector<uint8_t> floors = {0};
    const unsigned own = std::min(setup_.chains - 1, RCLRT_LEVELS_MAX - 1U);
    for (unsigned i = own; i > 0; --i) {
      floors.push_back(static_cast<uint8_t>((setup_.chains - i) * 2));
    }
    levels_.emplace(system_.world, system_.port, [this](unsigned level) {
      rclrt_executor_run_level(&system_.executor, level);
    });
    expect_ok(rclrt_executor_use_levels(
      &system_.executor, floors.data(), static_cast<uint8_t>(floors.size())));
  }

  // The timer interrupt.
  void collect()
  {
    const uint64_t next = rclrt_executor_collect(&system_.executor);
    if (next != UINT64_MAX) {
      system_.world.at(next, [this] { collect(); });
    }
  }

  void spin(uint64_t until_ns)
  {
    auto & world = system_.world;
    if (levels_ && system_.executor.levels > 1) {
      world.run_until(until_ns);
      return;
    }
    while (world.now_ns() < until_ns) {
      const uint64_t left = until_ns - world.now_ns();
      const auto ret = setup_.who == Who::kBatch
                         ? rclrt_batch_spin_some(&system_.executor, left)
                         : rclrt_executor_spin_some(&system_.executor, left);
      require(ret == RCLRT_OK || ret == RCLRT_ERR_TIMEOUT, rclrt_ret_text(ret));
    }
  }

  bool draw() { return std::uniform_real_distribution<>(0, 1)(random_) >= setup_.success; }

  static void on_timer(void * context, rclrt_timer *)
  {
    auto & chain = *static_cast<Chain *>(context);
    auto & world = chain.bench->system_.world;
    chain.begin_ns = world.now_ns();
    world.work(chain.bench->setup_.work_ns);
    const Blob blob{1, chain.bench->setup_.bytes};
    const uint32_t before = chain.bench->system_.daemon.counters.retransmitted;
    expect_ok(rclrt_publish(&chain.publisher, &blob));
    chain.bench->system_.arm();
    if (chain.bench->setup_.who == Who::kBatch && chain.bench->setup_.reliable) {
      chain.bench->wait_confirmed(chain, before);
    }
  }

  // Published so: the second transmission always counts, and nothing is awaited after it.
  void wait_confirmed(const Chain & chain, uint32_t retransmitted)
  {
    auto & daemon = system_.daemon;
    const auto repeated = [&] {
      return daemon.counters.retransmitted != retransmitted && daemon.current == nullptr;
    };
    while (!rclrt_daemon_confirmed(&daemon, chain.publisher.stream) && !repeated()) {
      expect_ok(rclrt_daemon_poll(&daemon, 1000 * kMs));
    }
  }

  static void on_reply(void * context, const void *)
  {
    auto & chain = *static_cast<Chain *>(context);
    auto & world = chain.bench->system_.world;
    world.work(chain.bench->setup_.work_ns);
    chain.end_ns = world.now_ns();
  }

  Experiment setup_;
  std::mt19937 random_;
  bool lost_ = false;  // of this sample, if its messages are lost together
  System system_;
  std::unique_ptr<rclrt_micro::SimLine> reply_line_;
  std::optional<rclrt_micro::SimLevels> levels_;
  std::vector<std::unique_ptr<Chain>> chains_;
  uint64_t first_ns_ = 0;
};

inline Outcome run(const Experiment & setup) { return Bench(setup).run(); }

inline double worst(const std::vector<double> & values)
{
  return *std::max_element(values.begin(), values.end());
}

inline double best(const std::vector<double> & values)
{
  return *std::min_element(values.begin(), values.end());
}

inline double mean(const std::vector<double> & values)
{
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

inline double deviation(const std::vector<double> & values)
{
  double sum = 0;
  const double middle = mean(values);
  for (const double value : values) {
    sum += (value - middle) * (value - middle);
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}
}  // namespace pods
