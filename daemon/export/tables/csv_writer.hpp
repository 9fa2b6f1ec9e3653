// SPDX-License-Identifier: Apache-2.0
//
// Files for spreadsheets and data frames: one line an event.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "daemon/export/survey/file.hpp"

namespace gpuprof::exporter {

support::Result<FileWritten> write_csv(const FileRequest& request);

}  // namespace gpuprof::exporter
