// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#include <cctype>
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "net_lines.hpp"
#include "rclrt_config/duration.hpp"

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kThreads = 8;

int64_t system_now_ns()
{
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

std::shared_ptr<rclrt_rcl::Node> make_node(const std::shared_ptr<rclrt_rcl::Context> & context)
{
  rclrt_rcl::NodeOptions options;
  options.context = context;
  return std::make_shared<rclrt_rcl::Node>("rclrt_agent", options);
}

constexpr char kWriteUnit[] = ". Write a number with ns, us, ms or s, such as 20ms";

/// What `read` returns of parameters that are times. A number is an error, which names the unit.
template <typename Read>
auto times(const Read & read)
{
  try {
    return read();
  } catch (const rclrt_rcl::Error & error) {
    throw std::runtime_error(error.what() + std::string(kWriteUnit));
  }
}

/// The parameter of this name, from `least` to `most`.
rclrt_core::Duration time(
  const std::string & name, const std::string & text, const char * least, const char * most)
{
  const auto found = rclrt_config::duration_of(text);
  if (
    !found || *found < rclrt_config::duration_of(least) ||
    *found > rclrt_config::duration_of(most)) {
    throw std::runtime_error(
      "parameter " + name + ": '" + text + "' is no time from " + least + " to " + most +
      kWriteUnit);
  }
  return *found;
}

}  // namespace

Program::Program(const std::shared_ptr<rclrt_rcl::Context> & context, const Arguments & arguments)
: node_(make_node(context))
{
  // Topics are in the parameters' names: "urgency./cmd_vel".
  const rclrt_rcl::Parameters & parameters = node_->parameters();
  for (const auto & [topic, urgency] : parameters.get_by_prefix<int64_t>("urgency")) {
    if (urgency < 0 || urgency > kHighestUrgency) {
      throw std::runtime_error(
        "parameter urgency." + topic + ": " + std::to_string(urgency) + " is not from 0 to " +
        std::to_string(kHighestUrgency));
    }
    urgencies_[topic] = static_cast<int>(urgency);
  }
  for (const auto & [topic, budget] : parameters.get_by_prefix<int64_t>("budget")) {
    if (budget < 1) {
      throw std::runtime_error(
        "parameter budget." + topic + ": " + std::to_string(budget) +
        " is no number of messages a second");
    }
    budgets_[topic] = static_cast<double>(budget);
  }
  const auto deadlines = times([&] { return parameters.get_by_prefix<std::string>("deadline"); });
  for (const auto & [topic, deadline] : deadlines) {
    deadlines_[topic] = time("deadline." + topic, deadline, "1ns", "86400s");
  }

  rclrt_rcl::PreemptiveExecutorOptions executor_options;
  executor_options.context = context;
  executor_options.max_threads = kThreads;
  // An exception is of one client; the others go on.
  executor_options.on_exception = [this](const std::string & callback, std::exception_ptr error) {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::exception & what) {
      node_->logger().error(callback + ": " + what.what());
    }
    return rclrt_core::ExceptionAction::kContinue;
  };
  executor_ = std::make_unique<rclrt_rcl::PreemptiveExecutor>(executor_options);
  executor_->add_node(node_);

  const auto urgency = [this](const std::string & name) { return urgency_of(name); };
  backend_ = std::make_unique<RosBackend>(context, *executor_, urgency);
  dispatcher_ = std::make_unique<Dispatcher>(
    *node_, [this](const std::shared_ptr<Session> & session) { return agent_->work(session); });
  const AgentOptions agent_options = options(arguments);
  agent_ = std::make_unique<Agent>(
    *backend_, agent_options,
    [this](const std::shared_ptr<Session> & session, int of) { (*dispatcher_)(session, of); });

  for (const auto & serial : arguments.serial) {
    lines_.push_back(std::make_unique<SerialLine>(
      *agent_, serial, [this](const std::string & what) { node_->logger().info(what); }));
  }
  const auto add = [this](auto line, const NetOptions & net) {
    if (net.discovery >= 0) {
      lines_.push_back(std::make_unique<DiscoveryLine>(*agent_, net, line->port()));
    }
    lines_.push_back(std::move(line));
  };
  for (const auto & udp : arguments.udp) {
    add(std::make_unique<UdpLine>(*agent_, udp), udp);
  }
  for (const auto & tcp : arguments.tcp) {
    add(std::make_unique<TcpLine>(*agent_, tcp, agent_options.clients), tcp);
  }
  statistics_ = std::make_unique<Statistics>(*node_);
  timer_ = node_->create_wall_timer(std::chrono::seconds(1), [this] {
    const TimePoint now = std::chrono::steady_clock::now();
    agent_->tick(now);
    dispatcher_->sweep();
    statistics_->publish(*agent_, lines_, now);
  });
}

