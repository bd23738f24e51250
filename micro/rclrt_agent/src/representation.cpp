// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "representation.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "rclrt_micro/cdr.h"

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kLongestText = 256;

std::string read_text(rclrt_reader * reader)
{
  char text[kLongestText + 1];
  rclrt_read_string(reader, text, sizeof(text));
  return reader->failed ? "" : text;
}

std::string read_optional_text(rclrt_reader * reader)
{
  return rclrt_read_bool(reader) ? read_text(reader) : "";
}

// ---- Binary

EndpointQos read_qos(rclrt_reader * reader)
{
  const uint16_t flags = rclrt_read_u16(reader);
  const bool has_depth = rclrt_read_bool(reader);
  const uint16_t depth = has_depth ? rclrt_read_u16(reader) : uint16_t{0};
  EndpointQos qos;
  qos.reliable = (flags & 0x01U) != 0;
  qos.transient_local = (flags & 0x38U) != 0;  // what is kept longer is kept at least as long
  const bool keep_last = (flags & 0x02U) != 0;
  qos.depth = !keep_last && !has_depth ? uint16_t{0} : std::max<uint16_t>(depth, 1);
  return qos;
}

std::optional<Description> describe_binary(const rclrt_create & create)
{
  rclrt_reader reader;
  rclrt_reader_init(&reader, create.body.data, create.body.size);
  Description description;
  switch (create.kind) {
    case RCLRT_PARTICIPANT:
      (void)read_optional_text(&reader);
      description.name = read_optional_text(&reader);
      break;
    case RCLRT_TOPIC:
      description.name = read_text(&reader);
      (void)read_optional_text(&reader);
      description.type = read_optional_text(&reader);
      break;
    case RCLRT_PUBLISHER:
    case RCLRT_SUBSCRIBER:
      return description;  // nothing in it matters here
    case RCLRT_DATAWRITER:
    case RCLRT_DATAREADER:
      description.topic = static_cast<uint16_t>(rclrt_read_u8(&reader) << 8);
      description.topic = static_cast<uint16_t>(description.topic | rclrt_read_u8(&reader));
      // As in DDS, a reader that says nothing takes what it can get.
      description.qos.reliable = create.kind == RCLRT_DATAWRITER;
      if (rclrt_read_bool(&reader)) {
        description.qos = read_qos(&reader);
      }
      break;
    case RCLRT_REQUESTER:
    case RCLRT_REPLIER:
      description.name = read_text(&reader);
      description.type = read_text(&reader);
      description.reply_type = read_text(&reader);
      description.request_topic = read_optional_text(&reader);
      description.reply_topic = read_optional_text(&reader);
      break;
    default:
      return std::nullopt;
  }
  return reader.failed ? std::nullopt : std::optional<Description>(description);
}

// ---- XML. Not a parser: elements are looked for by name. Nothing is expanded or included.

