// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Measures one case: all ways to dispatch by turns, on the same subscriptions, from messages of
// another process (dispatch_publisher); or, with --together, all of them at once. Writes every sample.

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
  bool together = false;
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
  }
  receiver.record_to(nullptr);
  if (!complete) {
    throw std::runtime_error(variant.name + ": messages stopped coming");
  }
  result["variant"] = variant.name;
  result["delays_ns"] = slice.delays_ns();
  result["cpu_ns_a_message"] = slice.cpu_ns_a_message();
  result["published"] = slice.published();
  result["published_a_second"] = slice.published_a_second();
  return result;
}

/// A way to dispatch with subscriptions of its own, beside the others.
struct Beside
{
  std::unique_ptr<dispatch::Receiver> receiver;
  std::unique_ptr<dispatch::Slice> slice;
  std::unique_ptr<dispatch::Dispatching> dispatching;
};

/// All of them at once, from topics of their own, to which one publishes in turns: what else the machine does
/// falls on all alike, within milliseconds. One subscription each.
nlohmann::json measure_together(
  const Options & options, const std::vector<dispatch::Variant> & variants)
{
  std::vector<Beside> all(variants.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].receiver =
      dispatch::make_receiver(options.topic + '_' + std::to_string(i), 1, options.idle);
    all[i].slice =
      std::make_unique<dispatch::Slice>(1, options.warm_up, options.rounds * options.samples);
  }
  for (const Beside & one : all) {
    wait_for_publisher(*one.receiver);
    one.receiver->record_to(one.slice.get());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].receiver->drain();
    all[i].dispatching = variants[i].start(*all[i].receiver);
  }
  const auto patience = kPatience + all.size() *
                                      (options.warm_up + options.rounds * options.samples) *
                                      kPatiencePerSample;
  nlohmann::json slices = nlohmann::json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].slice->wait(patience)) {
      throw std::runtime_error(variants[i].name + ": messages stopped coming");
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].dispatching.reset();
    const auto delays = all[i].slice->delays_ns();
    const auto in_a_round = static_cast<std::ptrdiff_t>(delays.size() / options.rounds);
    for (std::size_t round = 0; round < options.rounds; ++round) {
      const auto first = delays.begin() + static_cast<std::ptrdiff_t>(round) * in_a_round;
      slices.push_back(
        {{"variant", variants[i].name},
         {"round", round},
         {"delays_ns", std::vector<int64_t>(first, first + in_a_round)}});
    }
  }
  return slices;
}

int measure(const Options & options)
{
  const auto front_end = dispatch::start_up();
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
  if (options.together) {
    std::ofstream(options.out) << nlohmann::json{{"slices", measure_together(options, variants)}}
                               << '\n';
    return 0;
  }
  const auto receiver = dispatch::make_receiver(options.topic, options.subscriptions, options.idle);
  wait_for_publisher(*receiver);
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
  app.add_flag("--together", options.together);
  app.add_option("--out", options.out)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return measure(options);
  } catch (const std::exception & error) {
    std::cerr << "dispatch_latency: " << error.what() << '\n';
    return 1;
  }
}
