// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "order_checker.hpp"

#include <algorithm>
#include <map>
#include <sstream>

namespace rclrt_scx
{
namespace
{

constexpr char kFormat[] = "rclrt_scx events 1 lost ";
constexpr unsigned kMaskBits = 64;

struct Waiting
{
  uint64_t key;
  uint64_t allowed;
  bool inverted = false;
  Violation inversion{};
};

struct Running
{
  uint32_t tid;
  uint64_t key;
};

class Sweep
{
public:
  Sweep(uint64_t bound_ns, CheckResult & result) : bound_ns_(bound_ns), result_(result) {}

  void step(const rclrt_scx_event & event)
  {
    switch (event.type) {
      case RCLRT_SCX_QUEUED:
        end(event.tid, event.time_ns);  // Also of one that has no deadline any more.
        if (event.key < RCLRT_SCX_RUNS_BACKGROUND) {
          ++result_.waits;
          waiting_[event.tid] = Waiting{event.key, event.allowed};
        }
        break;
      case RCLRT_SCX_RUNS:
      case RCLRT_SCX_RESERVE:
        end(event.tid, event.time_ns);
        if (event.key < RCLRT_SCX_RUNS_BACKGROUND) {
          ++result_.switches;
        }
        if (event.type == RCLRT_SCX_RUNS) {
          running_[event.cpu] = Running{event.tid, event.key};
        } else {
          running_.erase(event.cpu);
        }
        break;
      case RCLRT_SCX_STOPS:
        running_.erase(event.cpu);
        break;
      default:  // RCLRT_SCX_LEFT
        end(event.tid, event.time_ns);
        break;
    }
    look(event.time_ns);
  }

  void finish(uint64_t time_ns)
  {
    while (!waiting_.empty()) {
      end(waiting_.begin()->first, time_ns);
    }
  }

private:
  /// Begin and end inversions as of now.
  void look(uint64_t time_ns)
  {
    for (auto & [tid, thread] : waiting_) {
      const auto later =
        std::find_if(running_.begin(), running_.end(), [&t = thread](auto & entry) {
          return entry.first < kMaskBits && (t.allowed >> entry.first & 1) != 0 &&
                 entry.second.key > t.key;
        });
      if (later == running_.end()) {
        close(thread, time_ns);
      } else if (!thread.inverted) {
        thread.inverted = true;
        thread.inversion = Violation{
          time_ns, 0, tid, thread.key, later->second.tid, later->second.key, later->first};
      }
    }
  }

  void close(Waiting & thread, uint64_t time_ns)
  {
    if (!thread.inverted) {
      return;
    }
    thread.inverted = false;
    const uint64_t lasted = time_ns - thread.inversion.from_ns;
    if (lasted > bound_ns_) {
      thread.inversion.until_ns = time_ns;
      result_.violations.push_back(thread.inversion);
    } else {
      result_.longest_ns = std::max(result_.longest_ns, lasted);
    }
  }

  void end(uint32_t tid, uint64_t time_ns)
  {
    const auto found = waiting_.find(tid);
    if (found != waiting_.end()) {
      close(found->second, time_ns);
      waiting_.erase(found);
    }
  }

  uint64_t bound_ns_;
  CheckResult & result_;
  std::map<uint32_t, Waiting> waiting_;
  std::map<uint16_t, Running> running_;
};

}  // namespace

CheckResult check_order(std::vector<rclrt_scx_event> events, uint64_t bound_ns)
{
  CheckResult result;
  std::stable_sort(events.begin(), events.end(), [](const auto & a, const auto & b) {
    return a.time_ns < b.time_ns;
  });
  Sweep sweep(bound_ns, result);
  for (const rclrt_scx_event & event : events) {
    sweep.step(event);
  }
  if (!events.empty()) {
    sweep.finish(events.back().time_ns);
  }
  return result;
}

void write_events(std::ostream & out, const std::vector<rclrt_scx_event> & events, uint64_t lost)
{
  out << kFormat << lost << '\n';
  for (const rclrt_scx_event & event : events) {
    out << event.time_ns << ' ' << event.key << ' ' << std::hex << event.allowed << std::dec << ' '
        << event.tid << ' ' << event.cpu << ' ' << event.type << '\n';
  }
}

std::string read_events(std::istream & in, std::vector<rclrt_scx_event> & events)
{
  std::string line;
  if (!std::getline(in, line) || line.rfind(kFormat, 0) != 0) {
    return "line 1: not a record of `rclrt scx record`";
  }
  if (line.substr(sizeof(kFormat) - 1) != "0") {
    return "line 1: events were lost, so the record proves nothing: load with a larger --record";
  }
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    std::istringstream fields(line);
    rclrt_scx_event event{};
    fields >> event.time_ns >> event.key >> std::hex >> event.allowed >> std::dec >> event.tid >>
      event.cpu >> event.type;
    if (!fields || event.type < RCLRT_SCX_QUEUED || event.type > RCLRT_SCX_RESERVE) {
      return "line " + std::to_string(number) +
             ": not `time_ns key allowed tid cpu type` with type 1 to 5";
    }
    events.push_back(event);
  }
  return {};
}

}  // namespace rclrt_scx
