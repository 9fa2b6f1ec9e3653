// SPDX-License-Identifier: Apache-2.0
//
// Files for Perfetto's UI and trace processor.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_perfetto(const FileRequest& request);

}  // namespace gpuprof::exporter
