// SPDX-License-Identifier: Apache-2.0
//
// Classifier: what ran on devices, waits for them, what tracing cost.
//
// Context:  cli through analysis/commands
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "analysis/export/labels/event_names.hpp"
#include "analysis/import/classify/classify.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::uint32_t kKinds = 16;  // more than any of CUPTI's enumerations that are named

std::uint32_t number_or(std::optional<std::int64_t> value, std::uint32_t otherwise = 0) {
  return value && *value >= 0 && *value <= std::numeric_limits<std::uint32_t>::max()
             ? static_cast<std::uint32_t>(*value)
             : otherwise;
}

/// The kind whose name stands there; 0: unknown.
template <typename Name>
std::uint8_t kind_named(std::string_view text, const Name& name) {
  for (std::uint32_t kind = 1; kind < kKinds; ++kind)
    if (name(kind) == text) return static_cast<std::uint8_t>(kind);
  return 0;
}

/// What stands between two others.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t from = text.find(before);
  if (from == text.npos) return {};
  text.remove_prefix(from + before.size());
  const std::size_t to = text.find(after);
  return to == text.npos ? std::string_view() : text.substr(0, to);
}

struct Word {
  std::string_view text;
  std::uint8_t kind;
};

/// Of an enumeration of CUPTI's, by its own words or by those of other libraries.
template <std::size_t N>
std::uint8_t of_words(std::string_view text, const std::array<Word, N>& words) {
  const auto word =
      std::find_if(words.begin(), words.end(), [&](const Word& one) { return one.text == text; });
  return word == words.end() ? 0 : word->kind;
}

constexpr std::uint8_t kPageable = 1, kPinned = 2, kDevice = 3, kManaged = 5;
constexpr std::uint8_t kHtoD = 1, kDtoH = 2, kDtoD = 8, kHtoH = 9, kPtoP = 10;

std::uint8_t memory_named(std::string_view text) {
  const std::uint8_t kind =
      kind_named(text, [](std::uint32_t one) { return exporter::memory_kind(one); });
  // Level Zero calls what no library allocated "Memory", and its own pinned memory "Host".
  static constexpr std::array<Word, 3> kWords = {
      {{"Memory", kPageable}, {"Shared", kManaged}, {"HOST", kPinned}}};
  return kind != 0 ? kind : of_words(text, kWords);
}

/// `HtoD`, `H2D`, `HostToDevice` and those of Level Zero, where M is memory of the host.
std::uint8_t copy_named(std::string_view name) {
  std::string_view text = name;
  if (text.starts_with("Memcpy ")) text.remove_prefix(7);
  if (text.starts_with("Copy")) text.remove_prefix(4);
  text = text.substr(0, text.find_first_of(" ("));
  const std::uint8_t kind =
      kind_named(text, [](std::uint32_t one) { return exporter::copy_kind(one); });
  static constexpr std::array<Word, 19> kWords = {{{"H2D", kHtoD},
                                                   {"M2D", kHtoD},
                                                   {"HostToDevice", kHtoD},
                                                   {"host2device", kHtoD},
                                                   {"D2H", kDtoH},
                                                   {"D2M", kDtoH},
                                                   {"DeviceToHost", kDtoH},
                                                   {"device2host", kDtoH},
                                                   {"D2D", kDtoD},
                                                   {"S2D", kDtoD},
                                                   {"D2S", kDtoD},
                                                   {"S2S", kDtoD},
                                                   {"DeviceToDevice", kDtoD},
                                                   {"H2H", kHtoH},
                                                   {"M2M", kHtoH},
                                                   {"M2H", kHtoH},
                                                   {"H2M", kHtoH},
                                                   {"HostToHost", kHtoH},
                                                   {"P2P", kPtoP}}};
  return kind != 0 ? kind : of_words(text, kWords);
}

void copy_three(const std::array<std::optional<std::int64_t>, 3>& from, std::uint32_t* to) {
  for (std::size_t i = 0; i < 3; ++i) to[i] = number_or(from[i]);
}

/// No GPU has so much memory, and none moves it so fast: the fastest do 8 kB in 1 ns, and a length
/// in whole microseconds is half of what it was at worst.
bool can_be(std::uint64_t bytes, std::int64_t length_ns) {
  constexpr std::uint64_t kMaxBytes = 1ULL << 50, kMaxBytesPerNs = 100'000;
  return bytes <= kMaxBytes &&
         (length_ns <= 0 || bytes / kMaxBytesPerNs <= static_cast<std::uint64_t>(length_ns));
}

}  // namespace

/// 0: not known.
std::uint64_t Classifier::bytes_moved(const RawEvent& e) {
  const RawValue& reported = e.arg(Arg::kBytesMoved);
  if (!reported.present()) return 0;
  const auto bytes = parse_uint64(reported.text);
  if (bytes && can_be(*bytes, record_.end_ns - record_.start_ns)) return *bytes;
  content_.account.count_repairs(RepairKind::kImplausibleBytes);
  return 0;
}

std::uint32_t Classifier::device_of(const RawEvent& e, const PidTrack& row) const {
  constexpr std::int64_t kMaxDeviceNumber = 4096;
  if (const auto reported = e.integer(Arg::kDevice); reported && *reported >= 0)
    return number_or(reported);
  // Ascend's rows: the process, what the row is, the device.
  if (row.named_role != TrackRole::kUnknown && row.pid >= std::int64_t{1} << kAscendPidShift)
    return number_or(row.pid % kAscendDevices);
  return row.pid >= 0 && row.pid < kMaxDeviceNumber ? number_or(row.pid) : 0;
}

