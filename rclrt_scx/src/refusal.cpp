// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "refusal.hpp"

namespace rclrt_scx
{

// From Linux 7.1 on some of sched_ext's functions have an argument that the kernel fills in, not the program. The type
// information shows them without it, if whoever built the kernel has marked the functions. Without the marks no program
// can call them, whatever it declares.
std::string explain_refusal(const std::string & complaints, const std::string & release)
{
  const std::string before = "extern (func ksym) '";
  const std::size_t begin = complaints.find(before);
  if (begin == std::string::npos) {
    return {};
  }
  const std::size_t name = begin + before.size();
  const std::size_t end = complaints.find('\'', name);
  const std::size_t line_end = complaints.find('\n', name);
  const std::string line = complaints.substr(name, line_end - name);
  if (end == std::string::npos || end > line_end) {
    return {};
  }
  const std::string function = complaints.substr(name, end - name);
  if (line.find("incompatible with vmlinux") != std::string::npos) {
    return "this kernel, " + release +
           ", cannot run the scheduler: its type information (BTF) describes " + function +
           "() in a form in which no program can call it, because the kernel was built without the "
           "marks `bpf_kfunc`. "
           "So are Debian's builds of Linux 7.1 and of 7.2 before 7.2.13. Take 7.2.13 or newer, or "
           "one from 6.16 to 7.0";
  }
  if (line.find("not found in kernel") != std::string::npos) {
    return "this kernel, " + release + ", cannot run the scheduler: it lacks the function " +
           function + "(). Take Linux 6.16 to 7.0, or 7.2.13 or newer";
  }
  return {};
}

}  // namespace rclrt_scx
