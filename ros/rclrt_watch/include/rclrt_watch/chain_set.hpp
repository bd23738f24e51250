// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Several chains, fed with the records of several executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chain_watch.hpp"
#include "rclrt_config/chain.hpp"

namespace rclrt_front_end
{

/// A chain, and what is seen of it besides its instances.
struct WatchedChain
{
  explicit WatchedChain(const rclrt_config::Chain & chain) : watch(chain) {}
  ChainWatch watch;
  bool is_ours = false;      ///< one of our sources has its last callback
  bool has_first = false;    ///< some source has its first callback
  int64_t first_output = 0;  ///< when the last callback ended its first job
};

/// An executor, and which of its callbacks are in chains.
struct ChainSource
{
  struct Place
  {
    std::size_t chain;
    std::size_t link;
    bool is_input;  ///< of a callback that may wait for others of the same link
  };
  using Places = std::vector<Place>;

  uint32_t process = 0;
  uint32_t executor = 0;
  bool is_ours = false;
  std::optional<bool>
    is_whole;  ///< nothing ran in it before its first record; unset: there is none
  std::map<uint32_t, Places> places;  ///< by callback; empty for those of no chain

  bool has_chains() const;
  /// Null if there is none.
  const Places * places_of(uint32_t callback) const;
};

class ChainSet
{
public:
  /// Whether a callback with that name is a link.
  using Matches = std::function<bool(const rclrt_config::ChainLink &, const std::string &)>;
  explicit ChainSet(
    const std::vector<rclrt_config::Chain> & chains,
    Matches matches = &rclrt_config::ChainLink::matches);

  /// Where callbacks belong that are new in a source; `names` of all of them.
  void find_places(ChainSource & source, const std::map<uint32_t, std::string> & names);
  /// Records of a source, in any order.
  void feed(ChainSource & source, const std::vector<rclrt_job_record> & records);

  std::vector<WatchedChain> & chains() noexcept { return chains_; }
  const std::vector<WatchedChain> & chains() const noexcept { return chains_; }

private:
  void add_job(
    const ChainSource & source, const rclrt_job_record & record,
    const ChainSource::Places & places);

  const Matches matches_;
  std::vector<WatchedChain> chains_;
};

}  // namespace rclrt_front_end
