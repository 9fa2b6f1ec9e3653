// SPDX-License-Identifier: Apache-2.0
//
// Names by id, ready to be written.
//
// Context:  daemon (export thread) | cli
// Owns:     the texts, at most kMaxBytes of them; later ones are cut short
// Promises: what it returns is written as the file wants it, valid UTF-8 and lives as long as the
//           table; of a name that is cut the end tells it from others, and it is counted
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::exporter {

/// Texts behind each other in large pieces: no allocation a text.
class StringArena {
 public:
  std::string_view store(std::string_view text);
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kPieceBytes = 256 * 1024;
  std::vector<std::unique_ptr<char[]>> pieces_;
  std::size_t left_ = 0, bytes_ = 0;
  char* at_ = nullptr;
};

class NameTable {
 public:
  static constexpr std::size_t kMaxBytes = 48u << 20;
  /// Of one name. Demangled names of PyTorch's own kernels have up to 10,000 bytes.
  static constexpr std::size_t kMaxNameBytes = 64u << 10;

  explicit NameTable(TextEncoding texts = TextEncoding::kJsonEscaped) : encoding_(texts) {}

  void define(model::StringId id, std::string_view text);
  /// "(name lost)" for an id never defined.
  std::string_view text(model::StringId id) const;
  /// The same for a linker symbol: demangled where it is mangled.
  std::string_view symbol(model::StringId id);
  /// Names that are not whole so far.
  std::uint64_t truncated_names() const { return cut_; }

 private:
  /// @param whole What tells `text` from others, should it be cut.
  std::string_view store(std::string_view text, std::string_view whole);

  TextEncoding encoding_;
  StringArena arena_;
  std::vector<std::string_view> texts_, symbols_;
  std::uint64_t cut_ = 0;
};

}  // namespace gpuprof::exporter
