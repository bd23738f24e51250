// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The few bpf(2) commands a client needs, so that whoever links it needs no libbpf.
#pragma once

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "rclrt_scx/slots.h"

namespace rclrt_scx
{

inline int bpf_call(int command, bpf_attr & attributes)
{
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof(attributes)));
}

/// File descriptor of what is pinned at `path`, or -1 with errno. `flags`: 0 or BPF_F_RDONLY.
inline int open_pin(const char * path, uint32_t flags)
{
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  attributes.pathname = reinterpret_cast<uint64_t>(path);
  attributes.file_flags = flags;
  return bpf_call(BPF_OBJ_GET, attributes);
}

/// Run the program `bind` on the calling thread. 0 or an errno.
inline int run_bind(int program, rclrt_scx_bind & request)
{
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  attributes.test.prog_fd = static_cast<uint32_t>(program);
  attributes.test.ctx_in = reinterpret_cast<uint64_t>(&request);
  attributes.test.ctx_size_in = sizeof(request);
  if (bpf_call(BPF_PROG_TEST_RUN, attributes) != 0) {
    return errno;
  }
  return -static_cast<int>(attributes.test.retval);
}

/// A pinned array opened for reading, element by element.
class Table
{
public:
  Table() = default;
  Table(const std::string & directory, const char * name)
  : fd_(open_pin((directory + "/" + name).c_str(), BPF_F_RDONLY)), error_(fd_ < 0 ? errno : 0)
  {
  }
  ~Table()
  {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  Table(const Table &) = delete;
  Table & operator=(const Table &) = delete;

  /// errno of opening it, or 0.
  int error() const { return error_; }

  template <typename T>
  bool read(uint32_t index, T & element) const
  {
    // The kernel writes as many bytes as an element has, which may be another version's.
    bpf_map_info info;
    std::memset(&info, 0, sizeof(info));
    bpf_attr attributes;
    std::memset(&attributes, 0, sizeof(attributes));
    attributes.info.bpf_fd = static_cast<uint32_t>(fd_);
    attributes.info.info_len = sizeof(info);
    attributes.info.info = reinterpret_cast<uint64_t>(&info);
    if (bpf_call(BPF_OBJ_GET_INFO_BY_FD, attributes) != 0 || info.value_size != sizeof(T)) {
      return false;
    }
    std::memset(&attributes, 0, sizeof(attributes));
    attributes.map_fd = static_cast<uint32_t>(fd_);
    attributes.key = reinterpret_cast<uint64_t>(&index);
    attributes.value = reinterpret_cast<uint64_t>(&element);
    return bpf_call(BPF_MAP_LOOKUP_ELEM, attributes) == 0;
  }

private:
  int fd_ = -1;
  int error_ = 0;
};

/// As in the kernel's <linux/sched/types.h>, which older libcs clash with.
struct SchedAttr
{
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
};
inline constexpr uint32_t kSchedExt = 7;

/// Put `tid` (0: the caller) under SCHED_EXT with its nice value as it is. The kernel looks at the
/// thread's deadline anew, also if the policy was SCHED_EXT already. 0 or an errno.
inline int schedule_ext(pid_t tid)
{
  SchedAttr attributes{};
  if (syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0) != 0) {
    return errno;
  }
  attributes.size = sizeof(attributes);
  attributes.policy = kSchedExt;
  attributes.priority = 0;
  attributes.runtime = attributes.deadline = attributes.period = 0;
  return syscall(SYS_sched_setattr, tid, &attributes, 0) == 0 ? 0 : errno;
}

}  // namespace rclrt_scx
