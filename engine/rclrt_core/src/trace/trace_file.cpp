// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/trace_file.hpp"

#include <cerrno>
#include <system_error>

#include "trace/trace_header.hpp"

namespace rclrt_core
{
namespace
{

static_assert(
  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is; records are written as they are");

// Records of one chunk: 64 KiB.
constexpr std::size_t kRecordsAtOnce = 512;

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
  size_ = 0;
  dropped_ = 0;
  described_.clear();
  records_.reserve(kRecordsAtOnce);
  header_ = make_trace_header();
  file_ = std::fopen(path.c_str(), "wbe");  // e: programs that this one starts do not inherit it
  if (!file_) {
    return failed(path, errno);
  }
  if (!write(&header_, sizeof(header_)) || std::fflush(file_) != 0) {
    const Status status = failed(path, error_ != 0 ? error_ : errno);
    std::fclose(file_);
    file_ = nullptr;
    return status;
  }
  return {};
}

bool TraceFile::write(const void * data, std::size_t size) noexcept
{
  if (error_ != 0) {
    return false;
  }
  errno = 0;
  if (std::fwrite(data, 1, size, file_) != size) {
    error_ = why();
    return false;
  }
  size_ += size;
  return true;
}

bool TraceFile::write_chunk(
  rclrt_trace_chunk_type type, const void * data, std::size_t size) noexcept
{
  const rclrt_trace_chunk chunk{type, static_cast<uint32_t>(size)};
  constexpr char kZeros[8] = {};
  return write(&chunk, sizeof(chunk)) && write(data, size) && write(kZeros, padding_of_chunk(size));
}

bool TraceFile::write_records() noexcept
{
  if (records_.empty()) {
    return true;
  }
  const bool is_written =
    write_chunk(RCLRT_CHUNK_RECORDS, records_.data(), records_.size() * sizeof(records_[0]));
  records_.clear();
  return is_written;
}

bool TraceFile::append(const rclrt_job_record & record) noexcept
{
  if (!file_ || error_ != 0) {
    return false;
  }
  records_.push_back(record);  // there is room
  return records_.size() < kRecordsAtOnce || write_records();
}

bool TraceFile::write_header() noexcept
{
  errno = 0;
  const bool is_written = std::fseek(file_, 0, SEEK_SET) == 0 &&
                          std::fwrite(&header_, sizeof(header_), 1, file_) == 1 &&
                          std::fseek(file_, 0, SEEK_END) == 0;
  error_ = is_written ? error_ : why();
  return is_written;
}

bool TraceFile::note(uint32_t callback, const std::string & text) noexcept
{
  const rclrt_trace_chunk chunk{
    RCLRT_CHUNK_NOTE, static_cast<uint32_t>(sizeof(callback) + text.size())};
  constexpr char kZeros[8] = {};
  return file_ && write(&chunk, sizeof(chunk)) && write(&callback, sizeof(callback)) &&
         write(text.data(), text.size()) && write(kZeros, padding_of_chunk(chunk.size));
}

bool TraceFile::flush(const TraceSource & source)
{
  if (!file_) {
    return false;
  }
  for (const TracedCallback & callback : source.callbacks) {
    if (described_.insert(callback.id).second) {
      const std::string entry = describe(callback);
      write_chunk(RCLRT_CHUNK_CALLBACK, entry.data(), entry.size());
    }
  }
  write_records();
  if (source.dropped != dropped_) {
    dropped_ = source.dropped;
    write_chunk(RCLRT_CHUNK_LOST, &dropped_, sizeof(dropped_));
  }
  const bool is_new = header_.executor != source.executor;
  describe(source, &header_);
  if (error_ == 0 && is_new) {
    write_header();
  }
  errno = 0;
  if (error_ == 0 && std::fflush(file_) != 0) {
    error_ = why();
  }
  return error_ == 0;
}

Status TraceFile::close(const TraceSource & source)
{
  if (!file_) {
    return Status::error("no trace file is open");
  }
  flush(source);
  errno = 0;
  if (std::fclose(file_) != 0 && error_ == 0) {
    error_ = why();
  }
  file_ = nullptr;
  return error_ == 0 ? Status() : failed(path_, error_);
}

}  // namespace rclrt_core
