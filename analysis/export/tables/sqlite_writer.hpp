// SPDX-License-Identifier: Apache-2.0
//
// Files for SQL: tables as docs/formats-others.md lists them.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_sqlite(const FileRequest& request);

}  // namespace gpuprof::exporter
