// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Several hosts on one machine, and the network between them. See hosts.py.
//
//   host_link [--delay-us N] [--jitter-us N] [--loss PERCENT] [--seed N] -- COMMAND... -- COMMAND...
//
// Each command runs on a host of its own: network, processes, shared memory and message queues are apart from those of
// the others and of this machine (namespaces), but the clocks are the same. Hosts have the addresses 10.77.0.1, 10.77.0.2
// and so on, on an interface `link`. What they send there arrives at the other hosts after the delay and a random part of
// the jitter, and so perhaps in another order; or it is lost. Nothing leaves the machine: this program hands the frames
// on (tap devices), and nothing else leads out of a namespace.
//
// Ends with the first status that is not 0, when all commands have ended; with 77 if namespaces or tap devices are not
// permitted, and says which.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/route.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kNotPermitted = 77;
constexpr std::size_t kMostHosts = 250;
constexpr std::size_t kFrame = 65'536;
constexpr char kInterface[] = "link";
constexpr std::chrono::milliseconds kLookForEnds{20};

class NotPermitted : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

void check(bool is_done, const std::string & what)
{
  if (!is_done) {
    throw NotPermitted(what + ": " + std::generic_category().message(errno));
  }
}

/// An interface of this thread's network namespace, by ioctl.
class Interface
{
public:
  explicit Interface(const char * name) : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
  {
    check(socket_ >= 0, "a socket");
    std::strncpy(request_.ifr_name, name, IFNAMSIZ - 1);
  }
  ~Interface() { close(socket_); }
  Interface(const Interface &) = delete;
  Interface & operator=(const Interface &) = delete;

  void set_hardware_address(uint8_t host)
  {
    const std::array<uint8_t, 6> address{2, 0, 0, 0, 0, host};
    request_.ifr_hwaddr.sa_family = 1;  // Ethernet
    std::memcpy(request_.ifr_hwaddr.sa_data, address.data(), address.size());
    ask(SIOCSIFHWADDR, "the hardware address");
  }
  void set_address(uint8_t host)
  {
    put(&request_.ifr_addr, "10.77.0." + std::to_string(host));
    ask(SIOCSIFADDR, "the address");
    put(&request_.ifr_netmask, "255.255.255.0");
    ask(SIOCSIFNETMASK, "the netmask");
  }
  void bring_up()
  {
    ask(SIOCGIFFLAGS, "the flags");
    request_.ifr_flags =
      static_cast<int16_t>(request_.ifr_flags | IFF_UP | IFF_RUNNING | IFF_MULTICAST);
    ask(SIOCSIFFLAGS, "bringing up the interface");
  }
  /// All multicast goes here.
  void route_multicast(std::string name)
  {
    rtentry route{};
    put(&route.rt_dst, "224.0.0.0");
    put(&route.rt_genmask, "240.0.0.0");
    route.rt_flags = RTF_UP;
    route.rt_dev = name.data();
    check(ioctl(socket_, SIOCADDRT, &route) == 0, "the route of multicast");
  }

private:
  static void put(sockaddr * to, const std::string & address)
  {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    inet_pton(AF_INET, address.c_str(), &in.sin_addr);
    std::memcpy(to, &in, sizeof(in));
  }
  void ask(unsigned long what, const char * name)  // NOLINT(google-runtime-int): as ioctl()
  {
    check(ioctl(socket_, what, &request_) == 0, name);
  }

  const int socket_;
  ifreq request_{};
};

/// Make a network namespace for this process, and return the other end of its link.
int make_network(uint8_t host)
{
  check(unshare(CLONE_NEWNET) == 0, "a network namespace");
  Interface("lo").bring_up();
  const int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  check(tap >= 0, "/dev/net/tun");
  ifreq request{};
  std::strncpy(request.ifr_name, kInterface, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  check(ioctl(tap, TUNSETIFF, &request) == 0, "a tap device");
  Interface link(kInterface);
  link.set_hardware_address(host);
  link.set_address(host);
  link.bring_up();
  link.route_multicast(kInterface);
  return tap;
}

/// In the child: shared memory and processes are those of the host only.
void enter_host()
{
  check(unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0, "a mount namespace");
  check(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
  check(mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) == 0, "shared memory of its own");
  check(unshare(CLONE_NEWPID) == 0, "a process namespace");
}

int status_of(int wait_status)
{
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

[[noreturn]] void run_host(const std::vector<std::string> & command)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    enter_host();
  } catch (const NotPermitted & error) {
    std::cerr << "host_link: not permitted: " << error.what() << '\n';
    _exit(kNotPermitted);
  }
  const pid_t first = fork();
  if (first == 0) {  // process 1 of its namespace: the others end with it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount("proc", "/proc", "proc", 0, nullptr) != 0) {
      std::perror("host_link: not permitted: /proc of its own");
      _exit(kNotPermitted);
    }
    std::vector<char *> words;
    for (const std::string & word : command) {
      words.push_back(const_cast<char *>(word.c_str()));
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::perror(words[0]);
    _exit(127);
  }
  int status = 0;
  waitpid(first, &status, 0);
  _exit(first < 0 ? 1 : status_of(status));
}

/// What frames meet on their way.
struct Weather
{
  microseconds delay{0};
  microseconds jitter{0};
  double loss = 0;  ///< of 1
  uint64_t seed = 1;
};

class Network
{
public:
  Network(std::vector<int> taps, const Weather & weather)
  : taps_(std::move(taps)), weather_(weather), random_(weather.seed), buffer_(kFrame)
  {
  }

