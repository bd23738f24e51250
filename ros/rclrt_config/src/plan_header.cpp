// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "plan_header.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sha256.hpp"

namespace rclrt_config
{
namespace
{

constexpr int kVersion = 1;
constexpr std::string_view kBody = "/**:\n";

struct Line
{
  std::string_view value;
  int number = 0;
};

/// The line "# key: value" among the comments that the text begins with.
std::optional<Line> line_of(std::string_view text, std::string_view key)
{
  const std::string begin = "# " + std::string(key) + ": ";
  for (int number = 1; !text.empty() && text.front() == '#'; ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, begin.size()) == begin) {
      return Line{line.substr(begin.size()), number};
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

std::optional<int> number_at(std::string_view text)
{
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? std::optional<int>(number) : std::nullopt;
}

}  // namespace

std::optional<rclrt_core::Finding> problem_with_plan(
  const std::string & text, const std::string & name)
{
  const auto version = line_of(text, "plan");
  const auto content = line_of(text, "content");
  if (!version || !content) {
    return std::nullopt;
  }
  const auto place = [&name](const Line & line) {
    return name + ":" + std::to_string(line.number) + ":1";
  };
  if (number_at(version->value).value_or(kVersion + 1) > kVersion) {
    return rclrt_core::Finding{
      place(*version),
      "this is a plan of version " + std::string(version->value.substr(0, 20)) +
        ", this program reads 1: nothing of it counts as proved",
      0, "A newer rclrt may read it"};
  }
  const std::size_t body = text.find(kBody);
  const std::string_view proved =
    std::string_view(text).substr(body == std::string::npos ? text.size() : body);
  if (content->value == "sha256:" + sha256(proved)) {
    return std::nullopt;
  }
  return rclrt_core::Finding{
    place(*content), "the plan was edited after it was made: nothing of it counts as proved", 0,
    "Change the model, and plan again; or remove this line, and the bounds"};
}

std::optional<int> cpus_of_plan(const std::string & text)
{
  const auto machine = line_of(text, "machine");
  constexpr std::string_view key = "\"cpus\": ";
  const std::string_view text_of_it = machine ? machine->value : std::string_view();
  const std::size_t at = text_of_it.find(key);
  return at != std::string_view::npos ? number_at(text_of_it.substr(at + key.size()))
                                      : std::nullopt;
}

}  // namespace rclrt_config
