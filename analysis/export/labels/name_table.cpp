// SPDX-License-Identifier: Apache-2.0
//
// NameTable and its arena.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/name_table.hpp"

#include <cstring>
#include <string>

#include "gpuprof/base/bytes.hpp"
#include "recording/model/truncated_name.hpp"
#include "support/text/demangle.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kLost = "(name lost)";
/// Ids are dense; a spool that claims one beyond this is damaged.
constexpr model::StringId kMaxNameId = 4'000'000;
/// Of one name, once the table is full.
constexpr std::size_t kLateNameBytes = 64;

}  // namespace

std::string_view StringArena::store(std::string_view text) {
  if (text.size() > left_) {
    const std::size_t piece = std::max(kPieceBytes, text.size());
    pieces_.push_back(std::make_unique<char[]>(piece));
    at_ = pieces_.back().get();
    left_ = piece;
    bytes_ += piece;
  }
  char* const kept = at_;
  if (!text.empty()) std::memcpy(kept, text.data(), text.size());
  at_ += text.size();
  left_ -= text.size();
  return {kept, text.size()};
}

std::string_view NameTable::store(std::string_view text, std::string_view whole) {
  const std::size_t most = arena_.bytes() < kMaxBytes ? kMaxNameBytes : kLateNameBytes;
  if (text.size() <= most) return arena_.store(encode_text(encoding_, text, most));
  ++cut_;
  return arena_.store(encode_text(encoding_, text, most) +
                      model::truncation_suffix(base::hash_bytes(whole.data(), whole.size())));
}

void NameTable::define(model::StringId id, std::string_view text) {
  if (id > kMaxNameId) return;
  if (id >= texts_.size()) texts_.resize(std::max<std::size_t>(id + 1, texts_.size() * 2));
  texts_[id] = store(text, text);
}

std::string_view NameTable::text(model::StringId id) const {
  // A name may be empty; what was never defined has no data at all.
  return id < texts_.size() && texts_[id].data() != nullptr ? texts_[id] : kLost;
}

std::string_view NameTable::symbol(model::StringId id) {
  if (id >= texts_.size() || texts_[id].substr(0, 2) != "_Z") return text(id);
  if (id >= symbols_.size()) symbols_.resize(texts_.size());
  if (symbols_[id].data() == nullptr)
    symbols_[id] = store(support::demangle(std::string(texts_[id]).c_str()), texts_[id]);
  return symbols_[id];
}

}  // namespace gpuprof::exporter
