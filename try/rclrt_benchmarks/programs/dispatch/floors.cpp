// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What no executor can beat: the middleware itself.

#include <atomic>
#include <future>
#include <stdexcept>

#include "rcl/error_handling.h"
#include "rcl/subscription.h"
#include "variants.hpp"

namespace dispatch
{
namespace
{

/// Registered with the middleware in place of an executor.
class Listener
{
public:
  Listener(rcl_subscription_t * subscription, std::size_t number, Receiver & receiver)
  : subscription_(subscription), number_(number), receiver_(receiver)
  {
  }
  virtual ~Listener() = default;
  Listener(const Listener &) = delete;
  Listener & operator=(const Listener &) = delete;

  void listen() { set(&Listener::on_message, this); }
  void stop_listening() { set(nullptr, nullptr); }

protected:
  virtual void on_messages(std::size_t count) = 0;

  bool take()
  {
    rmw_message_info_t info = rmw_get_zero_initialized_message_info();
    if (rcl_take(subscription_, &message_, &info, nullptr) != RCL_RET_OK) {
      rcl_reset_error();
      return false;
    }
    receiver_.received(number_, message_);
    return true;
  }

private:
  static void on_message(const void * listener, std::size_t count)
  {
    const_cast<Listener *>(static_cast<const Listener *>(listener))->on_messages(count);
  }
  void set(rcl_event_callback_t callback, const void * user_data)
  {
    if (
      rcl_subscription_set_on_new_message_callback(subscription_, callback, user_data) !=
      RCL_RET_OK) {
      throw std::runtime_error(rcl_get_error_string().str);
    }
  }

  rcl_subscription_t * const subscription_;
  const std::size_t number_;
  Receiver & receiver_;
  Message message_;
};

class TakesAtOnce : public Listener
{
public:
  using Listener::Listener;
  ~TakesAtOnce() override { stop_listening(); }

private:
  void on_messages(std::size_t count) override
  {
    for (std::size_t i = 0; i < count; ++i) {
      take();
    }
  }
};

class HandsOver : public Listener
{
public:
  HandsOver(
    rcl_subscription_t * subscription, std::size_t number, Receiver & receiver, bool rt,
    const Execute & execute)
  : Listener(subscription, number, receiver)
  {
    if (execute) {
      run_ = [execute, number, &receiver] { execute(receiver, number); };
    }
    rclrt_core::ThreadOptions options;
    options.name = "hand-over";
    if (rt) {
      options.attributes = fifo(kWorkerPriority);
    }
    // The thread itself reports what was refused, before its body begins.
    const auto refused = std::make_shared<std::string>();
    const auto begun = std::make_shared<std::promise<void>>();
    auto has_begun = begun->get_future();
    const rclrt_core::Status started = platform_.start_thread(
      options,
      [this, begun] {
        begun->set_value();
        work();
      },
      [refused](const rclrt_core::Finding & finding) { *refused = rclrt_core::to_string(finding); },
      &thread_);
    if (!started.ok()) {
      throw std::runtime_error(started.message());
    }
    has_begun.wait();
    if (!refused->empty()) {
      stop_.store(true);
      HandsOver::on_messages(1);
      thread_->join();
      throw std::runtime_error("hand-over thread: " + *refused);
    }
  }
  ~HandsOver() override
  {
    stop_listening();
    stop_.store(true);
    on_messages(1);
    thread_->join();
  }

private:
  void on_messages(std::size_t count) override
  {
    pending_.fetch_add(static_cast<uint32_t>(count));
    platform_.wake_one(pending_);
  }

  void work()
  {
    uint32_t done = 0;
    while (!stop_.load()) {
      platform_.wait(pending_, done, rclrt_core::kNever);
      for (; done != pending_.load(); ++done) {
        run_();
      }
    }
  }

  std::function<void()> run_ = [this] { take(); };
  rclrt_core::LinuxPlatform platform_;
  std::atomic<uint32_t> pending_{0};
  std::atomic<bool> stop_{false};
  std::unique_ptr<rclrt_core::Thread> thread_;
};

class Floor : public Dispatching
{
public:
  using Make = std::function<std::unique_ptr<Listener>(rcl_subscription_t *, std::size_t)>;

  Floor(Receiver & receiver, bool raised, const Make & make)
  : raised_(raised ? std::make_unique<RaisedMiddleware>() : nullptr)
  {
    std::size_t number = 0;
    for (rcl_subscription_t * const subscription : receiver.handles()) {
      listeners_.push_back(make(subscription, number++));
      listeners_.back()->listen();
    }
  }

private:
  std::unique_ptr<RaisedMiddleware> raised_;
  std::vector<std::unique_ptr<Listener>> listeners_;
};

Variant listener_floor(const std::string & name, bool raised)
{
  return {name, [raised](Receiver & receiver) {
            return std::make_unique<Floor>(
              receiver, raised, [&](rcl_subscription_t * subscription, std::size_t number) {
                return std::make_unique<TakesAtOnce>(subscription, number, receiver);
              });
          }};
}

}  // namespace

Variant handover_floor(const std::string & name, bool realtime, const Execute & execute)
{
  return {name, [realtime, execute](Receiver & receiver) {
            return std::make_unique<Floor>(
              receiver, realtime, [&](rcl_subscription_t * subscription, std::size_t number) {
                return std::make_unique<HandsOver>(
                  subscription, number, receiver, realtime, execute);
              });
          }};
}

std::vector<Variant> floors()
{
  return {
    listener_floor("floor_listener", true), handover_floor("floor_handover", true),
    listener_floor("floor_listener_default", false),
    handover_floor("floor_handover_default", false)};
}

}  // namespace dispatch
