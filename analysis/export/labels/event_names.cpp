// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's enumerations in words.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/event_names.hpp"

#include <fmt/format.h>

#include <array>

namespace gpuprof::exporter {
namespace {

template <std::size_t N>
constexpr std::string_view at(const std::array<std::string_view, N>& names, std::size_t index) {
  return index < N ? names[index] : names[0];
}

/// Values of CUPTI's copy, memory and synchronisation enumerations.
constexpr std::array<std::string_view, 11> kCopyKinds = {
    "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array<std::string_view, 8> kMemoryKinds = {
    "Unknown", "Pageable", "Pinned",        "Device",
    "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr std::array<std::string_view, 5> kSyncKinds = {
    "Synchronization", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};

/// CUPTI's overhead kinds: the first as it is, later ones in the upper half word.
constexpr std::array<std::string_view, 9> kOverheads = {"Unknown Overhead",
                                                        "Buffer Flush",
                                                        "Instrumentation",
                                                        "Resource",
                                                        "Runtime Triggered Module Loading",
                                                        "Lazy Function Loading",
                                                        "Command Buffer Full",
                                                        "Activity Buffer Request",
                                                        "UVM Activity Init"};

}  // namespace

std::string_view copy_kind(std::uint32_t kind) { return at(kCopyKinds, kind); }
std::string_view memory_kind(std::uint32_t kind) { return at(kMemoryKinds, kind); }

std::string name_of(const model::MemCopy& copy) {
  return fmt::format("Memcpy {} ({} -> {})", copy_kind(copy.copy_kind), memory_kind(copy.src_kind),
                     memory_kind(copy.dst_kind));
}

std::string name_of(const model::MemSet& set) {
  return fmt::format("Memset ({})", memory_kind(set.memory_kind));
}

std::string name_of(const model::GraphExec& graph) {
  return fmt::format("CUDA graph {}", graph.graph);
}

std::string_view name_of(const model::Sync& sync) { return at(kSyncKinds, sync.type); }

std::string_view name_of(const model::Overhead& overhead) {
  if (overhead.kind == 1) return "Driver Compiler";
  const std::uint32_t index = overhead.kind >> 16;
  return (overhead.kind & 0xffff) == 0 && index < kOverheads.size() ? kOverheads[index]
                                                                    : kOverheads[0];
}

}  // namespace gpuprof::exporter
