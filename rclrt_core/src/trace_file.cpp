// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/trace_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace rclrt_core
{
namespace
{

static_assert(
  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is; records are written as they are");

constexpr off_t kBlock = 65536;

bool write_at(std::FILE * file, off_t offset, const void * data, std::size_t size)
{
  return fseeko(file, offset, SEEK_SET) == 0 && std::fwrite(data, 1, size, file) == size;
}

bool write_header(std::FILE * file, uint32_t callbacks, uint64_t dropped)
{
  rclrt_trace_header header{};
  std::memcpy(header.magic, RCLRT_TRACE_MAGIC, sizeof(header.magic));
  header.version = RCLRT_TRACE_VERSION;
  header.record_size = sizeof(rclrt_job_record);
  header.callbacks = callbacks;
  header.dropped = dropped;
  return write_at(file, 0, &header, sizeof(header)) && std::fflush(file) == 0;
}

/// Move what is between `begin` and `end` towards the end, last block first.
bool move(std::FILE * file, off_t begin, off_t end, off_t by)
{
  std::vector<char> block(kBlock);
  while (end > begin) {
    const auto size = static_cast<std::size_t>(std::min(kBlock, end - begin));
    end -= static_cast<off_t>(size);
    if (
      fseeko(file, end, SEEK_SET) != 0 || std::fread(block.data(), 1, size, file) != size ||
      !write_at(file, end + by, block.data(), size)) {
      return false;
    }
  }
  return true;
}

/// After errno was 0: a file that somebody has cut off leaves none.
int why() { return errno != 0 ? errno : EIO; }

Status failed(const std::string & path, int error)
{
  return Status::error(
    "cannot write the trace file '" + path + "': " + std::generic_category().message(error));
}

}  // namespace

TraceFile::~TraceFile()
{
  if (file_) {
    std::fclose(file_);
  }
}

Status TraceFile::open(const std::string & path)
{
  if (file_) {
    return Status::error("the trace file '" + path_ + "' is open: close it before '" + path + "'");
  }
  path_ = path;
  error_ = 0;
  file_ = std::fopen(path.c_str(), "wb+");
  if (!file_) {
    return failed(path, errno);
  }
  if (!write_header(file_, RCLRT_TRACE_UNFINISHED, 0)) {
    const Status status = failed(path, errno);
    std::fclose(file_);
    file_ = nullptr;
    return status;
  }
  return {};
}

bool TraceFile::append(const rclrt_job_record & record) noexcept
{
  if (!file_ || error_ != 0) {
    return false;
  }
  errno = 0;
  if (std::fwrite(&record, sizeof(record), 1, file_) != 1) {
    error_ = why();
  }
  return error_ == 0;
}

bool TraceFile::finish(const std::map<uint32_t, std::string> & names, uint64_t dropped)
{
  std::string table;
  for (const auto & [id, name] : names) {
    const uint32_t entry[2] = {id, static_cast<uint32_t>(name.size())};
    table.append(reinterpret_cast<const char *>(entry), sizeof(entry)).append(name);
  }
  const off_t end = ftello(file_);
  constexpr auto kBegin = static_cast<off_t>(sizeof(rclrt_trace_header));
  return end >= kBegin && std::fflush(file_) == 0 &&
         move(file_, kBegin, end, static_cast<off_t>(table.size())) &&
         write_at(file_, kBegin, table.data(), table.size()) && std::fflush(file_) == 0 &&
         write_header(file_, static_cast<uint32_t>(names.size()), dropped);
}

Status TraceFile::close(const std::map<uint32_t, std::string> & names, uint64_t dropped)
{
  if (!file_) {
    return Status::error("no trace file is open");
  }
  errno = 0;
  if (error_ == 0 && !finish(names, dropped)) {
    error_ = why();
  }
  if (std::fclose(file_) != 0 && error_ == 0) {
    error_ = why();
  }
  file_ = nullptr;
  return error_ == 0 ? Status() : failed(path_, error_);
}

}  // namespace rclrt_core
