// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Several chains, fed with the records of several executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "chain_watch.hpp"
#include "live_follower.hpp"
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

/// An executor: where its records are, and which of its callbacks are in chains.
struct ChainSource
{
  /// Chain and link.
  using Places = std::vector<std::pair<std::size_t, std::size_t>>;

  LiveFollower file;
  bool is_spoilt = false;  ///< somebody else has written into the file
  bool is_ours = false;
  std::map<uint32_t, Places> places;  ///< by callback; empty for those of no chain

  bool has_chains() const;
  /// Null if there is none.
  const Places * places_of(uint32_t callback) const;
};

class ChainSet
{
public:
  explicit ChainSet(const std::vector<rclrt_config::Chain> & chains);

  /// Where callbacks belong that are new in a source.
  void find_places(ChainSource & source);
  /// Records of a source, in any order.
  void feed(const ChainSource & source, const std::vector<rclrt_job_record> & records);

  std::vector<WatchedChain> & chains() noexcept { return chains_; }
  const std::vector<WatchedChain> & chains() const noexcept { return chains_; }

private:
  void add_job(
    const ChainSource & source, const rclrt_job_record & record,
    const ChainSource::Places & places);

  std::vector<WatchedChain> chains_;
};

}  // namespace rclrt_front_end
