// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <string>
#include <vector>

namespace rclrt_probe
{
namespace
{

const char here = 0;

bool is_ours(void * address) noexcept
{
  Dl_info of_address{};
  Dl_info ours{};
  return dladdr(address, &of_address) != 0 && dladdr(&here, &ours) != 0 &&
         of_address.dli_fbase == ours.dli_fbase;
}

/// In a library that is loaded already, and in what that needs.
void * find_in(const char * library, const char * name) noexcept
{
  void * const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) {
    return nullptr;
  }
  void * const found = dlsym(handle, name);
  dlclose(handle);
  return found && !is_ours(found) ? found : nullptr;
}

int add_name(dl_phdr_info * info, std::size_t, void * names)
{
  static_cast<std::vector<std::string> *>(names)->emplace_back(info->dlpi_name);
  return 0;
}

void * find_anywhere(const char * name)
{
  std::vector<std::string> libraries;
  dl_iterate_phdr(add_name, &libraries);
  for (const std::string & library : libraries) {
    const bool is_left_out =
      library.empty() || library.find("/librclrt_stock-") != std::string::npos;
    void * const found = is_left_out ? nullptr : find_in(library.c_str(), name);
    if (found) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

std::atomic<void * (*)(const char *)> find_first{nullptr};

void * find_past_ours(const char * name, const void * caller) noexcept
{
  const int kept = errno;
  void * found = dlsym(RTLD_NEXT, name);
  if (!found || is_ours(found)) {
    Dl_info info{};
    const bool is_known = caller && dladdr(caller, &info) != 0 && info.dli_fname;
    found = is_known ? find_in(info.dli_fname, name) : nullptr;
  }
  if (!found) {
    found = find_anywhere(name);
  }
  dlerror();  // The program is not to read what we have missed.
  errno = kept;
  return found;
}

void * find_next(const char * name, const void * caller) noexcept
{
  auto * const first = find_first.load(std::memory_order_acquire);
  void * const found = first ? first(name) : nullptr;
  return found ? found : find_past_ours(name, caller);
}

}  // namespace rclrt_probe
