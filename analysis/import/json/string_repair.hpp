// SPDX-License-Identifier: Apache-2.0
//
// One text of damaged JSON: where it ends, and which of its quotes and backslashes were meant.
//
// Context:  cli through analysis/commands (json_repair.cpp alone)
// Owns:     nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/import/json/json_repair.hpp"

namespace gpuprof::importer {

/// Where a text stands.
enum class StringContext : std::uint8_t { kRoot, kName, kMember, kElement };
enum class Lookahead : std::uint8_t { kYes, kNo, kMore };

/// Which names members may have: of events those of Chrome's format, of what is in them any.
class AllowedKeys {
 public:
  explicit AllowedKeys(DamagedValue what) : what_(what) {}
  /// Does `"NAME":` stand at `at`, blanks aside?
  /// @param depth  of what holds the member
  /// @param any    also a name that no event is known to have
  Lookahead key_follows(std::string_view text, std::size_t at, int depth, bool any) const;

 private:
  DamagedValue what_;
};

struct StringRepair {
  RepairResult::State state = RepairResult::State::kUnrepairable;
  std::string text;    // with its quotes
  std::size_t at = 0;  // kRepaired: behind its end; else where it fails
  std::string_view wrong;
  std::uint32_t backslashes = 0, quotes = 0;
};

/// @param at        of its first quote
/// @param keep_ends `\n` in it ends a line, whatever else stands there
StringRepair repair_string(std::string_view text, std::size_t at, bool ends, StringContext place,
                           int depth, const AllowedKeys& names, bool keep_ends);

}  // namespace gpuprof::importer
