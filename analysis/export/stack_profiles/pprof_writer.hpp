// SPDX-License-Identifier: Apache-2.0
//
// Files for pprof and what else reads its profiles.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_pprof(const FileRequest& request);

}  // namespace gpuprof::exporter
