// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>

/// For the library itself: the definition that the program would use without both.
extern "C" __attribute__((visibility("default"))) void * rclrt_find_next(const char * name);

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
                          dladdr(dlsym(module, "rclrt_stock_find_next"), &of_module) != 0 &&
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

/// Whether what the file says to be in memory is in it: else a look at what is missing would end the program (SIGBUS). What
/// is no ELF file at all dlopen() refuses by itself.
bool is_whole(const std::string & library)
{
  std::ifstream file(library, std::ios::binary | std::ios::ate);
  const auto size = static_cast<uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  ElfW(Ehdr) head{};
  file.seekg(0).read(reinterpret_cast<char *>(&head), sizeof(head));
  if (!file || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return true;
  }
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) part{};
    file.seekg(static_cast<std::streamoff>(head.e_phoff + i * sizeof(part)));
    file.read(reinterpret_cast<char *>(&part), sizeof(part));
    if (!file || part.p_offset > size || part.p_filesz > size - part.p_offset) {
      return false;
    }
  }
  return true;
}

/// Whether rclcpp's calls of its own functions come to this library, as its tables of virtual functions tell. Not if it
/// was loaded with RTLD_DEEPBIND, or linked with -Bsymbolic.
bool calls_here(const std::string & rclcpp)
{
  void * const handle = dlopen(rclcpp.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  auto * const table = static_cast<void **>(
    handle ? dlsym(handle, "_ZTVN6rclcpp9executors22SingleThreadedExecutorE") : nullptr);
  Dl_info info{};
  void * symbol = nullptr;
  if (!table || dladdr1(table, &info, &symbol, RTLD_DL_SYMENT) == 0 || !symbol) {
    return true;  // not known
  }
  const auto count = static_cast<const ElfW(Sym) *>(symbol)->st_size / sizeof(void *);
  Dl_info ours{};
  dladdr(reinterpret_cast<void *>(&rclrt_find_next), &ours);
  return std::any_of(table, table + count, [&](const void * function) {
    return dladdr(function, &info) != 0 && info.dli_fbase == ours.dli_fbase;
  });
}

/// Empty, or why the library cannot be had.
std::string open(const std::string & folder, const std::string & rclcpp)
{
  const std::string version = version_of(rclcpp);
  if (!calls_here(rclcpp)) {
    return rclcpp +
           " calls its own functions only: it was loaded with RTLD_DEEPBIND, or linked with "
           "-Bsymbolic";
  }
  if (version.empty()) {
    return "which version " + rclcpp + " has is unknown: no share/rclcpp/package.xml says it";
  }
  const std::string library = folder + "/librclrt_stock-" + version + ".so";
  if (!is_whole(library)) {
    return library + " is cut off: build or install it anew";
  }
  void * const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char * const why = dlerror();
    return why ? why : library;
  }
  if (!dlsym(opened, "rclrt_stock_find_next")) {
    return library + " is not of this rclrt";
  }
  module = opened;
  find_first.store(&find_in_module, std::memory_order_release);
  return "";
}

/// Whether the library was opened, or cannot be. Relaxed: a thread that sees it late waits in open_if_rclcpp().
std::atomic<bool> is_tried{false};

/// Once there is rclcpp, once.
void open_if_rclcpp()
{
  static const char * const folder = std::getenv("RCLRT_RUN");
  std::string rclcpp;
  if (
    !folder || *folder == '\0' || is_tried.load(std::memory_order_relaxed) ||
    dl_iterate_phdr(is_rclcpp, &rclcpp) == 0) {
    return;
  }
  static std::once_flag once;
  std::call_once(once, [&] {
    const std::string problem = open(folder, rclcpp);
    if (!problem.empty()) {
      std::fprintf(stderr, "rclrt: this program runs as without rclrt: %s\n", problem.c_str());
    }
    is_tried.store(true, std::memory_order_relaxed);
  });
}

/// The libraries that the program is linked to are all loaded now, and none of its own code has run.
__attribute__((constructor)) void starts() { has_module(); }

/// If the program has loaded rclcpp so that none of its calls came here, that is said now.
__attribute__((destructor)) void ends()
{
  try {
    std::string rclcpp;
    if (!is_tried && dl_iterate_phdr(is_rclcpp, &rclcpp) != 0 && !calls_here(rclcpp)) {
      open_if_rclcpp();
    }
  } catch (...) {  // no memory
  }
}

}  // namespace

bool has_module() noexcept
{
  try {
    if (!find_first.load(std::memory_order_acquire)) {
      open_if_rclcpp();
    }
  } catch (...) {  // no memory
  }
  return find_first.load(std::memory_order_acquire) != nullptr;
}

}  // namespace rclrt_probe

void * rclrt_find_next(const char * name) { return rclrt_probe::find_past_ours(name, nullptr); }
