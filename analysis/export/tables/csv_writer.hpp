// SPDX-License-Identifier: Apache-2.0
//
// Files for spreadsheets and data frames: one line an event.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_csv(const FileRequest& request);

}  // namespace gpuprof::exporter
