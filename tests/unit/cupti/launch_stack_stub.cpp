// SPDX-License-Identifier: Apache-2.0
//
// Stands in for inject/sample: tests of this component are not about unwinding.
//
// Context:  tests
#include "inject/sample/unwind/launch_stack.hpp"

namespace gpuprof::sample {

std::uint64_t capture_launch_stack(const hot::Guard&, std::uint64_t, std::uint64_t) { return 4711; }

}  // namespace gpuprof::sample
