// SPDX-License-Identifier: Apache-2.0
//
// The words of --trace and the bits they stand for.
//
// Context:  cli; pure
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::recording {

struct TraceCategory {
  const char* word;
  std::uint32_t bit;
};

inline constexpr std::array kTraceCategories = {
    TraceCategory{"cuda", wire::kTraceCuda}, TraceCategory{"nvtx", wire::kTraceNvtx},
    TraceCategory{"torch", wire::kTraceTorch}, TraceCategory{"python", wire::kTracePython},
    TraceCategory{"native", wire::kTraceNative}};

/// `cuda,nvtx` for its bits; "" for none.
inline std::string category_list(std::uint32_t bits) {
  std::string list;
  for (const TraceCategory& word : kTraceCategories)
    if ((bits & word.bit) != 0) list += (list.empty() ? "" : ",") + std::string(word.word);
  return list;
}

}  // namespace gpuprof::recording
