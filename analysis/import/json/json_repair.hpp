// SPDX-License-Identifier: Apache-2.0
//
// One value of JSON text that known writers damaged, as they meant it - where one reading is
// certain: quotes and backslashes that were not escaped, decimal commas, words for no number,
// commas and values that lack.
//
// Context:  cli through analysis/commands; only of values that no parser takes
// Owns:     nothing
// Promises: what it gives is JSON, or it says where no reading is certain; it ends
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/import/store/import_stats.hpp"

namespace gpuprof::importer {

/// What the value is in the file: it decides which names may follow a text in it.
enum class DamagedValue : std::uint8_t { kEvent, kMember, kName };

struct RepairResult {
  enum class State : std::uint8_t {
    kRepaired,
    kNeedsMoreText,  // the text ends within the value
    kUnrepairable,   // nothing certain at `at`
  };
  State state = State::kUnrepairable;
  std::string text;        // the value as JSON
  std::size_t bytes = 0;   // of the damaged text that it stands for
  std::size_t at = 0;      // kUnrepairable: where
  std::string_view wrong;  // kUnrepairable: what is wrong there
  std::array<std::uint32_t, static_cast<std::size_t>(RepairKind::kCount)> places{};
};

/// @param text  from the value's first character on; control characters are blanks
/// @param ends  nothing follows `text` in the file
RepairResult repair_value(std::string_view text, bool ends, DamagedValue what);

/// `inf`, `-nan(ind)`, `1.#QNAN`, `N/A`, `None` and the like.
bool is_not_a_number(std::string_view word);

}  // namespace gpuprof::importer
