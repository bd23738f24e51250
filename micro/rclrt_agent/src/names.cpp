// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "names.hpp"

#include <algorithm>

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kLongest = 200;  // topics of DDS end at 255, prefixes and suffixes included

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool is_token(const std::string & text)
{
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

bool begins(const std::string & text, const char * with) { return text.rfind(with, 0) == 0; }

std::optional<std::string> checked(const std::string & name)
{
  const std::string full = begins(name, "/") ? name : "/" + name;
  if (full.size() > kLongest || full.size() < 2) {
    return std::nullopt;
  }
  std::size_t from = 1;
  while (from <= full.size()) {
    const std::size_t to = std::min(full.find('/', from), full.size());
    const std::string part = full.substr(from, to - from);
    if (!is_token(part) || part.find("__") != std::string::npos) {
      return std::nullopt;
    }
    from = to + 1;
  }
  return full;
}

void replace_all(std::string * text, const std::string & what, const std::string & by)
{
  for (std::size_t at = text->find(what); at != std::string::npos; at = text->find(what, at)) {
    text->replace(at, what.size(), by);
    at += by.size();
  }
}

bool drop_end(std::string * text, const std::string & end)
{
  const bool has =
    text->size() > end.size() && text->compare(text->size() - end.size(), end.size(), end) == 0;
  text->resize(text->size() - (has ? end.size() : 0));
  return has;
}

}  // namespace

std::optional<NodeName> node_name(const std::string & participant)
{
  const auto full = checked(participant);
  if (!full) {
    return std::nullopt;
  }
  const std::size_t last = full->rfind('/');
  return NodeName{last == 0 ? "/" : full->substr(0, last), full->substr(last + 1)};
}

std::optional<std::string> ros_topic(const std::string & name)
{
  const bool prefixed = begins(name, "rt/") || begins(name, "rq/") || begins(name, "rr/");
  return checked(prefixed ? name.substr(3) : name);
}

std::optional<std::string> ros_service(const std::string & name)
{
  if (!begins(name, "rq/")) {
    return checked(name);
  }
  std::string service = name.substr(3);
  return drop_end(&service, "Request") ? checked(service) : std::nullopt;
}

std::optional<TypeName> ros_type(const std::string & type)
{
  std::string text = type;
  if (text.size() > kLongest) {
    return std::nullopt;
  }
  replace_all(&text, "::", "/");
  std::string parts[3];
  std::size_t count = 0;
  std::size_t from = 0;
  bool mangled = false;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find('/', from), text.size());
    const std::string part = text.substr(from, to - from);
    from = to + 1;
    if (part == "dds_") {
      mangled = true;
      continue;
    }
    if (count == 3 || !is_token(part)) {
      return std::nullopt;
    }
    parts[count++] = part;
  }
  if (mangled && count > 0 && !drop_end(&parts[count - 1], "_")) {
    return std::nullopt;
  }
  if (count == 1) {
    return TypeName{"", "", parts[0]};
  }
  if (count != 3) {
    return std::nullopt;
  }
  return TypeName{parts[0], parts[1], parts[2]};
}

std::optional<TypeName> ros_service_type(const std::string & request_type)
{
  auto type = ros_type(request_type);
  if (!type || type->package.empty() || !drop_end(&type->name, "_Request")) {
    return std::nullopt;
  }
  return type;
}

}  // namespace rclrt_agent
