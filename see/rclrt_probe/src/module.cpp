// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "module.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>

#include "next.hpp"

namespace rclrt_probe
{
namespace
{

/// Written before `find_first` is stored, by the thread that opens the library.
void * module = nullptr;

/// Only what it defines itself: dlsym() also looks into the libraries that it needs, past what else is preloaded.
void * find_in_module(const char * name)
{
  void * const found = dlsym(module, name);
  Dl_info of_found{};
  Dl_info of_module{};
  const bool is_its_own = found && dladdr(found, &of_found) != 0 &&
                          dladdr(dlsym(module, "rclrt_stock_begin"), &of_module) != 0 &&
                          of_found.dli_fbase == of_module.dli_fbase;
  return is_its_own ? found : nullptr;
}

int is_rclcpp(dl_phdr_info * info, std::size_t, void * path)
{
  const char * const name = std::strrchr(info->dlpi_name, '/');
  if (!name || std::strcmp(name, "/librclcpp.so") != 0) {
    return 0;
  }
  *static_cast<std::string *>(path) = info->dlpi_name;
  return 1;
}

/// "29.3" of "<version>29.3.0</version>" in the package's manifest, which lies beside the library: the library itself does
/// not say. Empty: unknown.
std::string version_of(const std::string & library)
{
  const std::string prefix = library.substr(0, library.rfind("/lib/") + 1);
  std::ifstream file(prefix + "share/rclcpp/package.xml");
  constexpr char kBegin[] = "<version>";
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(kBegin);
    const auto begin = at + sizeof(kBegin) - 1;
    const auto minor = at == std::string::npos ? at : line.find('.', begin);
    const auto end = minor == std::string::npos ? minor : line.find('.', minor + 1);
    if (end != std::string::npos) {
      return line.substr(begin, end - begin);
    }
  }
  return "";
}

/// Empty, or why the library cannot be had.
std::string open(const std::string & folder, const std::string & rclcpp, bool is_start)
{
  const std::string version = version_of(rclcpp);
  if (version.empty()) {
    return "which version " + rclcpp + " has is unknown: no share/rclcpp/package.xml says it";
  }
  const std::string library = folder + "/librclrt_stock-" + version + ".so";
  void * const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char * const why = dlerror();
    return why ? why : library;
  }
  auto * const begin = reinterpret_cast<void (*)(bool)>(dlsym(opened, "rclrt_stock_begin"));
  if (!begin) {
    return library + " is not of this rclrt";
  }
  begin(is_start);
  module = opened;
  find_first.store(&find_in_module, std::memory_order_release);
  return "";
}

/// Once there is rclcpp, once.
void open_if_rclcpp(bool is_start)
{
  const char * const folder = std::getenv("RCLRT_RUN");
  std::string rclcpp;
  if (!folder || *folder == '\0' || dl_iterate_phdr(is_rclcpp, &rclcpp) == 0) {
    return;
  }
  static std::once_flag once;
  std::call_once(once, [&] {
    const std::string problem = open(folder, rclcpp, is_start);
    if (!problem.empty()) {
      std::fprintf(stderr, "rclrt: this program runs as without rclrt: %s\n", problem.c_str());
    }
  });
}

/// The libraries that the program is linked to are all loaded now, and none of its own code has run.
__attribute__((constructor)) void starts()
{
  try {
    open_if_rclcpp(true);
  } catch (...) {  // no memory
  }
}

}  // namespace

bool has_module() noexcept
{
  try {
    if (!find_first.load(std::memory_order_acquire)) {
      open_if_rclcpp(false);
    }
  } catch (...) {
  }
  return find_first.load(std::memory_order_acquire) != nullptr;
}

}  // namespace rclrt_probe

/// For the library itself: the definition that the program would use without both.
extern "C" __attribute__((visibility("default"))) void * rclrt_find_next(const char * name)
{
  return dlsym(RTLD_NEXT, name);
}
