// SPDX-License-Identifier: Apache-2.0
//
// Which rank of a distributed job a process is, from the facts it told.
//
// Context:  daemon (export thread) | cli
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gpuprof::exporter {

struct Rank {
  std::uint64_t rank = 0, world_size = 0;
  bool is_known = false;
  std::string backend;  // of communication; empty: none was seen

  bool known() const { return is_known; }
  std::string text() const { return is_known ? std::to_string(rank) : std::string(); }
};

inline std::optional<std::uint64_t> number_fact(const std::map<std::string, std::string>& facts,
                                                const char* key) {
  const auto found = facts.find(key);
  if (found == facts.end() || found->second.empty()) return std::nullopt;
  std::uint64_t value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [at, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

/// The facts are what the launcher put into the environment, and what carries communication.
inline Rank rank_of(const std::map<std::string, std::string>& facts) {
  Rank result;
  for (const char* key : {"rank", "RANK", "env.RANK", "env.OMPI_COMM_WORLD_RANK", "env.PMI_RANK",
                          "env.MV2_COMM_WORLD_RANK", "env.SLURM_PROCID"})
    if (const auto rank = number_fact(facts, key); rank && !result.is_known)
      result.rank = *rank, result.is_known = true;
  for (const char* key : {"world_size", "WORLD_SIZE", "env.WORLD_SIZE", "env.OMPI_COMM_WORLD_SIZE",
                          "env.PMI_SIZE", "env.MV2_COMM_WORLD_SIZE", "env.SLURM_NTASKS"})
    if (const auto size = number_fact(facts, key)) result.world_size = *size;
  if (const auto found = facts.find("distributed.backend"); found != facts.end())
    result.backend = found->second;
  return result;
}

}  // namespace gpuprof::exporter
