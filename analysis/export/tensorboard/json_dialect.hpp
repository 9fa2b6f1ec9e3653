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

struct JsonDialect {
  std::string_view format;                     // as --format calls it
  std::string_view runtime_call, driver_call;  // categories of launches
  std::string_view user_range;                 // category of the program's own ranges
  bool whole_us;                               // times as whole microseconds, all rounded down
  bool inner_calls;             // a call inside another with its correlation id is drawn
  bool kernels_link_to_record;  // a collective's kernels name record_param_comms, else nccl:…
  bool both_flow_formats;       // arrows to the backward pass in the older spelling, too
  bool always_has_rank;         // a process whose rank is not known gets its place among the files
};

/// What the installed TensorBoard plugin reads.
inline constexpr JsonDialect kTensorboardDialect{
    "tensorboard", "runtime", "runtime", "cpu_op", false, true, false, true, false};
/// What PyTorch's own profiler writes and HTA expects.
inline constexpr JsonDialect kKinetoDialect{
    "kineto", "cuda_runtime", "cuda_driver", "user_annotation", true, false, true, false, true};

}  // namespace gpuprof::exporter
