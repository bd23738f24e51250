// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "agent.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "line_thread.hpp"

namespace rclrt_agent
{

namespace
{

constexpr uint16_t kShortestMtu = 64;
constexpr unsigned kQuestions = 3;  // without an answer: a client that wanted to be asked is gone

// "Hard liveliness" of eProsima's clients: after so many ms of silence the client wants to be asked whether it is there,
// and to lose its entities at once if it does not answer. 0 if it does not want that.
Duration check_of(const rclrt_create_client & asked)
{
  rclrt_reader reader;
  rclrt_reader_init(&reader, asked.properties.data, asked.properties.size);
  const std::size_t count = rclrt_read_count(&reader, UINT16_MAX, 10);
  for (std::size_t i = 0; i < count && !reader.failed; ++i) {
    char texts[2][16] = {};
    for (auto & text : texts) {
      const std::size_t size = rclrt_read_count(&reader, UINT16_MAX, 1);
      const rclrt_bytes bytes = rclrt_read_reference(&reader, size);
      std::copy_n(bytes.data, reader.failed ? 0 : std::min(size, sizeof(text) - 1), text);
    }
    if (std::string(texts[0]) == "uxr_hl") {
      return std::chrono::milliseconds(std::clamp(std::atoi(texts[1]), 0, 86'400'000));
    }
  }
  return Duration(0);
}

Key key_of(const uint8_t (&bytes)[4]) { return {bytes[0], bytes[1], bytes[2], bytes[3]}; }

bool is_none(const rclrt_message_header & header)
{
  return header.session == RCLRT_SESSION_NONE || header.session == RCLRT_SESSION_NONE_WITH_KEY;
}

}  // namespace

Agent::Agent(Backend & backend, const AgentOptions & options, Dispatch dispatch)
: backend_(backend), options_(options), dispatch_(std::move(dispatch))
{
}

Agent::~Agent()
{
  for (const auto & [key, client] : clients_) {
    client.session->close();
  }
}

void Agent::receive(
  Line & line, uint64_t address, const std::shared_ptr<Session> & attached, View message,
  TimePoint now)
{
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_reader_init(&reader, message.data, message.size);
  rclrt_read_message_header(&reader, &header);
  if (reader.failed) {
    const std::lock_guard lock(mutex_);
    ++counters_.malformed;
    return;
  }
  // A session is where its client has greeted. A message with its key from elsewhere is not its.
  const bool known =
    attached != nullptr && attached->id() == header.session && !attached->ended() &&
    (header.session >= RCLRT_SESSION_NONE || attached->key() == key_of(header.key));
  if (is_none(header) || !known) {
    outside_sessions(
      line, address, attached, header, {message.data + reader.at, message.size - reader.at}, now);
    return;
  }
  const int urgency = attached->post(message, now);
  if (urgency >= 0) {
    dispatch_(attached, urgency);
  }
}

// Answers messages without a session, or for one that is not known. A client that asks is told so:
// clients of eProsima begin anew then, and wait for nothing.
void Agent::outside_sessions(
  Line & line, uint64_t address, const std::shared_ptr<Session> & attached,
  const rclrt_message_header & header, View submessages, TimePoint now)
{
  rclrt_reader reader;
  rclrt_submessage sub;
  rclrt_reader_init(&reader, submessages.data, submessages.size);
  const bool sound = rclrt_read_submessage(&reader, &sub);
  {
    const std::lock_guard lock(mutex_);
    counters_.foreign += is_none(header) ? 0 : 1;
    counters_.malformed += is_none(header) && !sound ? 1 : 0;
  }
  if (!sound) {
    return;
  }
  rclrt_message_header to{header.session, RCLRT_STREAM_NONE, 0, {}};
  std::copy(std::begin(header.key), std::end(header.key), to.key);
  rclrt_submessage answer{};
  if (sub.id == RCLRT_GET_INFO && sub.object == RCLRT_OBJECT_AGENT) {
    const bool in_session = is_none(header) && attached != nullptr && !attached->ended();
    line.send(address, write_message(to, view_of(agent_info(sub.request, sub.object, in_session))));
    return;
  }
  if (sub.id == RCLRT_CREATE_CLIENT && is_none(header)) {
    answer.id = RCLRT_STATUS_AGENT;
    answer.of.result.status = greet(line, address, attached, sub.of.create_client, now);
    to.session = sub.of.create_client.session;
    std::copy(std::begin(sub.of.create_client.key), std::end(sub.of.create_client.key), to.key);
  } else if (sub.id == RCLRT_DELETE && sub.object == RCLRT_OBJECT_CLIENT && !is_none(header)) {
    answer.id = RCLRT_STATUS;  // It has gone.
    answer.request = sub.request;
    answer.object = sub.object;
  } else {
    return;
  }
  line.send(address, write_message(to, view_of(write(answer))));
}

bool Agent::may_take_over(const Client & client, Line & line, uint64_t address, TimePoint now) const
{
  return (client.line == &line && line.same_host(client.address, address)) ||
         now - client.session->heard() >= options_.settled;
}

uint8_t Agent::greet(
  Line & line, uint64_t address, const std::shared_ptr<Session> & attached,
  const rclrt_create_client & asked, TimePoint now)
{
  const Key key = key_of(asked.key);
  if (key == Key{} || (asked.session & 0x7FU) == 0 || asked.mtu < kShortestMtu) {
    return RCLRT_STATUS_INVALID_DATA;
  }
  Place place;
  do {
    const uint8_t status = find_place(line, address, attached, asked, now, &place);
    if (status != RCLRT_STATUS_OK) {
      return status;
    }
    // It may have ended meanwhile; then there is a place for a new one.
  } while (place.restart && !place.session->restart());
  for (const auto & old : place.gone) {
    place.session->replace(old);
  }
  line.attach(address, place.session);
  if (!place.gone.empty()) {
    dispatch_(place.session, 0);
  }
  return RCLRT_STATUS_OK;
}

// The session for a client that greets.
uint8_t Agent::find_place(
  Line & line, uint64_t address, const std::shared_ptr<Session> & attached,
  const rclrt_create_client & asked, TimePoint now, Place * place)
{
  const Key key = key_of(asked.key);
  const std::lock_guard lock(mutex_);
  ++counters_.greetings;
  const auto known = clients_.find(key);
  if (known != clients_.end() && !may_take_over(known->second, line, address, now)) {
    ++counters_.denied;
    return RCLRT_STATUS_DENIED;
  }
  // Another client speaks from here now.
  if (attached != nullptr && attached->key() != key) {
    const auto other = clients_.find(attached->key());
    // If the one before still speaks from here: the line learns late that it has gone elsewhere.
    if (
      other != clients_.end() && other->second.session == attached && other->second.line == &line &&
      other->second.address == address) {
      place->gone.push_back(attached);
      clients_.erase(other);
      ++counters_.ended;
    }
  }
  // One that has ended is about to be removed.
  if (
    known != clients_.end() && known->second.session->id() == asked.session &&
    !known->second.session->ended()) {
    Client & client = known->second;
    place->session = client.session;
    client.session->hear(now);
    // A client that has said good-bye greets anew.
    const bool late = client.line == &line && client.address == address &&
                      now - client.greeted < options_.late_greeting &&
                      !client.session->is_leaving();
    place->restart = !late;  // without the lock: it waits for what the session is doing
    if (!late) {
      client.line = &line;
      client.address = address;
      client.greeted = now;
      client.where = line.describe(address);
      client.check = check_of(asked);
    }
    return RCLRT_STATUS_OK;
  }
  if (known == clients_.end() && clients_.size() >= options_.clients) {
    ++counters_.denied;
    return RCLRT_STATUS_RESOURCES;
  }
  SessionOptions options = options_.session;
  options.outgoing.session = asked.session;
  options.outgoing.key = key;
  options.outgoing.mtu = asked.mtu;
  if (!line.takes_time()) {
    options.outgoing.piece = 0;  // nothing waits for a fragment
  }
  place->session = std::make_shared<Session>(options, backend_);
  place->session->hear(now);
  place->restart = false;
  if (known != clients_.end()) {
    place->gone.push_back(known->second.session);
    ++counters_.ended;
  }
  clients_[key] = {place->session, &line, address, now, line.describe(address), check_of(asked), 0};
  return RCLRT_STATUS_OK;
}

bool Agent::work(const std::shared_ptr<Session> & session)
{
  const bool more = session->work();
  if (!session->ended()) {
    return more;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto client = clients_.find(session->key());
    if (client == clients_.end() || client->second.session != session) {
      return false;
    }
    clients_.erase(client);
    ++counters_.ended;
  }
  session->close();
  return false;
}

void Agent::tick(TimePoint now)
{
  std::vector<std::shared_ptr<Session>> gone;
  std::vector<std::shared_ptr<Session>> asked;
  {
    const std::lock_guard lock(mutex_);
    for (auto client = clients_.begin(); client != clients_.end();) {
      const auto silent = now - client->second.session->heard();
      const bool wants = client->second.check > Duration(0) && silent >= client->second.check;
      client->second.asked = wants ? client->second.asked + 1 : 0;
      const bool mute = client->second.asked > kQuestions;
      if (wants && !mute) {
        asked.push_back(client->second.session);
      }
      if (!mute && silent < options_.silence + options_.grace) {
        ++client;
        continue;
      }
      gone.push_back(std::move(client->second.session));
      client = clients_.erase(client);
      ++counters_.ended;
    }
  }
  for (const auto & session : asked) {
    session->ask();
  }
  for (const auto & session : gone) {
    session->close();
  }
}

std::vector<ClientReport> Agent::report(TimePoint now) const
{
  std::map<Key, Client> clients;  // asked without the lock: each may be busy
  {
    const std::lock_guard lock(mutex_);
    clients = clients_;
  }
  std::vector<ClientReport> reports;
  for (const auto & [key, client] : clients) {
    reports.push_back(
      {key, client.where, now - client.session->heard() >= options_.silence,
       client.session->objects(), client.session->counters(),
       client.session->outgoing().counters()});
  }
  return reports;
}

AgentCounters Agent::counters() const
{
  const std::lock_guard lock(mutex_);
  return counters_;
}

namespace
{

// fastdds_0123456789abcdef_el is locked by the process that has fastdds_0123456789abcdef.
constexpr const char * kPrefix = "fastdds_";
constexpr const char * kLock = "_el";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kSegmentLength = 8 + kDigits;

bool is_lock(const std::string & name)
{
  if (
    name.size() != kSegmentLength + 3 || name.rfind(kPrefix, 0) != 0 ||
    name.compare(kSegmentLength, 3, kLock) != 0) {
    return false;
  }
  for (std::size_t i = 8; i < kSegmentLength; ++i) {
    if (std::isxdigit(static_cast<unsigned char>(name[i])) == 0) {
      return false;
    }
  }
  return true;
}

bool is_dead(const std::string & lock, std::chrono::seconds age)
{
  const Descriptor file(::open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found = {};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0) {
    return false;
  }
  const bool old = std::time(nullptr) - found.st_mtime >= age.count();
  return old && found.st_uid == ::geteuid() && S_ISREG(found.st_mode) &&
         ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::size_t remove_dead_segments(const std::string & folder, std::chrono::seconds age)
{
  std::size_t removed = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string lock = entry->path().string();
    if (is_lock(name) && is_dead(lock, age)) {
      ::unlink(lock.substr(0, lock.size() - 3).c_str());
      removed += ::unlink(lock.c_str()) == 0 ? 1 : 0;
    }
  }
  return removed;
}

}  // namespace rclrt_agent