  /// Wait for frames, or until one is due, but not for long; hand on what there is.
  void step()
  {
    std::vector<pollfd> ends;
    for (const int tap : taps_) {
      ends.push_back({tap, POLLIN, 0});
    }
    auto wait = std::chrono::nanoseconds(kLookForEnds);
    if (!on_the_way_.empty()) {
      wait = std::clamp(
        std::chrono::nanoseconds(on_the_way_.top().due - Clock::now()), std::chrono::nanoseconds(0),
        wait);
    }
    timespec time{};
    time.tv_nsec = wait.count();
    if (ppoll(ends.data(), ends.size(), &time, nullptr) > 0) {
      for (std::size_t i = 0; i < ends.size(); ++i) {
        if ((ends[i].revents & POLLIN) != 0) {
          receive(i);
        }
      }
    }
    const auto now = Clock::now();
    while (!on_the_way_.empty() && on_the_way_.top().due <= now) {
      const Frame & frame = on_the_way_.top();
      // What the host does not take is lost, as on a network.
      (void)!write(taps_[frame.to], frame.bytes.data(), frame.bytes.size());
      on_the_way_.pop();
    }
  }

  uint64_t sent() const noexcept { return sent_; }
  uint64_t lost() const noexcept { return lost_; }

private:
  struct Frame
  {
    Clock::time_point due;
    uint64_t number;  ///< breaks ties
    std::size_t to;
    std::vector<uint8_t> bytes;
    bool operator<(const Frame & other) const noexcept  // the last one is due first
    {
      return due != other.due ? due > other.due : number > other.number;
    }
  };

  void receive(std::size_t from)
  {
    ssize_t size = 0;
    while ((size = read(taps_[from], buffer_.data(), buffer_.size())) > 0) {
      const bool is_to_one = (buffer_[0] & 1) == 0;
      for (std::size_t to = 0; to < taps_.size(); ++to) {
        // A host's number is the last byte of its address.
        if (to != from && (!is_to_one || buffer_[5] == to + 1)) {
          send(to, {buffer_.begin(), buffer_.begin() + size});
        }
      }
    }
  }
  void send(std::size_t to, std::vector<uint8_t> bytes)
  {
    ++sent_;
    if (std::uniform_real_distribution<>(0, 1)(random_) < weather_.loss) {
      ++lost_;
      return;
    }
    const microseconds more(
      std::uniform_int_distribution<int64_t>(0, weather_.jitter.count())(random_));
    on_the_way_.push({Clock::now() + weather_.delay + more, sent_, to, std::move(bytes)});
  }

  const std::vector<int> taps_;
  const Weather weather_;
  std::mt19937_64 random_;
  std::vector<uint8_t> buffer_;
  std::priority_queue<Frame> on_the_way_;
  uint64_t sent_ = 0;
  uint64_t lost_ = 0;
};

int run(const std::vector<std::vector<std::string>> & commands, const Weather & weather)
{
  std::vector<int> taps;
  std::vector<pid_t> hosts;
  for (const auto & command : commands) {
    const auto number = static_cast<uint8_t>(taps.size() + 1);
    taps.push_back(make_network(number));
    const pid_t host = fork();
    if (host == 0) {
      run_host(command);
    }
    hosts.push_back(host);
  }
  Network network(std::move(taps), weather);
  int status = 0;
  while (!hosts.empty()) {
    network.step();
    int ended = 0;
    const pid_t host = waitpid(-1, &ended, WNOHANG);
    if (host > 0) {
      status = status != 0 ? status : status_of(ended);
      hosts.erase(std::remove(hosts.begin(), hosts.end(), host), hosts.end());
      if (status != 0) {
        break;  // the others end with this process
      }
    }
  }
  std::cerr << "host_link: " << network.sent() << " frames, " << network.lost() << " lost\n";
  return status;
}

/// What stands between two `--`.
std::vector<std::vector<std::string>> split(int argc, char ** argv, int * options)
{
  std::vector<std::vector<std::string>> commands;
  *options = argc;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--") {
      *options = std::min(*options, i);
      commands.emplace_back();
    } else if (!commands.empty()) {
      commands.back().emplace_back(argv[i]);
    }
  }
  return commands;
}

}  // namespace

int main(int argc, char ** argv)
{
  int options = argc;
  const auto commands = split(argc, argv, &options);
  int64_t delay_us = 200;
  int64_t jitter_us = 0;
  double loss_percent = 0;
  Weather weather;
  CLI::App app("Several hosts on one machine, and the network between them");
  app.add_option("--delay-us", delay_us)->check(CLI::Range(0, 10'000'000));
  app.add_option("--jitter-us", jitter_us)->check(CLI::Range(0, 10'000'000));
  app.add_option("--loss", loss_percent)->check(CLI::Range(0.0, 100.0));
  app.add_option("--seed", weather.seed);
  CLI11_PARSE(app, options, argv);
  weather.delay = microseconds(delay_us);
  weather.jitter = microseconds(jitter_us);
  weather.loss = loss_percent / 100;
  if (commands.size() < 2 || commands.size() > kMostHosts) {
    std::cerr << "host_link: give from 2 to " << kMostHosts << " commands, each after --\n";
    return 2;
  }
  for (const auto & command : commands) {
    if (command.empty()) {
      std::cerr << "host_link: a command is empty\n";
      return 2;
    }
  }
  try {
    return run(commands, weather);
  } catch (const NotPermitted & error) {
    std::cerr << "host_link: not permitted: " << error.what() << '\n';
    return kNotPermitted;
  } catch (const std::exception & error) {
    std::cerr << "host_link: " << error.what() << '\n';
    return 1;
  }
}
