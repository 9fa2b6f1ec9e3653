// SPDX-License-Identifier: Apache-2.0
//
// A whole file of text: made, filled, closed.
//
// Context:  daemon (export thread) | cli
// Owns:     the file, for the length of one call
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "analysis/export/encoding/gzip_file.hpp"
#include "support/result.hpp"

namespace gpuprof::exporter {

/// Creates `path` (must not exist) and has it filled.
///
/// @param plain Not compressed.
/// @param write Is handed a BufferedWriter&; returns nothing or a Result<void>.
/// @return      Bytes of the file.
template <typename Write>
support::Result<std::uint64_t> write_text_file(const std::string& path, bool plain, Write write) {
  GPUPROF_TRY(file, GzipFile::create(path, plain));
  BufferedWriter text(*file);
  if constexpr (std::is_void_v<decltype(write(text))>) {
    write(text);
  } else {
    GPUPROF_CHECK(write(text));
  }
  text.finish();
  return file->finish();
}

}  // namespace gpuprof::exporter
