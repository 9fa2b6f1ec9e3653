// SPDX-License-Identifier: Apache-2.0
//
// Which category of a trace means what, in all spellings.
//
// Context:  cli through analysis/commands
// Owns:     nothing
// Not here: what events of a kind become (classify_*.cpp); the whole table in words is in
//           docs/reading-traces.md
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/import/store/parsed_event.hpp"

namespace gpuprof::importer {

enum class EventCategory : std::uint8_t {
  kUnknown,  // by its shape, where that tells
  kDuplicate,
  kNotAnEvent,
  kOperator,
  kUserAnnotation,
  kFrame,
  kRange,
  kRuntime,
  kDriver,
  kNestedCall,
  kHostWait,
  kKernel,
  kMemCopy,
  kMemSet,
  kSync,
  kOverhead,
  kCollective,     // on the host or on a device
  kCallOrGpuWork,  // a call of the host, or work of a device
  kInstant,
  kSpan,
  kOverlappingRange,
  kDeepRange,
  kOperatorCrossing,
  kOperatorDeep,
  kMark,
  kSample,
  kOffCpuSample,
  kBackwardFlow,
  kOldBackwardFlow,
  kLaunchFlow,      // from launches: says what correlation ids say
  kLaunchFlowOnly,  // the same where nothing else links
};

/// What a person would call it, where only the record is left: `kernel`, `runtime call`.
std::string_view label_of(ParsedKind kind);

/// Of a category that is known; else kUnknown.
EventCategory find_category(std::string_view category);

/// What the name of a category that is not known says: `foo_runtime` is calls.
EventCategory guess_category(std::string_view category);

/// Names of calls of the APIs of devices: `hipLaunchKernel`, `AscendCL@aclrtMalloc`.
bool is_api_call_name(std::string_view name);

}  // namespace gpuprof::importer
