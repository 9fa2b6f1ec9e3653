// SPDX-License-Identifier: Apache-2.0
//
// Names of GPU work and waits that have none of their own, spelled as PyTorch's profiler does.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recording/model/events.hpp"

namespace gpuprof::exporter {

/// "HtoD" of a CUPTI copy kind; "Unknown" beyond the list.
std::string_view copy_kind(std::uint32_t kind);
/// "Pageable" of a CUPTI memory kind; "Unknown" beyond the list.
std::string_view memory_kind(std::uint32_t kind);

/// `Memcpy HtoD (Pageable -> Device)`.
std::string name_of(const model::MemCopy& copy);
/// `Memset (Device)`.
std::string name_of(const model::MemSet& set);
/// `CUDA graph 3`.
std::string name_of(const model::GraphExec& graph);
std::string_view name_of(const model::Sync& sync);
std::string_view name_of(const model::Overhead& overhead);

}  // namespace gpuprof::exporter
