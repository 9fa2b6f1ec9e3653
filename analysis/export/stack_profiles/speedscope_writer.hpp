// SPDX-License-Identifier: Apache-2.0
//
// Files for speedscope.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_speedscope(const FileRequest& request);

}  // namespace gpuprof::exporter
