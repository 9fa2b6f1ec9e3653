// SPDX-License-Identifier: Apache-2.0
//
// Looks addresses up, and remembers that one was not found.
//
// Context:  signal | callback
// Owns:     the table
#include "inject/sample/jit/jit_code.hpp"

#include "inject/sample/jit/jit_code_table.hpp"

namespace gpuprof::sample {

constinit GeneratedTable g_generated;
constinit std::atomic<std::uint64_t> g_unknown_code{0};

bool is_generated_code(std::uint64_t address) { return g_generated.holds(address); }

void want_generated_code(std::uint64_t address) {
  g_unknown_code.store(address, std::memory_order_relaxed);
}

}  // namespace gpuprof::sample
