// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the files say of chains, and of what their proofs rest on.

#include <algorithm>

#include "configuration_impl.hpp"

namespace rclrt_config
{

using rclrt_core::CpuSet;

namespace
{

Assumption assumption_of(const std::vector<Entry> & entries, const std::string & callback)
{
  Assumption all;
  for (const Entry & entry : entries) {
    if (entry.target == Target::kCallback && entry.pattern.matches(callback)) {
      const AssumedTimes & times = entry.assumed;
      all.wcet = times.wcet ? times.wcet : all.wcet;
      all.min_period = times.min_period ? times.min_period : all.min_period;
      all.bound = times.bound ? times.bound : all.bound;
      put(entry.attributes, &all.attributes);
    }
  }
  return all;
}

/// No CPUs: any.
bool share_a_cpu(const CpuSet & a, const CpuSet & b)
{
  const std::vector<int> of_a = a.cpus();
  const std::vector<int> of_b = b.cpus();
  return of_a.empty() || of_b.empty() || std::any_of(of_a.begin(), of_a.end(), [&of_b](int cpu) {
           return std::find(of_b.begin(), of_b.end(), cpu) != of_b.end();
         });
}

}  // namespace

const std::vector<Chain> & Configuration::chains() const noexcept { return impl_->chains; }

bool Configuration::diagnostics() const noexcept
{
  return impl_->diagnostics.value_or(!impl_->chains.empty());
}

bool Configuration::is_watched() const noexcept
{
  return !impl_->chains.empty() ||
         std::any_of(impl_->entries.begin(), impl_->entries.end(), [](const Entry & entry) {
           const AssumedTimes & times = entry.assumed;
           return times.wcet || times.min_period || times.bound;
         });
}

bool Configuration::proof_is_void() const noexcept { return impl_->proof_is_void; }

Assumption Configuration::assumption(const std::string & callback) const
{
  return assumption_of(impl_->entries, callback);
}

std::vector<std::string> Configuration::chains_beside(const std::string & callback) const
{
  const CpuSet cpus = assumption(callback).attributes.cpu_affinity;
  std::vector<std::string> names;
  for (const Chain & chain : impl_->chains) {
    const bool is_beside =
      std::any_of(chain.links.begin(), chain.links.end(), [&](const ChainLink & link) {
        // An entry of a plan is for the same callbacks as the link.
        const CpuSet of_link = assumption_of(impl_->entries, link.pattern).attributes.cpu_affinity;
        return link.matches(callback) || share_a_cpu(cpus, of_link);
      });
    if (is_beside) {
      names.push_back(chain.name);
    }
  }
  return names;
}

}  // namespace rclrt_config
