// SPDX-License-Identifier: Apache-2.0
//
// Looks addresses up, and remembers that one was not found.
//
// Context:  signal | callback
// Owns:     the table
#include "inject/sample/jit/jit_code.hpp"

#include "inject/sample/jit/jit_code_table.hpp"

namespace gpuprof::sample {

constinit JitCodeTable g_jit_code;
constinit std::atomic<std::uint64_t> g_unknown_pc{0};

bool is_jit_code(std::uint64_t address) { return g_jit_code.holds(address); }

void request_jit_scan(std::uint64_t address) {
  g_unknown_pc.store(address, std::memory_order_relaxed);
}

}  // namespace gpuprof::sample
