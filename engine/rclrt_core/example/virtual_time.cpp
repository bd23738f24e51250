// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A brake message arrives while a camera image is being processed: under each execution model, in
// virtual time, without ROS. It prints the same every time, on every machine:
//
//   priority_events  camera  released 0 ms, started 0 ms, ended 6 ms
//   priority_events  brake   released 2 ms, started 6 ms, ended 7 ms
//   preemptive       camera  released 0 ms, started 0 ms, ended 7 ms
//   preemptive       brake   released 2 ms, started 2 ms, ended 3 ms
//   isolated         camera  released 0 ms, started 0 ms, ended 7 ms
//   isolated         brake   released 2 ms, started 2 ms, ended 3 ms
//
// In the priority_events model one thread runs both callbacks, and the brake waits for the camera. In the other two each
// callback has a thread with its own priority, and the OS, simulated here, preempts the camera.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/sim_platform.hpp"

namespace
{

using rclrt_core::ExecutionModel;
using std::chrono::milliseconds;

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    std::fprintf(stderr, "virtual_time: %s\n", status.message().c_str());
    std::exit(EXIT_FAILURE);
  }
}

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

void run(ExecutionModel model)
{
  rclrt_core::SimPlatform machine(1);  // CPU
  rclrt_core::EngineOptions options;
  options.model = model;
  options.timer_thread = fifo(90);
  rclrt_core::Engine engine(machine, options);

  // A callback works for some virtual time, in a group of its own.
  const auto add = [&](const char * name, int priority, milliseconds work) {
    rclrt_core::GroupOptions group_options;
    group_options.name = std::string("group of ") + name;
    std::shared_ptr<rclrt_core::Group> group;
    check(engine.add_group(group_options, &group));
    rclrt_core::CallbackOptions callback_options;
    callback_options.name = name;
    callback_options.attributes = fifo(priority);
    callback_options.run = [&machine, work](const rclrt_core::Job &) {
      machine.work(work);
      return true;
    };
    std::shared_ptr<rclrt_core::Callback> callback;
    check(engine.add_callback(callback_options, group, &callback));
    return callback;
  };
  const auto camera = add("camera", 10, milliseconds(6));
  const auto brake = add("brake", 80, milliseconds(1));

  // The middleware: an image at 0 ms, the brake message at 2 ms.
  check(machine.run([&] {
    rclrt_core::ThreadOptions spinner_options;
    spinner_options.name = "spinner";
    std::unique_ptr<rclrt_core::Thread> spinner;
    check(machine.start_thread(spinner_options, [&engine] { check(engine.spin()); }, {}, &spinner));
    engine.notify(*camera);
    machine.sleep_for(milliseconds(2));
    engine.notify(*brake);
    machine.sleep_for(milliseconds(18));
    engine.stop();
    spinner->join();
  }));

  engine.read_trace([&](const rclrt_job_record & job) {
    if (!rclrt_job_ran(&job)) {
      return;
    }
    std::printf(
      "%-15s  %-6s  released %d ms, started %d ms, ended %d ms\n", to_string(model),
      job.callback == brake->id() ? "brake" : "camera", static_cast<int>(job.release_ns / 1000000),
      static_cast<int>(job.start_ns / 1000000), static_cast<int>(job.end_ns / 1000000));
  });
}

}  // namespace

int main()
{
  for (const ExecutionModel model :
       {ExecutionModel::kPriorityEvents, ExecutionModel::kPreemptive, ExecutionModel::kIsolated}) {
    run(model);
  }
}
