// SPDX-License-Identifier: Apache-2.0
//
// Classifier: what ran on devices, waits for them, what tracing cost.
//
// Context:  cli through daemon/api
#include <cstring>
#include <limits>

#include "daemon/export/words/event_names.hpp"
#include "daemon/import/classify.hpp"

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

std::uint8_t memory_named(std::string_view text) {
  return kind_named(text, [](std::uint32_t kind) { return exporter::memory_kind(kind); });
}

void copy_three(const std::array<std::optional<std::int64_t>, 3>& from, std::uint32_t* to) {
  for (std::size_t i = 0; i < 3; ++i) to[i] = number_or(from[i]);
}

}  // namespace

bool Classifier::take_gpu(const RawEvent& e, RecordKind kind) {
  if (start(e, kind, true) == nullptr) return false;
  record_.process = kNoProcess;
  GpuRecord& gpu = record_.gpu;
  gpu = {};
  gpu.has_id = e.arg(Arg::kExternalId).given() ? 1 : 0;
  gpu.external_id = unsigned_of(e.arg(Arg::kExternalId).text).value_or(0);
  gpu.correlation = number_or(e.integer(Arg::kCorrelation));
  const auto device = e.integer(Arg::kDevice);
  gpu.device = number_or(device ? device : e.pid.integer());
  gpu.context = number_or(e.integer(Arg::kContext));
  gpu.stream = number_or(e.integer(Arg::kStream), kind == RecordKind::kSync ? model::kNoObject : 0);
  gpu.graph = number_or(e.integer(Arg::kGraph));
  gpu.graph_node = unsigned_of(e.arg(Arg::kGraphNode).text).value_or(0);
  gpu.to_device = model::kNoObject;
  return true;
}

void Classifier::take_kernel(const RawEvent& e) {
  const bool whole_graph = e.name.starts_with("CUDA graph ") && !e.grid[0];
  if (!take_gpu(e, whole_graph ? RecordKind::kGraph : RecordKind::kKernel)) return;
  record_.name = names_.texts.intern(e.name);
  Shape shape;
  copy_three(e.grid, shape.grid);
  copy_three(e.block, shape.block);
  shape.registers = number_or(e.integer(Arg::kRegisters));
  shape.shared_bytes = number_or(e.integer(Arg::kSharedMemory));
  shape.local_bytes = number_or(e.integer(Arg::kLocalMemory));
  shape.channel = number_or(e.integer(Arg::kChannel));
  record_.gpu.shape = names_.shapes.intern(shape);
  keep();
}

void Classifier::take_copy(const RawEvent& e) {
  if (!take_gpu(e, RecordKind::kMemCopy)) return;
  GpuRecord& gpu = record_.gpu;
  gpu.bytes = unsigned_of(e.arg(Arg::kBytesMoved).text).value_or(0);
  gpu.kind = kind_named(between(e.name, "Memcpy ", " ("),
                        [](std::uint32_t kind) { return exporter::copy_kind(kind); });
  gpu.from = memory_named(between(e.name, "(", " -> "));
  gpu.to = memory_named(between(e.name, "-> ", ")"));
  gpu.to_device = number_or(e.integer(Arg::kToDevice), gpu.device);
  if (const auto from = e.integer(Arg::kFromDevice); from && !e.arg(Arg::kDevice).given())
    gpu.device = number_or(from);
  keep();
}

void Classifier::take_set(const RawEvent& e) {
  if (!take_gpu(e, RecordKind::kMemSet)) return;
  record_.gpu.bytes = unsigned_of(e.arg(Arg::kBytesMoved).text).value_or(0);
  record_.gpu.to = memory_named(between(e.name, "(", ")"));
  keep();
}

void Classifier::take_sync(const RawEvent& e) {
  if (!take_gpu(e, RecordKind::kSync)) return;
  record_.gpu.kind = kind_named(e.name, [](std::uint32_t kind) {
    model::Sync sync{};
    sync.type = kind;
    return exporter::name_of(sync);
  });
  record_.gpu.to_device = number_or(e.integer(Arg::kSyncEvent), model::kNoObject);
  keep();
}

void Classifier::take_overhead(const RawEvent& e) {
  if (start(e, RecordKind::kOverhead, true) == nullptr) return;
  record_.process = kNoProcess;
  record_.tid = tid_of(e);
  std::uint32_t kind = number_or(e.integer(Arg::kOverheadKind));
  // Kinds are 1, then multiples of 65536.
  for (std::uint32_t i = 0; kind == 0 && i < kKinds; ++i) {
    model::Overhead one{};
    one.kind = i == 0 ? 1 : i << 16;
    if (exporter::name_of(one) == e.name) kind = one.kind;
  }
  record_.overhead.kind = kind;
  keep();
}

}  // namespace gpuprof::importer
