// SPDX-License-Identifier: Apache-2.0
//
// Reports to the daemon which modules appeared and which are gone.
//
// Context:  worker
#pragma once

#include <cstdint>

#include "inject/sample/modules/module_snapshot.hpp"

namespace gpuprof::sample {

/// Sends what differs between two snapshots; `before` null: everything is new.
void report_modules(const Snapshot* before, const Snapshot* after, std::uint64_t now_ns);

/// Reports that a part of a module's file, from `offset` on, is mapped at [begin, end) as well.
void report_remapped_code(const SnapshotModule& module, std::uint64_t begin, std::uint64_t end,
                          std::uint64_t offset, std::uint64_t now_ns);

}  // namespace gpuprof::sample
