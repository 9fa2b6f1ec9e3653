// SPDX-License-Identifier: Apache-2.0
//
// Parses the strings behind the body of a PyCodeDef record: file, name and line table.
//
// Context:  daemon (ingest thread); pure
// Owns:     nothing
// Promises: nothing outside of the tail is looked at
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/ingest/decode/decoder.hpp"

namespace gpuprof::ingest {

/// Borrowed from the tail.
struct CodeStrings {
  std::string_view file, name, table;
  std::size_t bytes() const { return file.size() + name.size() + table.size(); }
};

/// None: they are longer than the tail, the record is malformed.
inline std::optional<CodeStrings> parse_code_strings(const wire::PyCodeDef& def, const Tail& tail) {
  const std::uint64_t lengths = std::uint64_t{def.file_bytes} + def.name_bytes + def.table_bytes;
  if (lengths > tail.bytes) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(tail.data), lengths);
  return CodeStrings{text.substr(0, def.file_bytes), text.substr(def.file_bytes, def.name_bytes),
                     text.substr(std::uint64_t{def.file_bytes} + def.name_bytes)};
}

}  // namespace gpuprof::ingest
