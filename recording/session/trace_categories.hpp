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

namespace gpuprof::api {

struct TraceWord {
  const char* word;
  std::uint32_t bit;
};

inline constexpr std::array kTraceWords = {
    TraceWord{"cuda", wire::kTraceCuda}, TraceWord{"nvtx", wire::kTraceNvtx},
    TraceWord{"torch", wire::kTraceTorch}, TraceWord{"python", wire::kTracePython},
    TraceWord{"native", wire::kTraceNative}};

/// `cuda,nvtx` for its bits; "" for none.
inline std::string trace_list(std::uint32_t bits) {
  std::string list;
  for (const TraceWord& word : kTraceWords)
    if ((bits & word.bit) != 0) list += (list.empty() ? "" : ",") + std::string(word.word);
  return list;
}

}  // namespace gpuprof::api
