// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Measures one case: all ways to dispatch by turns, on the same subscriptions, from messages of
// another process (dispatch_publisher). Writes every sample.

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include "variants.hpp"

namespace
{

struct Options
{
  std::string topic = "dispatch";
  std::size_t subscriptions = 1;
  std::size_t idle = 0;
  std::size_t rounds = 5;
  std::size_t samples = 500;
  std::size_t warm_up = 50;
  std::vector<std::string> only;
  std::string out;
};

constexpr std::chrono::seconds kDiscovery(60);
/// Nobody publishes more slowly than once in 100 ms; and a slice may take a while to set up.
constexpr std::chrono::milliseconds kPatiencePerSample(100);
constexpr std::chrono::seconds kPatience(30);

void wait_for_publisher(const dispatch::Receiver & receiver)
{
  const auto until = std::chrono::steady_clock::now() + kDiscovery;
  while (!receiver.has_publisher()) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("there is no publisher");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

nlohmann::json run(
  const dispatch::Variant & variant, const Options & options, dispatch::Receiver & receiver)
{
  dispatch::Slice slice(options.subscriptions, options.warm_up, options.samples);
  receiver.drain();
  receiver.record_to(&slice);
  nlohmann::json result;
  bool complete = false;
  {
    const auto dispatching = variant.start(receiver);
    complete = slice.wait(kPatience + (options.warm_up + options.samples) * kPatiencePerSample);
    result["middleware"] = dispatch::middleware_in_force();
    result["other_threads"] = dispatch::others_in_force();
  }
  receiver.record_to(nullptr);
  if (!complete) {
    throw std::runtime_error(variant.name + ": messages stopped coming");
  }
  result["variant"] = variant.name;
  result["delays_ns"] = slice.delays_ns();
  return result;
}

int measure(const Options & options)
{
  const auto front_end = dispatch::start_up();
  const auto receiver = dispatch::make_receiver(options.topic, options.subscriptions, options.idle);
  wait_for_publisher(*receiver);

  std::vector<dispatch::Variant> variants = dispatch::floors();
  for (auto & variant : dispatch::executors()) {
    variants.push_back(std::move(variant));
  }
  if (!options.only.empty()) {
    variants.erase(
      std::remove_if(
        variants.begin(), variants.end(),
        [&](const auto & variant) {
          return std::count(options.only.begin(), options.only.end(), variant.name) == 0;
        }),
      variants.end());
  }
  nlohmann::json slices = nlohmann::json::array();
  for (std::size_t round = 0; round < options.rounds; ++round) {
    for (const auto & variant : variants) {
      nlohmann::json slice = run(variant, options, *receiver);
      slice["round"] = round;
      slices.push_back(std::move(slice));
    }
    // Everybody comes after everybody else once in a while.
    std::rotate(variants.begin(), variants.begin() + 1, variants.end());
    std::cerr << "round " << round + 1 << " of " << options.rounds << '\n';
  }
  std::ofstream(options.out) << nlohmann::json{{"slices", slices}} << '\n';
  return 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  Options options;
  CLI::App app("Delay from publication to start of the callback, one case");
  app.add_option("--topic", options.topic);
  app.add_option("--subscriptions", options.subscriptions)->check(CLI::Range(1, 100));
  app.add_option("--idle", options.idle)->check(CLI::Range(0, 10000));
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--samples", options.samples)->check(CLI::PositiveNumber);
  app.add_option("--warm-up", options.warm_up)->check(CLI::NonNegativeNumber);
  app.add_option("--only", options.only)->delimiter(',');
  app.add_option("--out", options.out)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return measure(options);
  } catch (const std::exception & error) {
    std::cerr << "dispatch_latency: " << error.what() << '\n';
    return 1;
  }
}
