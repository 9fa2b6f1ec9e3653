// SPDX-License-Identifier: Apache-2.0
//
// RapidJSON's handlers for one value of a trace: an event, or a member that is only measured.
//
// Context:  cli through analysis/commands (json_events.cpp alone: see the first lines)
// Owns:     nothing
#pragma once

// With instructions of its own RapidJSON is another library than elsewhere in this program.
#define RAPIDJSON_NAMESPACE gpuprof_import_rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace gpuprof_import_rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "analysis/import/json/json_events.hpp"
#include "analysis/import/json/raw_event.hpp"

namespace gpuprof::importer {

namespace json = gpuprof_import_rapidjson;

struct KeyName {
  std::string_view name;
  Arg arg;
};
inline constexpr KeyName kKeys[] = {{"External id", Arg::kExternalId},
                                    {"external id", Arg::kExternalId},
                                    {"correlation", Arg::kCorrelation},
                                    {"cbid", Arg::kCbid},
                                    {"device", Arg::kDevice},
                                    {"stream", Arg::kStream},
                                    {"context", Arg::kContext},
                                    {"grid", Arg::kGrid},
                                    {"block", Arg::kBlock},
                                    {"registers per thread", Arg::kRegisters},
                                    {"shared memory", Arg::kSharedMemory},
                                    {"local memory per thread", Arg::kLocalMemory},
                                    {"bytes", Arg::kBytesMoved},
                                    {"Sequence number", Arg::kSequence},
                                    {"Fwd thread id", Arg::kForwardThread},
                                    {"Input Dims", Arg::kDims},
                                    {"Input dims", Arg::kDims},
                                    {"Input type", Arg::kTypes},
                                    {"Concrete Inputs", Arg::kConcrete},
                                    {"more inputs", Arg::kMoreInputs},
                                    {"Call stack", Arg::kCallStack},
                                    {"CallFrom", Arg::kCallFrom},
                                    {"Python module id", Arg::kModuleId},
                                    {"approx", Arg::kApprox},
                                    {"PyTorch name", Arg::kPyTorchName},
                                    {"Device Type", Arg::kDeviceType},
                                    {"Device Id", Arg::kDeviceId},
                                    {"Addr", Arg::kAddress},
                                    {"Bytes", Arg::kBytes},
                                    {"Total Allocated", Arg::kTotalAllocated},
                                    {"Total Reserved", Arg::kTotalReserved},
                                    {"graph id", Arg::kGraph},
                                    {"graph node id", Arg::kGraphNode},
                                    {"channel", Arg::kChannel},
                                    {"fromDevice", Arg::kFromDevice},
                                    {"toDevice", Arg::kToDevice},
                                    {"priority", Arg::kPriority},
                                    {"name", Arg::kName},
                                    {"labels", Arg::kLabels},
                                    {"domain", Arg::kDomain},
                                    {"category", Arg::kCategory},
                                    {"payload", Arg::kPayload},
                                    {"unfinished", Arg::kUnfinished},
                                    {"begin not seen", Arg::kNoBegin},
                                    {"source", Arg::kSource},
                                    {"confidence", Arg::kConfidence},
                                    {"where", Arg::kWhere},
                                    {"api", Arg::kApi},
                                    {"result", Arg::kResult},
                                    {"wait_on_cuda_event_id", Arg::kSyncEvent},
                                    {"overhead kind", Arg::kOverheadKind},
                                    {"Collective name", Arg::kCollective},
                                    {"Process Group Name", Arg::kGroupName},
                                    {"Process Group Description", Arg::kGroupDescription},
                                    {"Seq", Arg::kSeq},
                                    {"Python id", Arg::kPythonId},
                                    {"Python parent id", Arg::kPythonParent},
                                    {"sycl queue", Arg::kQueue},
                                    {"streamId", Arg::kQueue},
                                    {"Stream Id", Arg::kQueue},
                                    {"Stream ID", Arg::kQueue},
                                    {"Physic Stream Id", Arg::kQueue},
                                    {"l0 queue", Arg::kHandle},
                                    {"hsa_queue", Arg::kHandle},
                                    {"Task Type", Arg::kTaskType},
                                    {"Type", Arg::kTaskType},
                                    {"connection_id", Arg::kConnection},
                                    {"Record function id", Arg::kRecordFunction},
                                    {"device_id", Arg::kDevice},
                                    {"inDevice", Arg::kDevice},
                                    {"event_id", Arg::kSyncEvent}};

/// Keys are many and few: a table by length, first and last letter, searched from there on.
class KeyTable {
 public:
  constexpr KeyTable() {
    for (const KeyName& key : kKeys) {
      std::size_t at = place(key.name);
      while (!rows_[at].name.empty()) at = (at + 1) % kRows;
      rows_[at] = key;
    }
  }
  Arg find(std::string_view name) const {
    if (name.empty()) return Arg::kCount;
    for (std::size_t at = place(name); !rows_[at].name.empty(); at = (at + 1) % kRows)
      if (rows_[at].name == name) return rows_[at].arg;
    return Arg::kCount;
  }