Program::~Program()
{
  for (const auto & line : lines_) {
    line->stop();
  }
  timer_.reset();
  lines_.clear();
  agent_.reset();
  dispatcher_.reset();
}

AgentOptions Program::options(const Arguments & arguments)
{
  AgentOptions options;
  options.session.urgency_of = [this](const std::string & name) { return urgency_of(name); };
  options.session.clock = system_now_ns;
  if (!budgets_.empty()) {
    options.session.messages_per_s_of = [this](const std::string & name) {
      const auto found = budgets_.find(name);
      return found == budgets_.end() ? 0.0 : found->second;
    };
  }
  if (!arguments.references.empty()) {
    options.session.references = read_references(arguments.references);
  }
  const auto number = [this](const char * name, int64_t otherwise, int64_t least, int64_t most) {
    const int64_t value = node_->parameters().get<int64_t>(name).value_or(otherwise);
    if (value < least || value > most) {
      throw std::runtime_error(
        std::string("parameter ") + name + ": " + std::to_string(value) + " is not from " +
        std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  };
  options.clients = static_cast<std::size_t>(number("clients", 512, 1, 65535));
  options.session.objects = static_cast<std::size_t>(number("entities", 512, 16, 65535));
  options.session.all_objects =
    static_cast<std::size_t>(number("all_entities", 32768, 16, 100'000'000));
  const auto duration =
    [this](const char * name, const char * otherwise, const char * least, const char * most) {
      const auto text = times([&] { return node_->parameters().get<std::string>(name); });
      return time(name, text.value_or(otherwise), least, most);
    };
  options.silence = duration("silence", "30s", "1s", "86400s");
  options.grace = duration("grace", "270s", "0s", "31536000s");
  if (!deadlines_.empty()) {
    options.session.deadline_of = [this](const std::string & name) {
      const auto found = deadlines_.find(name);
      return found == deadlines_.end() ? rclrt_core::Duration(0) : found->second;
    };
  }
  options.session.messages_per_s =
    static_cast<double>(number("client_budget", 0, 0, 1'000'000'000));
  options.session.streams_say_urgency =
    node_->parameters().get<bool>("streams_say_urgency").value_or(false);
  auto & outgoing = options.session.outgoing;
  outgoing.piece = static_cast<uint16_t>(number("piece_bytes", 256, 0, 65000));
  outgoing.acknack_spacing = duration("acknowledgement_spacing", "0s", "0s", "1s");
  outgoing.shared_window = static_cast<uint16_t>(number("shared_window", 4, 1, 16));
  return options;
}

int Program::urgency_of(const std::string & name) const
{
  const auto found = urgencies_.find(name);
  return found == urgencies_.end() ? -1 : found->second;
}

void Program::spin()
{
  for (const auto & line : lines_) {
    line->start();
    if (!line->tells()) {
      node_->logger().info("listening at " + line->name());
    }
  }
  executor_->spin();
  for (const auto & line : lines_) {
    line->stop();
  }
}

namespace
{

int number(const std::string & option, const std::string & text, int least, int most)
{
  try {
    std::size_t used = 0;
    const int value = std::stoi(text, &used);
    if (used == text.size() && value >= least && value <= most) {
      return value;
    }
  } catch (const std::logic_error &) {
    // said below
  }
  throw std::runtime_error(
    option + " " + text + ": a number from " + std::to_string(least) + " to " +
    std::to_string(most) + " is needed");
}

}  // namespace

const char * usage()
{
  return "Usage: rclrt_agent serial      --dev DEVICE [-b BAUD]\n"
         "       rclrt_agent multiserial --devs \"DEVICE DEVICE...\" [-b BAUD]\n"
         "       rclrt_agent udp4        [-p PORT] [--address ADDRESS] [-d [PORT]]\n"
         "       rclrt_agent tcp4        [-p PORT] [--address ADDRESS] [-d [PORT]]\n"
         "Several of these may follow each other. Also:\n"
         "  -r, --refs FILE   profiles for entities that clients create by reference\n"
         "  -v N, -m NAME     accepted and ignored\n"
         "  --ros-args ...    parameters, remapping and log levels of ROS\n"
         "BAUD: 115200 unless given; 0 leaves the device as it is. PORT: 8888. ADDRESS: 127.0.0.1; "
         "0.0.0.0 is\n"
         "every interface, and lets every machine of the network in. -d: clients find the line by\n"
         "multicast, at PORT 7400.\n";
}

Arguments parse_arguments(const std::vector<std::string> & arguments)
{
  Arguments parsed;
  std::vector<std::string> devices;
  NetOptions net;
  int baud = 115200;
  std::string transport;

  const auto finish = [&] {
    if (transport == "serial" || transport == "multiserial") {
      if (devices.empty()) {
        throw std::runtime_error(transport + ": give --dev DEVICE");
      }
      if (net.discovery >= 0) {
        throw std::runtime_error("-d: only udp4 and tcp4 can be found");
      }
      for (const auto & device : devices) {
        parsed.serial.push_back({device, baud});
      }
    } else if (transport == "udp4") {
      parsed.udp.push_back(net);
    } else if (transport == "tcp4") {
      parsed.tcp.push_back(net);
    }
    devices.clear();
    net = NetOptions{};
    baud = 115200;
  };

  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string & word = arguments[i];
    if (word == "serial" || word == "multiserial" || word == "udp4" || word == "tcp4") {
      finish();
      transport = word;
      continue;
    }
    if (word == "-h" || word == "--help") {
      parsed.help = true;
      return parsed;
    }
    if (word == "--version") {
      parsed.version = true;
      return parsed;
    }
    if (word == "udp6" || word == "tcp6" || word == "canfd" || word == "pseudoterminal") {
      throw std::runtime_error(word + ": this agent has serial, multiserial, udp4 and tcp4");
    }
    if (word == "-d" || word == "--discovery") {
      const bool has_port = i + 1 < arguments.size() && std::isdigit(arguments[i + 1][0]) != 0;
      net.discovery = has_port ? number(word, arguments[++i], 1, 65535) : 7400;
      continue;
    }
    if (i + 1 == arguments.size()) {
      throw std::runtime_error(word + ": unknown, or its value is missing");
    }
    const std::string & value = arguments[++i];
    if (word == "-D" || word == "--dev") {
      devices.push_back(value);
    } else if (word == "--devs") {
      std::istringstream all(value);
      for (std::string device; all >> device;) {
        devices.push_back(device);
      }
    } else if (word == "-b" || word == "--baudrate") {
      baud = number(word, value, 0, 4'000'000);
    } else if (word == "-p" || word == "--port") {
      net.port = static_cast<uint16_t>(number(word, value, 0, 65535));
    } else if (word == "--address") {
      net.address = value;
    } else if (word == "-r" || word == "--refs") {
      parsed.references = value;
    } else if (word != "-v" && word != "--verbose" && word != "-m" && word != "--middleware") {
      throw std::runtime_error(word + ": unknown");
    }
  }
  finish();
  if (parsed.serial.empty() && parsed.udp.empty() && parsed.tcp.empty()) {
    throw std::runtime_error("which line? serial, multiserial, udp4 or tcp4");
  }
  return parsed;
}

}  // namespace rclrt_agent
