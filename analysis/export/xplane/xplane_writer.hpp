// SPDX-License-Identifier: Apache-2.0
//
// XPlane files, for xprof (TensorBoard's Profile plugin).
//
// Context:  daemon (export thread) | cli
// Not here: planes and rows (xplane_builders.hpp), what is in the tables (docs/formats.md)
#pragma once

#include "analysis/export/prescan/file_request.hpp"

namespace gpuprof::exporter {

/// Errors: as of every format; events beyond XplanePlane::kMaxEvents are left out and reported.
support::Result<WrittenFile> write_xplane(const FileRequest& request);

}  // namespace gpuprof::exporter
