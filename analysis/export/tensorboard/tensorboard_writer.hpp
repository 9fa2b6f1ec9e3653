// SPDX-License-Identifier: Apache-2.0
//
// One process and one window as a file of the TensorBoard PyTorch profiler plugin.
//
// Context:  daemon (export thread) | cli
// Promises: two passes over the spool, memory independent of the number of events
// Not here: where the file goes (write_window.cpp)
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_tensorboard(const FileRequest& request);
/// The same as PyTorch's own profiler spells it, for HTA and other readers of its files.
support::Result<WrittenFile> write_kineto(const FileRequest& request);

}  // namespace gpuprof::exporter
