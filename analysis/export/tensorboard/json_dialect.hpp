// SPDX-License-Identifier: Apache-2.0
//
// What differs between the files of one trace for different readers.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
// Not here: everything they have in common (tensorboard_*.cpp)
#pragma once

#include <string_view>

namespace gpuprof::exporter {

struct Spelling {
  std::string_view format;                     // as --format calls it
  std::string_view runtime_call, driver_call;  // categories of launches
  std::string_view own_range;                  // category of the program's own ranges
  bool whole_us;                               // times as whole microseconds, all rounded down
  bool inner_calls;           // a call inside another with its correlation id is drawn
  bool collective_by_record;  // a collective's kernels name record_param_comms, else nccl:…
  bool both_arrows;           // arrows to the backward pass in the older spelling, too
  bool always_ranked;         // a process whose rank is not known gets its place among the files
};

/// What the installed TensorBoard plugin reads.
inline constexpr Spelling kTensorboardSpelling{"tensorboard", "runtime", "runtime", "cpu_op", false,
                                               true,          false,     true,      false};
/// What PyTorch's own profiler writes and HTA expects.
inline constexpr Spelling kKinetoSpelling{
    "kineto", "cuda_runtime", "cuda_driver", "user_annotation", true, false, true, false, true};

}  // namespace gpuprof::exporter
