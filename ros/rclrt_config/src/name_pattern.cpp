// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "document.hpp"

#include <algorithm>

namespace rclrt_config
{
namespace
{

constexpr char kAny[] = "**";
constexpr char kOne[] = "*";
constexpr std::size_t kMaxLength = 1000;

std::vector<std::string> parts_of(const std::string & name)
{
  std::vector<std::string> parts;
  for (std::size_t slash = 0; slash != std::string::npos && slash < name.size();) {
    const std::size_t next = name.find('/', slash + 1);
    parts.push_back(name.substr(slash + 1, next - slash - 1));
    slash = next;
  }
  return parts;
}

bool fits(const std::string & part, const std::string & name_part)
{
  return part == kOne || part == name_part;
}

}  // namespace

NamePattern::NamePattern(const std::string & text) : parts_(parts_of(text)) {}

std::string NamePattern::problem_with(const std::string & text)
{
  if (text.empty() || text[0] != '/') {
    return "it must begin with /";
  }
  if (text.size() > kMaxLength) {
    return "it has " + std::to_string(text.size()) + " bytes; names have 1000 at most";
  }
  for (const std::string & part : parts_of(text)) {
    if (part.empty()) {
      return "it has nothing between two slashes or after the last one. Remove the extra slash";
    }
    if (part.find('*') != std::string::npos && part != kOne && part != kAny) {
      return "the wildcard in '" + part +
             "' does not stand alone. Use * for a whole part between slashes, ** for any number";
    }
  }
  return "";
}

bool NamePattern::matches(const std::string & name) const
{
  // Where a later part does not fit, let the last ** before it take one part more.
  const std::vector<std::string> name_parts = parts_of(name);
  std::size_t i = 0;
  std::size_t after_any = std::string::npos;
  std::size_t taken = 0;
  for (std::size_t j = 0; j < name_parts.size();) {
    if (i < parts_.size() && parts_[i] == kAny) {
      after_any = ++i;
      taken = j;
    } else if (i < parts_.size() && fits(parts_[i], name_parts[j])) {
      ++i;
      ++j;
    } else if (after_any != std::string::npos) {
      i = after_any;
      j = ++taken;
    } else {
      return false;
    }
  }
  return std::all_of(parts_.begin() + static_cast<std::ptrdiff_t>(i), parts_.end(), [](auto & p) {
    return p == kAny;
  });
}

bool NamePattern::names_node(const std::string & node) const
{
  const std::vector<std::string> node_parts = parts_of(node);
  return node_parts.size() <= parts_.size() &&
         std::equal(
           node_parts.begin(), node_parts.end(), parts_.begin(),
           [](const auto & name_part, const auto & part) { return fits(part, name_part); });
}

bool NamePattern::has_wildcard() const { return has_part(kOne) || has_part(kAny); }

bool NamePattern::has_part(const std::string & word) const
{
  return std::find(parts_.begin(), parts_.end(), word) != parts_.end();
}

}  // namespace rclrt_config
