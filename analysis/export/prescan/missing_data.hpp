// SPDX-License-Identifier: Apache-2.0
//
// What a file lacks and why, in sentences.
//
// Context:  daemon (export thread) | cli
#pragma once

#include <string>
#include <vector>

#include "analysis/export/prescan/prescan.hpp"

namespace gpuprof::exporter {

/// For people: one sentence each, the weightiest first.
std::vector<std::string> missing_data_messages(const Prescan& prescan);

}  // namespace gpuprof::exporter