/// Streams have many names; the row is one of them.
std::uint32_t Classifier::stream_of(const RawEvent& e, const PidTrack& row) {
  constexpr std::uint32_t kBesideStreams = 100'000;
  for (const Arg key : {Arg::kStream, Arg::kQueue})
    if (const auto reported = e.integer(key); reported && *reported >= 0)
      return number_or(reported);
  const std::string_view address = e.text(Arg::kHandle);
  if (!address.empty()) return handle(address);
  const std::uint32_t tid = tid_of(e);
  return row.named_role == TrackRole::kCommunication ? tid + kBesideStreams : tid;
}

/// CUPTI's have 32 bits. 0: it tells none.
std::uint32_t Classifier::correlation_of(const RawEvent& e) {
  const auto reported = e.integer(Arg::kCorrelation);
  const auto number = reported ? reported : e.integer(Arg::kConnection);
  if (!number || (*number >= 0 && *number <= 0xffffffff))
    return static_cast<std::uint32_t>(number.value_or(0));
  const auto next = kFirstSyntheticLongId + static_cast<std::uint32_t>(long_ids_.size());
  return long_ids_.try_emplace(*number, next).first->second;
}

bool Classifier::take_gpu(const RawEvent& e, ParsedKind kind) {
  if (start(e, kind, true) == nullptr) return false;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  const PidTrack& row = content_.tracks[record_.process];
  GpuFields& gpu = record_.gpu;
  gpu = {};
  gpu.has_external_id = e.arg(Arg::kExternalId).present() ? 1 : 0;
  gpu.external_id = parse_uint64(e.arg(Arg::kExternalId).text).value_or(0);
  gpu.correlation = correlation_of(e);
  if (gpu.correlation == 0 && gpu.external_id == 0 && kind != ParsedKind::kSync)
    ++content_.without_launch_id;
  gpu.device = device_of(e, row);
  const RawValue& context = e.arg(Arg::kContext);
  gpu.context = context.form == RawValue::Form::kText && context.text.starts_with("0x")
                    ? handle(context.text)
                    : number_or(context.integer());
  const bool all_streams = kind == ParsedKind::kSync && !e.arg(Arg::kQueue).present();
  gpu.stream =
      all_streams ? number_or(e.integer(Arg::kStream), model::kNoObject) : stream_of(e, row);
  gpu.graph = number_or(e.integer(Arg::kGraph));
  gpu.graph_node = parse_uint64(e.arg(Arg::kGraphNode).text).value_or(0);
  gpu.to_device = model::kNoObject;
  return true;
}

void Classifier::take_kernel(const RawEvent& e, bool talks) {
  const bool whole_graph = e.name.starts_with("CUDA graph ") && !e.grid[0];
  if (!take_gpu(e, whole_graph ? ParsedKind::kGraph : ParsedKind::kKernel)) return;
  record_.name = names_.texts.intern(e.name);
  LaunchShape shape;
  copy_three(e.grid, shape.grid);
  copy_three(e.block, shape.block);
  shape.registers = number_or(e.integer(Arg::kRegisters));
  shape.shared_bytes = number_or(e.integer(Arg::kSharedMemory));
  shape.local_bytes = number_or(e.integer(Arg::kLocalMemory));
  shape.channel = number_or(e.integer(Arg::kChannel));
  record_.gpu.shape = names_.shapes.intern(shape);
  record_.gpu.is_collective = talks ? 1 : 0;
  add_current();
}

void Classifier::take_copy(const RawEvent& e) {
  if (!take_gpu(e, ParsedKind::kMemCopy)) return;
  GpuFields& gpu = record_.gpu;
  gpu.bytes = bytes_moved(e);
  gpu.kind = copy_named(e.name);
  gpu.from = memory_named(between(e.name, "(", " -> "));
  gpu.to = memory_named(between(e.name, "-> ", ")"));
  gpu.to_device = number_or(e.integer(Arg::kToDevice), gpu.device);
  if (const auto from = e.integer(Arg::kFromDevice); from && !e.arg(Arg::kDevice).present())
    gpu.device = number_or(from);
  add_current();
}

void Classifier::take_set(const RawEvent& e) {
  if (!take_gpu(e, ParsedKind::kMemSet)) return;
  record_.gpu.bytes = bytes_moved(e);
  // Level Zero names the value before the memory.
  const std::string_view to = between(e.name, "-> ", ")");
  record_.gpu.to = memory_named(to.empty() ? between(e.name, "(", ")") : to);
  add_current();
}

void Classifier::take_sync(const RawEvent& e) {
  if (!take_gpu(e, ParsedKind::kSync)) return;
  constexpr std::uint8_t kStreamWait = 2;  // of CUPTI's: a stream waits for an event
  record_.gpu.kind = kind_named(e.name, [](std::uint32_t kind) {
    model::Sync sync{};
    sync.type = kind;
    return exporter::name_of(sync);
  });
  if (record_.gpu.kind == 0 && e.category != "cuda_sync") record_.gpu.kind = kStreamWait;
  record_.gpu.to_device = number_or(e.integer(Arg::kSyncEvent), model::kNoObject);
  add_current();
}

void Classifier::take_overhead(const RawEvent& e) {
  if (start(e, ParsedKind::kOverhead, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  std::uint32_t kind = number_or(e.integer(Arg::kOverheadKind));
  // Kinds are 1, then multiples of 65536.
  for (std::uint32_t i = 0; kind == 0 && i < kKinds; ++i) {
    model::Overhead one{};
    one.kind = i == 0 ? 1 : i << 16;
    if (exporter::name_of(one) == e.name) kind = one.kind;
  }
  record_.overhead.kind = kind;
  add_current();
}

}  // namespace gpuprof::importer