std::string trimmed(const std::string & text)
{
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  const std::size_t to = text.find_last_not_of(" \t\r\n");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

// What is between <tag ...> and </tag>, the first time; `head` gets the attributes.
std::optional<std::string> element(
  const std::string & xml, const std::string & tag, std::string * head = nullptr)
{
  std::size_t at = 0;
  while ((at = xml.find("<" + tag, at)) != std::string::npos) {
    const std::size_t after = at + tag.size() + 1;
    const std::size_t end = xml.find('>', after);
    if (end == std::string::npos) {
      return std::nullopt;
    }
    if (std::string(" \t\r\n/>").find(xml[after]) == std::string::npos) {
      at = after;
      continue;  // a longer name
    }
    if (head != nullptr) {
      *head = xml.substr(after, end - after);
    }
    if (xml[end - 1] == '/') {
      return "";
    }
    const std::size_t close = xml.find("</" + tag, end);
    return close == std::string::npos
             ? std::nullopt
             : std::optional<std::string>(xml.substr(end + 1, close - end - 1));
  }
  return std::nullopt;
}

std::string text_of(const std::string & xml, const std::string & tag)
{
  return trimmed(element(xml, tag).value_or(""));
}

std::string attribute(const std::string & head, const std::string & name)
{
  const std::size_t at = head.find(name + "=\"");
  if (at == std::string::npos) {
    return "";
  }
  const std::size_t from = at + name.size() + 2;
  const std::size_t to = head.find('"', from);
  return to == std::string::npos ? "" : head.substr(from, to - from);
}

EndpointQos xml_qos(const std::string & xml, bool reader)
{
  EndpointQos qos;
  const std::string reliability = text_of(text_of(xml, "reliability"), "kind");
  qos.reliable = reliability.empty() ? !reader : reliability == "RELIABLE";
  const std::string durability = text_of(text_of(xml, "durability"), "kind");
  qos.transient_local = !durability.empty() && durability != "VOLATILE";
  const std::string history = text_of(xml, "historyQos");
  if (text_of(history, "kind") == "KEEP_ALL") {
    qos.depth = 0;
  }
  const std::string depth = text_of(history, "depth");
  if (
    !depth.empty() && depth.size() <= 5 &&
    depth.find_first_not_of("0123456789") == std::string::npos) {
    qos.depth = static_cast<uint16_t>(std::clamp(std::stoi(depth), 1, 5000));
  }
  return qos;
}

std::optional<Description> describe_xml(uint8_t kind, const std::string & xml)
{
  Description description;
  std::string head;
  std::optional<std::string> body;
  switch (kind) {
    case RCLRT_PARTICIPANT:
      body = element(xml, "participant");
      description.name = text_of(text_of(body.value_or(""), "rtps"), "name");
      break;
    case RCLRT_TOPIC:
      body = element(xml, "topic");
      description.name = text_of(body.value_or(""), "name");
      description.type = text_of(body.value_or(""), "dataType");
      break;
    case RCLRT_PUBLISHER:
    case RCLRT_SUBSCRIBER:
      return description;
    case RCLRT_DATAWRITER:
    case RCLRT_DATAREADER: {
      const bool reader = kind == RCLRT_DATAREADER;
      body = element(xml, reader ? "data_reader" : "data_writer");
      const std::string topic = text_of(body.value_or(""), "topic");
      description.name = text_of(topic, "name");
      description.type = text_of(topic, "dataType");
      description.qos = xml_qos(body.value_or(""), reader);
      break;
    }
    case RCLRT_REQUESTER:
    case RCLRT_REPLIER:
      body = element(xml, kind == RCLRT_REQUESTER ? "requester" : "replier", &head);
      description.name = attribute(head, "service_name");
      description.type = attribute(head, "request_type");
      description.reply_type = attribute(head, "reply_type");
      description.request_topic = text_of(body.value_or(""), "request_topic_name");
      description.reply_topic = text_of(body.value_or(""), "reply_topic_name");
      break;
    default:
      return std::nullopt;
  }
  return body ? std::optional<Description>(description) : std::nullopt;
}

}  // namespace

std::optional<Description> describe(const rclrt_create & create, const References & references)
{
  if (create.representation == RCLRT_BY_BINARY) {
    return describe_binary(create);
  }
  std::string text(create.body.data, create.body.data + create.body.size);
  text.resize(std::min(text.size(), text.find('\0')));
  if (create.representation == RCLRT_BY_XML) {
    return describe_xml(create.kind, text);
  }
  if (create.representation != RCLRT_BY_REFERENCE) {
    return std::nullopt;
  }
  const auto found = references.find(std::to_string(create.kind) + text);
  return found == references.end() ? std::nullopt : describe_xml(create.kind, found->second);
}

References parse_references(const std::string & xml)
{
  static constexpr struct
  {
    uint8_t kind;
    const char * tag;
  } kKinds[] = {
    {RCLRT_PARTICIPANT, "participant"}, {RCLRT_TOPIC, "topic"},
    {RCLRT_DATAWRITER, "data_writer"},  {RCLRT_DATAREADER, "data_reader"},
    {RCLRT_REQUESTER, "requester"},     {RCLRT_REPLIER, "replier"},
  };
  References references;
  for (const auto & [kind, tag] : kKinds) {
    const std::string open = std::string("<") + tag;
    const std::string close = std::string("</") + tag + ">";
    for (std::size_t at = xml.find(open); at != std::string::npos; at = xml.find(open, at + 1)) {
      const std::size_t end = xml.find(close, at);
      const std::string name = attribute(xml.substr(at, xml.find('>', at) - at), "profile_name");
      if (end != std::string::npos && !name.empty()) {
        references[std::to_string(kind) + name] = xml.substr(at, end + close.size() - at);
      }
    }
  }
  return references;
}

References read_references(const std::string & file)
{
  std::ifstream stream(file);
  if (!stream) {
    throw std::runtime_error("cannot read the profiles in '" + file + "'");
  }
  return parse_references(std::string(std::istreambuf_iterator<char>(stream), {}));
}

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
