// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_watch/chain_watch.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_watch
{

namespace
{

/// The number of the first job: an engine counts from 0, the simulator from 1.
constexpr uint64_t kFirstJob = 1;

/// Whether it is a subscription that rclcpp gives to every node: no join waits for these.
bool is_of_every_node(const std::string & name)
{
  const auto ends_with = [&name](const std::string & end) {
    return name.size() >= end.size() &&
           name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  return ends_with("/subscription/clock") || ends_with("/subscription/parameter_events");
}

}  // namespace

bool ChainSource::has_chains() const
{
  return std::any_of(
    places.begin(), places.end(), [](const auto & callback) { return !callback.second.empty(); });
}

const ChainSource::Places * ChainSource::places_of(uint32_t callback) const
{
  const auto found = places.find(callback);
  return found != places.end() && !found->second.empty() ? &found->second : nullptr;
}

ChainSet::ChainSet(const std::vector<rclrt_config::Chain> & chains, Matches matches)
: matches_(std::move(matches))
{
  for (const rclrt_config::Chain & chain : chains) {
    chains_.emplace_back(chain);
  }
}

void ChainSet::find_places(ChainSource & source, const std::map<uint32_t, std::string> & names)
{
  if (source.places.size() == names.size()) {
    return;
  }
  for (const auto & [id, name] : names) {
    const auto [place, is_new] = source.places.emplace(id, ChainSource::Places());
    for (std::size_t i = 0; is_new && i < chains_.size(); ++i) {
      const auto & links = chains_[i].watch.chain().links;
      const auto link = std::find_if(links.begin(), links.end(), [&, &of = name](const auto & one) {
        return matches_(one, of) && !(one.inputs > 1 && is_of_every_node(of));
      });
      if (link == links.end()) {
        continue;
      }
      const bool is_input = link->pattern != name;
      place->second.push_back({i, static_cast<std::size_t>(link - links.begin()), is_input});
      chains_[i].has_first = chains_[i].has_first || link == links.begin();
      chains_[i].is_ours = chains_[i].is_ours || (source.is_ours && link + 1 == links.end());
    }
  }
}

void ChainSet::feed(ChainSource & source, const std::vector<rclrt_job_record> & records)
{
  const auto first = std::min_element(
    records.begin(), records.end(),
    [](const auto & one, const auto & other) { return one.sequence < other.sequence; });
  if (first != records.end() && !source.is_whole) {
    source.is_whole = first->sequence <= kFirstJob;
  }
  for (const rclrt_job_record & record : records) {
    const ChainSource::Places * const places = source.places_of(record.callback);
    if (
      !places || record.outcome != RCLRT_PUBLISHED || record.publisher == 0 ||
      record.message == RCLRT_TRACE_NO_MESSAGE) {
      continue;
    }
    for (const ChainSource::Place & place : *places) {
      chains_[place.chain].watch.add_publication(
        {record.publisher, record.message}, {source.process, source.executor, record.sequence},
        record.end_ns);
    }
  }
  for (const rclrt_job_record & record : records) {
    const ChainSource::Places * const places = source.places_of(record.callback);
    if (places && record.outcome != RCLRT_PUBLISHED) {
      add_job(source, record, *places);
    }
  }
}

void ChainSet::add_job(
  const ChainSource & source, const rclrt_job_record & record, const ChainSource::Places & places)
{
  ChainWatch::Job job;
  job.key = {source.process, source.executor, record.sequence};
  job.release = record.release_ns;
  job.start = record.start_ns;
  job.end = record.end_ns;
  job.is_whole = source.is_whole.value_or(false);
  const ChainSource::Places * by = nullptr;
  if (record.cause == RCLRT_CAUSE_JOB) {
    job.by = JobKey(source.process, record.by_executor, record.by_sequence);
    by = record.by_executor == source.executor ? source.places_of(record.by_callback) : nullptr;
  }
  if (record.publisher != 0 && record.message != RCLRT_TRACE_NO_MESSAGE) {
    job.message = MessageKey(record.publisher, record.message);
  }
  for (const auto & [chain, link, is_input] : places) {
    WatchedChain & watched = chains_[chain];
    if (rclrt_job_ran(&record) == 0) {
      watched.watch.add_not_run(record.jobs);
      continue;
    }
    const auto is_before = [of = chain, next = link](const ChainSource::Place & place) {
      return place.chain == of && place.link + 1 == next;
    };
    job.by_link_before = by && std::any_of(by->begin(), by->end(), is_before);
    job.input = is_input ? (uint64_t{source.executor} << 32 | record.callback) + 1 : 0;
    watched.watch.add_job(link, job);
    if (link + 1 == watched.watch.chain().links.size() && watched.first_output == 0) {
      watched.first_output = record.end_ns;
    }
  }
}

}  // namespace rclrt_watch
