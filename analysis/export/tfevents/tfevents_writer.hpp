// SPDX-License-Identifier: Apache-2.0
//
// Scalars of each step, for TensorBoard's Time Series and Scalars tabs.
//
// Context:  daemon (export thread) | cli
// Not here: how they are found out (step_scalars.hpp), framing (tfrecord.hpp)
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_tfevents(const FileRequest& request);

}  // namespace gpuprof::exporter
