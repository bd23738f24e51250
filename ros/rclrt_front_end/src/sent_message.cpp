// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/sent_message.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>

#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_front_end
{
namespace
{

/// Written and read by its thread alone.
thread_local SentMessage * current = nullptr;

using Point = void(const void * publisher, const void * message, int64_t source_timestamp);
constexpr const char * kPoint = "ros_trace_rmw_publish";

/// The definition that the program would use without ours, or nothing. Looked up when the program starts,
/// since that may allocate.
std::atomic<Point *> next_point{nullptr};

[[gnu::constructor]] void look_up_next_point()
{
  next_point.store(reinterpret_cast<Point *>(dlsym(RTLD_NEXT, kPoint)), std::memory_order_release);
}

/// What of a loaded object's dynamic section is needed to walk its symbols.
struct Symbols
{
  const ElfW(Sym) * all = nullptr;
  const char * names = nullptr;
  std::size_t undefined = 0;  ///< symbols at the beginning, among which all undefined ones are
};

/// As the loader tells it.
template <typename T>
const T * at_address(ElfW(Addr) address)
{
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<const T *>(address);
}

Symbols symbols_of(const dl_phdr_info & object)
{
  Symbols found;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) {
      continue;
    }
    const auto * entry = at_address<ElfW(Dyn)>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader of glibc has made these absolute; others, and the vDSO, leave offsets.
      const ElfW(Addr) value = entry->d_un.d_ptr;
      const ElfW(Addr) at = value < object.dlpi_addr ? object.dlpi_addr + value : value;
      if (entry->d_tag == DT_SYMTAB) {
        found.all = at_address<ElfW(Sym)>(at);
      } else if (entry->d_tag == DT_STRTAB) {
        found.names = at_address<char>(at);
      } else if (entry->d_tag == DT_GNU_HASH || (entry->d_tag == DT_HASH && found.undefined == 0)) {
        // DT_GNU_HASH: those before have no hash. DT_HASH: all symbols.
        found.undefined = at_address<uint32_t>(at)[1];
      }
    }
  }
  return found;
}

struct Wanted
{
  const char * name;
  bool is_called;
};

int look(dl_phdr_info * object, std::size_t, void * argument)
{
  auto & wanted = *static_cast<Wanted *>(argument);
  const Symbols symbols = symbols_of(*object);
  for (std::size_t i = 0; symbols.all && symbols.names && i < symbols.undefined; ++i) {
    const ElfW(Sym) & symbol = symbols.all[i];
    if (
      symbol.st_shndx == SHN_UNDEF &&
      std::strcmp(symbols.names + symbol.st_name, wanted.name) == 0) {
      wanted.is_called = true;
    }
  }
  return wanted.is_called ? 1 : 0;
}

}  // namespace

SentMessage::SentMessage(const PublisherId & publisher) noexcept
: publisher_(publisher), outer_(current)
{
  current = this;
}

SentMessage::~SentMessage() { current = outer_; }

void SentMessage::is_sent() const noexcept
{
  if (rclrt_core::current_job() != nullptr) {
    rclrt_core::note_published(rclrt_core::publisher_in_trace(publisher_), stamp_);
  }
}

void SentMessage::stamped(int64_t source_timestamp) noexcept
{
  if (current == nullptr) {
    return;
  }
  current->stamp_ = static_cast<uint64_t>(source_timestamp);
  const rclrt_core::TimePoint deadline = rclrt_core::deadline_to_publish();
  rclrt_core::DeadlineRing * const table = rclrt_core::DeadlineRing::of_process();
  if (table != nullptr && deadline != rclrt_core::kNever) {
    table->put(current->publisher_, current->stamp_, deadline);
  }
}

bool is_called_by_a_library(const char * function)
{
  Wanted wanted{function, false};
  dl_iterate_phdr(look, &wanted);
  return wanted.is_called;
}

LocalPublishers local_publishers(const std::string & topic)
{
  struct Topics
  {
    PiMutex mutex;
    std::map<std::string, LocalPublishers> all;
  };
  static auto & topics = *new Topics;  // never destroyed: publishers may outlive what is static
  const std::lock_guard<PiMutex> lock(topics.mutex);
  LocalPublishers & publishers = topics.all[topic];
  if (!publishers) {
    publishers = std::make_shared<std::atomic<int>>(0);
  }
  return publishers;
}

LocalPublishers local_publishers_or_null(const char * topic) noexcept
{
  try {
    return local_publishers(topic);
  } catch (const std::exception &) {
    return nullptr;
  }
}

}  // namespace rclrt_front_end

extern "C" __attribute__((visibility("default"))) void ros_trace_rmw_publish(
  const void * publisher, const void * message, int64_t source_timestamp)
{
  rclrt_front_end::SentMessage::stamped(source_timestamp);
  if (auto * const next = rclrt_front_end::next_point.load(std::memory_order_acquire)) {
    next(publisher, message, source_timestamp);
  }
}
