// SPDX-License-Identifier: Apache-2.0
//
// Classifier: operators, ranges, steps, frames of Python, calls, memory.
//
// Context:  cli through analysis/commands
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "analysis/export/labels/event_counters.hpp"
#include "analysis/export/labels/operator_names.hpp"
#include "analysis/import/classify/classify.hpp"
#include "analysis/import/classify/inputs_encoder.hpp"
#include "gpuprof/base/bytes.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::string_view kModulePrefix = "nn.Module: ";
/// gpuprof writes ranges named like steps with this in front.
constexpr std::string_view kShownRange = "range ";
/// gpuprof numbers its steps from here on, beside the ids of operators.
constexpr std::uint64_t kStepIdOffset = 1ULL << 48;
constexpr unsigned kDeviceShift = 48;
constexpr std::int64_t kDeviceSpaces = 31;
/// NVTX payload types of a range's number.
enum : std::uint8_t { kI64 = 2, kF64 = 3 };

std::uint32_t as_u32(std::optional<std::int64_t> value) {
  return value && *value >= 0 && *value <= std::numeric_limits<std::uint32_t>::max()
             ? static_cast<std::uint32_t>(*value)
             : 0;
}

std::uint32_t source_of(std::string_view name) {
  for (std::uint32_t source = 1; source < 16; ++source)
    if (exporter::name_of(static_cast<exporter::StepOrigin>(source)) == name && !name.empty())
      return source;
  return 0;
}

/// A path of Windows whose backslashes nobody escaped may hold what looks like escapes:
/// `lib\new.py` came as `lib`, a line's end and `ew.py`. No path has such characters.
std::string path_as_written(std::string_view name, std::uint64_t& backslashes) {
  constexpr std::string_view kEscaped = "\b\f\n\r\t", kLetters = "bfnrt";
  std::string path;
  for (const char c : name) {
    const std::size_t at = kEscaped.find(c);
    backslashes += at == kEscaped.npos ? 0 : 1;
    path += at == kEscaped.npos ? std::string(1, c) : std::string{'\\', kLetters[at]};
  }
  return path;
}

/// `path(line): function` with characters of control in it and no path of another system.
bool has_escapes_by_chance(std::string_view name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  return std::any_of(name.begin(), name.end(), control) && name.find('/') == name.npos &&
         name.find(".py(") != name.npos;
}

std::uint8_t scope_of(std::string_view name, bool own_range, bool backward) {
  if (backward) return model::kScopeBackward;
  const exporter::OpKind kind = exporter::classify_operator(name);
  const bool user = own_range || kind == exporter::OpKind::kUserAnnotation;
  return user ? model::kScopeUser : 0;
}

}  // namespace

std::uint32_t Classifier::inputs(const RawEvent& e) {
  if (e.spans[0].empty() && e.spans[1].empty()) return 0;
  const bool collective = e.name == "record_param_comms";
  std::uint64_t hash = collective ? 1 : 0;
  for (const std::string_view span : e.spans)
    hash = base::hash_pair(hash, base::hash_bytes(span.data(), span.size()), span.size());
  if (collective)
    for (const Arg key : {Arg::kCollective, Arg::kGroupName, Arg::kGroupDescription, Arg::kSeq})
      hash = base::hash_pair(hash, base::hash_bytes(e.arg(key).text.data(), e.arg(key).text.size()),
                             static_cast<std::uint64_t>(key));
  content_.any_inputs = true;
  if (const model::InputsId known = names_.inputs.find_by_text(hash); known != 0) return known;
  const auto words = encode_inputs(e, collective);
  const std::uint32_t flags = e.is_true(Arg::kMoreInputs) ? model::kInputsTruncated : 0;
  const model::InputsId id = names_.inputs.add(words, flags);
  if (id != 0) names_.inputs.remember(hash, id);
  return id;
}

