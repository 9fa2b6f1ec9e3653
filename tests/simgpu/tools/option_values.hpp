// SPDX-License-Identifier: Apache-2.0
//
// What may stand behind an option of gpusim-run, and how it reads in a variable.
//
// Context:  tools
// Owns:     nothing
// Promises: a value out of range or not understood ends the launcher with a sentence that names
//           what is allowed
// Not here: the list of options (run_options.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpusim {

/// The emulated CUDA releases, oldest first.
inline constexpr const char* kLayoutNames[] = {"11.8", "12.4", "12.9", "13.0", "13.2", "future"};
inline constexpr int kLayoutCount = 6;

/// Kinds of values. `limits` of value_of says more: the words of a choice, or LOW-HIGH.
enum class Form {
  kText,
  kWhole,
  kFactor,
  kSize,
  kTime,
  kPath,
  kChoice,
  kScenarioList,
  kErrorList,
  kFlag
};

/// The text of the variable for the words a person typed.
/// @param option for the sentence if the value cannot be taken
std::string value_of(const char* option, Form form, const char* limits, const char* text);

/// The parts of a list separated by commas, empty ones left out.
std::vector<std::string> comma_separated(const std::string& list);

/// "8.5 GiB"
std::string human_size(std::uint64_t bytes);

}  // namespace gpusim
