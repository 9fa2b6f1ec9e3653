// SPDX-License-Identifier: Apache-2.0
//
// 64-bit ids of the target ↔ dense ids of the model, for one sort of definition.
//
// Context:  daemon (ingest thread)
// Owns:     the map and one state byte per id
// Promises: a dense id is given at the first mention and kept; bounded: beyond `most` every new
//           id is answered with one common id, whose definition says so
// Not here: what a definition holds (definitions.hpp)
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/ingest/decode/id_map.hpp"

namespace gpuprof::ingest {

class Dictionary {
 public:
  enum class State : std::uint8_t { kReferenced, kDefined, kLost };

  Dictionary(std::uint32_t most, std::uint64_t salt) : most_(most), ids_(salt), states_(1) {}

  /// Dense id for a mention; 0 for 0.
  std::uint32_t reference(std::uint64_t wire_id) {
    if (wire_id == 0) return 0;
    const std::uint32_t known = ids_.find(wire_id);
    return known != 0 ? known : add(wire_id, State::kReferenced);
  }

  /// Dense id to define now, or 0: it is defined already, or there is no room.
  std::uint32_t define(std::uint64_t wire_id) {
    if (wire_id == 0) return 0;
    const std::uint32_t known = ids_.find(wire_id);
    if (known == 0) {
      const std::uint32_t id = add(wire_id, State::kDefined);
      return id == overflow_ ? 0 : id;
    }
    if (states_[known] == State::kDefined) return 0;
    // What was already written as lost stays lost; later mentions get the real one.
    if (states_[known] == State::kLost) return states_.size() > most_ ? 0 : redefine(wire_id);
    states_[known] = State::kDefined;
    return known;
  }

  State state(std::uint32_t id) const { return states_[id]; }
  void mark_lost(std::uint32_t id) { states_[id] = State::kLost; }
  bool is_overflow(std::uint32_t id) const { return id != 0 && id == overflow_; }
  /// Definitions refused because the dictionary is full.
  std::uint64_t refused() const { return refused_; }
  std::size_t size() const { return states_.size() - 1; }

 private:
  std::uint32_t add(std::uint64_t wire_id, State state) {
    if (states_.size() > most_) {
      ++refused_;
      if (overflow_ == 0) {
        overflow_ = static_cast<std::uint32_t>(states_.size());
        states_.push_back(State::kReferenced);
      }
      return overflow_;
    }
    const auto id = static_cast<std::uint32_t>(states_.size());
    states_.push_back(state);
    ids_.put(wire_id, id);
    return id;
  }

  std::uint32_t redefine(std::uint64_t wire_id) {
    const auto id = static_cast<std::uint32_t>(states_.size());
    states_.push_back(State::kDefined);
    ids_.put(wire_id, id);
    return id;
  }

  std::uint32_t most_;
  std::uint32_t overflow_ = 0;
  std::uint64_t refused_ = 0;
  IdMap ids_;
  std::vector<State> states_;
};

}  // namespace gpuprof::ingest
