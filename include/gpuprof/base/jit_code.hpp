// SPDX-License-Identifier: Apache-2.0
//
// The module path that stands for code generated at run time, which has no file.
//
// Context:  any
#pragma once

namespace gpuprof::base {

/// The path given to executable memory that a run-time compiler has filled (wire::Module::path).
inline constexpr char kJitCodePath[] = "[generated code]";

}  // namespace gpuprof::base
