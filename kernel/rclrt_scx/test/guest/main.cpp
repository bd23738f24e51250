// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Runs scenarios against the scheduler in force: `scx_guest <name>...`, or `all-order`, `all-sharing`.
// One line each on the console: `RESULT <name> pass|fail|skip <text>`.

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "scenarios.hpp"

namespace guest
{

Stage::Stage(int count, int cpu)
{
  client = rclrt_scx::Client::open(&why);
  if (client == nullptr) {
    std::printf("no client: %s\n", why.c_str());
    std::exit(1);
  }
  become_fifo(50);
  pin_to(0);
  for (int i = 0; i < count; ++i) {
    workers.push_back(
      std::make_unique<Worker>(*client, log, std::string(1, static_cast<char>('A' + i)), cpu));
    if (!workers.back()->slot()) {
      std::printf("no slot: %s\n", workers.back()->why().c_str());
      std::exit(1);
    }
  }
}

}  // namespace guest

int main(int argc, char ** argv)
{
  const std::vector<guest::Scenarios> groups = {
    guest::order_scenarios(),  guest::sharing_scenarios(), guest::life_scenarios(),
    guest::tools_scenarios(),  guest::claims_scenarios(),  guest::damage_scenarios(),
    guest::mix_scenarios(),    guest::many_scenarios(),    guest::hotplug_scenarios(),
    guest::bounded_scenarios()};
  int failures = 0;
  const auto run = [&](const std::string & name, guest::Scenario scenario) {
    const std::string seen = scenario();
    const bool skipped = seen.rfind("skip: ", 0) == 0;
    failures += seen.empty() || skipped ? 0 : 1;
    std::printf(
      "RESULT %s %s %s\n", name.c_str(),
      seen.empty() ? "pass"
      : skipped    ? "skip"
                   : "fail",
      seen.c_str());
    std::fflush(stdout);
    // The interrupts of the console would take CPU time in the next scenario. An error: it is no terminal.
    static_cast<void>(tcdrain(STDOUT_FILENO));
  };
  for (int i = 1; i < argc; ++i) {
    const std::string wanted = argv[i];
    bool known = false;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const auto & [name, scenario] : groups[group]) {
        if (
          wanted == name || (wanted == "all-order" && group == 0) ||
          (wanted == "all-sharing" && group == 1)) {
          known = true;
          run(name, scenario);
        }
      }
    }
    if (!known) {
      std::printf("RESULT %s fail no such scenario\n", wanted.c_str());
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