 private:
  static constexpr std::size_t kRows = 512;
  static constexpr std::size_t place(std::string_view name) {
    return (name.size() * 37 + static_cast<unsigned char>(name.front()) * 11 +
            static_cast<unsigned char>(name.back()) * 5) %
           kRows;
  }
  std::array<KeyName, kRows> rows_{};
};
inline constexpr KeyTable kKeyTable;

/// Refuses depth; takes and forgets the rest.
class SkipHandler : public json::BaseReaderHandler<json::UTF8<>, SkipHandler> {
 public:
  bool StartObject() { return ++depth_ <= kMaxDepth; }
  bool StartArray() { return ++depth_ <= kMaxDepth; }
  bool EndObject(json::SizeType) { return --depth_, true; }
  bool EndArray(json::SizeType) { return --depth_, true; }
  bool Default() { return true; }

 private:
  int depth_ = 0;
};

/// Fills a RawEvent.
class EventHandler : public json::BaseReaderHandler<json::UTF8<>, EventHandler> {
 public:
  EventHandler(RawEvent& event, const json::InsituStringStream& stream)
      : e_(event), stream_(stream) {}

  bool StartObject() {
    if (++depth_ == 2) in_args_ = field_ == Field::kArgs;
    if (depth_ > 2) arg_ = Arg::kCount;
    return depth_ <= kMaxDepth;
  }
  bool EndObject(json::SizeType) {
    if (--depth_ == 1) in_args_ = false;
    return true;
  }
  bool StartArray() {
    if (depth_ == 2 && in_args_) begin_array();
    if (tokens_ != nullptr) tokens_->push_back({ArrayToken::Form::kOpen, {}});
    return ++depth_ <= kMaxDepth;
  }
  bool EndArray(json::SizeType) {
    --depth_;
    if (tokens_ != nullptr) tokens_->push_back({ArrayToken::Form::kClose, {}});
    if (depth_ == 2) end_array();
    return true;
  }
  bool Key(const char* text, json::SizeType bytes, bool) {
    if (depth_ == 1) field_ = field_of({text, bytes});
    if (depth_ == 2 && in_args_) arg_ = kKeyTable.find({text, bytes});
    return true;
  }
  bool String(const char* text, json::SizeType bytes, bool) {
    return value({text, bytes}, RawValue::Form::kText);
  }
  bool RawNumber(const char* text, json::SizeType bytes, bool) {
    return value({text, bytes}, RawValue::Form::kNumber);
  }
  bool Bool(bool is) { return value(is ? "true" : "false", RawValue::Form::kBool); }
  bool Null() { return value({}, RawValue::Form::kNull); }
  bool Default() { return true; }

