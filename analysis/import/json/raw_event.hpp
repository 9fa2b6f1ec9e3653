// SPDX-License-Identifier: Apache-2.0
//
// One event of a trace as its text has it: what is known of the keys, nothing understood yet.
//
// Context:  cli through analysis/commands
// Owns:     nothing: texts are borrowed until the next event is read
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/import/store/parse_numbers.hpp"

namespace gpuprof::importer {

/// Members of "args" that mean something here.
enum class Arg : std::uint8_t {
  kExternalId,
  kCorrelation,
  kCbid,
  kDevice,
  kStream,
  kContext,
  kGrid,   // three numbers
  kBlock,  // three numbers
  kRegisters,
  kSharedMemory,
  kLocalMemory,
  kBytesMoved,
  kSequence,
  kForwardThread,
  kDims,
  kTypes,
  kConcrete,
  kMoreInputs,
  kCallStack,
  kCallFrom,
  kModuleId,
  kApprox,
  kPyTorchName,
  kDeviceType,
  kDeviceId,
  kAddress,
  kBytes,
  kTotalAllocated,
  kTotalReserved,
  kGraph,
  kGraphNode,
  kChannel,
  kFromDevice,
  kToDevice,
  kPriority,
  kName,
  kLabels,
  kDomain,
  kCategory,
  kPayload,
  kUnfinished,
  kNoBegin,
  kSource,
  kConfidence,
  kWhere,
  kApi,
  kResult,
  kSyncEvent,
  kOverheadKind,
  kCollective,
  kGroupName,
  kGroupDescription,
  kSeq,
  kPythonId,
  kPythonParent,
  kQueue,   // another word for a stream
  kHandle,  // a stream by its address
  kTaskType,
  kConnection,  // another word for a correlation
  kRecordFunction,
  kCount
};

/// A number, a truth value or a text.
struct RawValue {
  enum class Form : std::uint8_t { kNone, kNumber, kText, kBool, kNull };
  std::string_view text;
  Form form = Form::kNone;

  bool present() const { return form != Form::kNone && form != Form::kNull; }
  /// Also of a number in quotes, as older traces have them.
  std::optional<std::int64_t> integer() const { return parse_int64(text); }
};

/// Brackets, numbers and texts of an array in order.
struct ArrayToken {
  enum class Form : std::uint8_t { kOpen, kClose, kNumber, kText, kOther };
  Form form;
  std::string_view text;
};

static_assert(static_cast<std::size_t>(Arg::kCount) <= 64);

struct RawEvent {
  std::string_view phase, category, name;
  RawValue pid, tid, ts, duration, id;
  std::array<RawValue, static_cast<std::size_t>(Arg::kCount)> args;
  /// Of Arg::kDims, kTypes and kConcrete; `spans` is their text, which tells them from others.
  std::vector<ArrayToken> dims, types, concrete;
  std::array<std::string_view, 3> spans;
  std::array<std::optional<std::int64_t>, 3> grid, block;

  std::uint64_t present = 0;  // which of `args` are of this event

  const RawValue& arg(Arg key) const {
    static constexpr RawValue kNone;
    const auto index = static_cast<std::size_t>(key);
    return (present >> index & 1) != 0 ? args[index] : kNone;
  }
  void set(Arg key, const RawValue& value) {
    args[static_cast<std::size_t>(key)] = value;
    present |= std::uint64_t{1} << static_cast<std::size_t>(key);
  }
  std::optional<std::int64_t> integer(Arg key) const { return arg(key).integer(); }
  std::string_view text(Arg key) const {
    return arg(key).form == RawValue::Form::kText ? arg(key).text : std::string_view();
  }
  bool is_true(Arg key) const {
    return arg(key).form == RawValue::Form::kBool && arg(key).text == "true";
  }
};

}  // namespace gpuprof::importer