void Classifier::range_details(const RawEvent& e, OperatorFields& op) {
  op.inputs = names_.texts.intern(e.text(Arg::kDomain));
  op.forward_tid = as_u32(e.integer(Arg::kCategory));
  const RawValue& payload = e.arg(Arg::kPayload);
  if (payload.form == RawValue::Form::kNumber) {
    if (const auto whole = payload.integer()) {
      op.payload = static_cast<std::uint64_t>(*whole);
      op.payload_type = kI64;
    } else if (const auto value = parse_double(payload.text)) {
      op.payload = std::bit_cast<std::uint64_t>(*value);
      op.payload_type = kF64;
    }
  }
  std::uint32_t flags = op.flags;
  if (e.is_true(Arg::kUnfinished)) flags |= model::kRangeUnfinished;
  if (e.is_true(Arg::kNoBegin)) flags |= model::kRangeNoBegin;
  op.flags = static_cast<std::uint16_t>(flags);
}

void Classifier::take_operator(const RawEvent& e, ParsedKind kind, bool own_range) {
  const auto id = parse_uint64(e.arg(Arg::kExternalId).text).value_or(0);
  if (kind == ParsedKind::kOperator && exporter::is_profiler_step(e.name)) {
    std::uint64_t label = 0;
    const std::string_view digits = e.name.substr(exporter::kProfilerStepPrefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), label);
    return take_step(e, label);
  }
  // Stands for a window without operators, in gpuprof's files.
  if (e.category == "python" && e.name == "capture" && id == kStepIdOffset - 1) return;
  const bool range = e.arg(Arg::kDomain).present() || e.arg(Arg::kPayload).present() ||
                     e.arg(Arg::kCategory).present() || e.arg(Arg::kNoBegin).present();
  if (range) kind = ParsedKind::kRange;
  if (start(e, kind, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  std::string_view name = e.name;
  if (const std::string_view own = e.text(Arg::kPyTorchName); !own.empty()) name = own;
  if (name.starts_with(kShownRange) &&
      name.substr(kShownRange.size()).starts_with(exporter::kProfilerStepPrefix))
    name.remove_prefix(kShownRange.size());
  record_.name = names_.texts.intern(name);
  OperatorFields& op = record_.op;
  op = {};
  op.external_id = id;
  op.end_tid = record_.tid;
  op.sequence = e.integer(Arg::kSequence).value_or(-1);
  op.stack = names_.ways.intern_line(e.text(Arg::kCallStack), names_.texts);
  if (kind == ParsedKind::kRange) {
    range_details(e, op);
  } else {
    op.forward_tid = as_u32(e.integer(Arg::kForwardThread));
    op.scope = scope_of(name, own_range, op.forward_tid != 0);
    op.inputs = inputs(e);
    op.record_id = parse_uint64(e.arg(Arg::kRecordFunction).text).value_or(0);
    std::uint32_t flags = e.is_true(Arg::kUnfinished) ? model::kRangeUnfinished : 0;
    if (kind_of(e.category) == EventCategory::kCollective) flags |= model::kOpCollective;
    op.flags = static_cast<std::uint16_t>(flags);
  }
  add_current();
}

void Classifier::take_step(const RawEvent& e, std::uint64_t label) {
  if (start(e, ParsedKind::kStep, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  const auto id = parse_uint64(e.arg(Arg::kExternalId).text).value_or(0);
  const bool ours = e.arg(Arg::kSource).present();
  const auto confidence = parse_double(e.arg(Arg::kConfidence).text);
  StepFields& step = record_.step;
  step = {};
  step.label = label;
  step.number = ours && id >= kStepIdOffset ? id - kStepIdOffset : ~0ULL;
  if (step.number != ~0ULL && !content_.steps_known) {
    content_.steps_known = true;
    content_.label_minus_number = label - step.number;
  }
  step.source = ours ? source_of(e.text(Arg::kSource))
                     : static_cast<std::uint32_t>(exporter::StepOrigin::kUser);
  step.confidence = confidence && *confidence >= 0 && *confidence <= 1
                        ? static_cast<std::uint32_t>(std::lround(*confidence * 100))
                        : 100;
  step.where = names_.texts.intern(e.text(Arg::kWhere));
  // The program's own range of that name is an operator like others.
  record_.is_also_operator =
      step.source == static_cast<std::uint32_t>(exporter::StepOrigin::kUser) ? 1 : 0;
  record_.name = names_.texts.intern(e.name);
  // gpuprof writes each once.
  ours ? add_current() : add_step(e);
}

void Classifier::take_frame(const RawEvent& e) {
  const bool module = e.name.starts_with(kModulePrefix);
  if (start(e, module ? ParsedKind::kModule : ParsedKind::kFrame, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  FrameFields& frame = record_.frame;
  frame = {};
  frame.id = as_u32(e.integer(Arg::kPythonId));
  const RawValue& parent = e.arg(Arg::kPythonParent);
  const bool reported = frame.id != 0 && parent.form != RawValue::Form::kNone;
  frame.parent = as_u32(parent.integer());
  if (reported && !parent.present()) frame.parent = kNoParent;
  if (module) {
    const auto object = e.integer(Arg::kModuleId);
    frame.module =
        names_.modules.find(e.name.substr(kModulePrefix.size()), object.value_or(-1), names_.texts);
    frame.is_inferred = e.integer(Arg::kApprox).value_or(0) != 0;
  } else {
    content_.any_frames = true;
    if (has_escapes_by_chance(e.name)) {
      std::uint64_t backslashes = 0;
      record_.name = names_.texts.intern(path_as_written(e.name, backslashes));
      content_.account.count_repairs(RepairKind::kBackslash, backslashes);
    } else {
      record_.name = names_.texts.intern(e.name);
    }
  }
  const std::string_view from = e.text(Arg::kCallFrom);
  if (const std::size_t colon = from.rfind(':'); colon != from.npos) {
    frame.caller_line = static_cast<std::int32_t>(as_u32(parse_int64(from.substr(colon + 1))));
    frame.caller_file = names_.texts.intern(from.substr(0, colon));
  }
  add_current();
}

void Classifier::take_call(const RawEvent& e, EventCategory kind) {
  if (start(e, ParsedKind::kCall, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  record_.name = names_.texts.intern(e.name);
  ApiCallFields& call = record_.call;
  call = {};
  call.has_external_id = e.arg(Arg::kExternalId).present() ? 1 : 0;
  call.external_id = parse_uint64(e.arg(Arg::kExternalId).text).value_or(0);
  call.correlation = correlation_of(e);
  call.cbid = as_u32(e.integer(Arg::kCbid));
  if (const auto result = e.integer(Arg::kResult); result && std::abs(*result) < 1'000'000)
    call.result = static_cast<std::int32_t>(*result);
  const bool driver = kind == EventCategory::kDriver || e.text(Arg::kApi) == "driver";
  call.inner = kind == EventCategory::kNestedCall ? 1 : 0;
  call.api = static_cast<std::uint8_t>(driver ? model::kApiDriver : model::kApiRuntime);
  call.stack = names_.ways.intern_line(e.text(Arg::kCallStack), names_.texts);
  add_current();
}

void Classifier::take_memory(const RawEvent& e) {
  const auto bytes = e.integer(Arg::kBytes), type = e.integer(Arg::kDeviceType);
  if (!bytes || !type || *type < 0 || *type > 1000) return skip(e, SkipReason::kMissingArgs);
  if (start(e, ParsedKind::kAllocation, false) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  AllocationFields& a = record_.allocation;
  a = {};
  a.bytes = *bytes;
  a.address = parse_uint64(e.arg(Arg::kAddress).text).value_or(0);
  a.allocated = static_cast<std::uint64_t>(
      std::max<std::int64_t>(e.integer(Arg::kTotalAllocated).value_or(0), 0));
  a.reserved = static_cast<std::uint64_t>(
      std::max<std::int64_t>(e.integer(Arg::kTotalReserved).value_or(0), 0));
  // c10's numbers of what has memory of its own: HIP, XPU, MPS, HPU, MTIA, PrivateUse1.
  const bool accelerator =
      *type == 6 || *type == 12 || *type == 13 || *type == 18 || *type == 19 || *type == 20;
  a.device_type = accelerator ? 1 : static_cast<std::int32_t>(*type);
  const std::int64_t device = e.integer(Arg::kDeviceId).value_or(-1);
  a.device = device >= -1 && device < 1 << 20 ? static_cast<std::int32_t>(device) : -1;
  // gpuprof moves addresses of each device apart; no process has such addresses itself.
  if (*type != 0 && a.device >= 0 &&
      a.address >> kDeviceShift == static_cast<std::uint64_t>(a.device % kDeviceSpaces + 1))
    a.address &= (1ULL << kDeviceShift) - 1;
  add_current();
}

}  // namespace gpuprof::importer
