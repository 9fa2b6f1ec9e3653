// SPDX-License-Identifier: Apache-2.0
//
// Names that --format accepts, for the CLI's help and validation.
//
// Context:  cli
// Owns:     nothing
// Not here: the formats (daemon/export)
#pragma once

#include <string>
#include <vector>

namespace gpuprof::api {

std::vector<std::string> format_names();

}  // namespace gpuprof::api
