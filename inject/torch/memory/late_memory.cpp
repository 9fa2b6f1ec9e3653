// SPDX-License-Identifier: Apache-2.0
//
// One set of replacements.
//
// Context:  worker
#include "inject/torch/memory/late_memory.hpp"

#include "inject/hot/outbox.hpp"
#include "inject/messages/torch.hpp"

namespace gpuprof::torch {
namespace {

constinit got::Patches g_reports(kMemoryWrappers);

bool is_late() { return kMemoryWrappers != nullptr && !got::is_preloaded(); }

}  // namespace

void hook_memory_reports() {
  if (is_late()) g_reports.apply();
}

void unhook_memory_reports() {
  if (kMemoryWrappers != nullptr) g_reports.restore();
}

void report_late_memory() {
  hot::send_notice(wire::Feature::kTorch, wire::NoticeLevel::kMissing, 0,
                   messages::torch::kNoCpuMemory);
}

}  // namespace gpuprof::torch
