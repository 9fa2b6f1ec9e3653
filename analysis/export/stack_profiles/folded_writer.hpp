// SPDX-License-Identifier: Apache-2.0
//
// Lines of stacks and numbers, as flamegraph.pl and its kin read them.
//
// Context:  daemon (export thread) | cli
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

support::Result<WrittenFile> write_folded(const FileRequest& request);

}  // namespace gpuprof::exporter