 private:
  enum class Field { kOther, kPhase, kCategory, kName, kPid, kTid, kTs, kDuration, kId, kArgs };

  static Field field_of(std::string_view key) {
    if (key.size() == 2 && key == "ph") return Field::kPhase;
    if (key.size() == 2 && key == "ts") return Field::kTs;
    if (key.size() == 2 && key == "id") return Field::kId;
    if (key == "cat") return Field::kCategory;
    if (key == "pid") return Field::kPid;
    if (key == "tid") return Field::kTid;
    if (key == "dur") return Field::kDuration;
    if (key == "name") return Field::kName;
    if (key == "args") return Field::kArgs;
    return Field::kOther;
  }

  bool value(std::string_view text, RawValue::Form form) {
    if (depth_ == 1) {
      top_value({text, form});
    } else if (depth_ == 2 && in_args_ && arg_ != Arg::kCount) {
      e_.set(arg_, {text, form});
    } else if (tokens_ != nullptr) {
      tokens_->push_back({form == RawValue::Form::kNumber ? ArrayToken::Form::kNumber
                          : form == RawValue::Form::kText ? ArrayToken::Form::kText
                                                          : ArrayToken::Form::kOther,
                          text});
    } else if (triple_ != nullptr && depth_ == 3 && in_triple_ < 3) {
      (*triple_)[in_triple_++] = parse_int64(text);
    }
    return true;
  }

  void top_value(const RawValue& value) {
    const bool text = value.form == RawValue::Form::kText;
    switch (field_) {
      case Field::kPhase:
        e_.phase = text ? value.text : std::string_view();
        break;
      case Field::kCategory:
        e_.category = text ? value.text : std::string_view();
        break;
      case Field::kName:
        e_.name = text ? value.text : std::string_view();
        break;
      case Field::kPid:
        e_.pid = value;
        break;
      case Field::kTid:
        e_.tid = value;
        break;
      case Field::kTs:
        e_.ts = value;
        break;
      case Field::kDuration:
        e_.duration = value;
        break;
      case Field::kId:
        e_.id = value;
        break;
      default:
        break;
    }
  }

  void begin_array() {
    array_from_ = stream_.src_;
    triple_ = nullptr;
    in_triple_ = 0;
    if (arg_ == Arg::kDims) tokens_ = &e_.dims;
    if (arg_ == Arg::kTypes) tokens_ = &e_.types;
    if (arg_ == Arg::kConcrete) tokens_ = &e_.concrete;
    if (arg_ == Arg::kGrid) triple_ = &e_.grid;
    if (arg_ == Arg::kBlock) triple_ = &e_.block;
    if (tokens_ != nullptr) tokens_->clear();
  }
  void end_array() {
    if (tokens_ != nullptr) {
      const std::size_t which = arg_ == Arg::kDims ? 0 : arg_ == Arg::kTypes ? 1 : 2;
      e_.spans[which] = {array_from_, static_cast<std::size_t>(stream_.src_ - array_from_)};
    }
    tokens_ = nullptr;
    triple_ = nullptr;
  }

  RawEvent& e_;
  const json::InsituStringStream& stream_;
  int depth_ = 0;
  bool in_args_ = false;
  Field field_ = Field::kOther;
  Arg arg_ = Arg::kCount;
  std::vector<ArrayToken>* tokens_ = nullptr;
  std::array<std::optional<std::int64_t>, 3>* triple_ = nullptr;
  std::size_t in_triple_ = 0;
  const char* array_from_ = nullptr;
};

inline void clear(RawEvent& e) {
  e.phase = e.category = e.name = {};
  e.pid = e.tid = e.ts = e.duration = e.id = {};
  e.present = 0;
  e.dims.clear();
  e.types.clear();
  e.concrete.clear();
  e.spans.fill({});
  e.grid.fill({});
  e.block.fill({});
}

}  // namespace gpuprof::importer
