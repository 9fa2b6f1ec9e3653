// SPDX-License-Identifier: Apache-2.0
//
// What the name of a trace file tells.
//
// Context:  cli through analysis/commands
// Owns:     nothing
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace gpuprof::importer {

/// `HOST_PID` of a file's name, as TensorBoard's plugin takes it apart.
inline std::pair<std::string, std::int64_t> worker_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view suffix : {".gz", ".json", ".trace", ".pt"})
    if (name.ends_with(suffix)) name.erase(name.size() - suffix.size());
  if (const std::size_t dot = name.rfind('.');
      dot != name.npos && name.find_first_not_of("0123456789", dot + 1) == name.npos)
    name.erase(dot);
  const std::size_t underscore = name.rfind('_');
  std::int64_t pid = 0;
  if (underscore == name.npos || underscore == 0) return {{}, 0};
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + underscore + 1, end, pid);
  if (error != std::errc() || at != end) return {{}, 0};
  return {name.substr(0, underscore), pid};
}

}  // namespace gpuprof::importer
