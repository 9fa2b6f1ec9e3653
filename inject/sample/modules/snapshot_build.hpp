// SPDX-License-Identifier: Apache-2.0
//
// Makes a snapshot from the loader's list.
//
// Context:  worker
#pragma once

#include "inject/sample/modules/module_snapshot.hpp"

namespace gpuprof::sample {

/// Copies the loader's list of modules into one new mapping. Null: no memory.
Snapshot* build_snapshot();

}  // namespace gpuprof::sample
