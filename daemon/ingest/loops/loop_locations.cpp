// SPDX-License-Identifier: Apache-2.0
//
// Code objects kept, and lines looked up in their tables.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/loops/loop_locations.hpp"

#include <algorithm>

#include "daemon/ingest/decode/code_names.hpp"
#include "daemon/ingest/decode/code_roles.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::int32_t kUnit = 2;  // bytes of an instruction

bool ends_in(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

void LoopLocations::define(const wire::PyCodeDef& def, const Tail& tail) {
  const auto texts = parse_code_strings(def, tail);
  if (!texts || codes_.contains(def.id)) return;
  if (is_worker_entry_point(texts->file, texts->name)) loader_worker_ = true;
  if (bytes_ + texts->bytes() > most_bytes_) return;
  bytes_ += texts->bytes();
  codes_[def.id] =
      Code{std::string(texts->file), std::string(texts->table), def.first_line, def.py_minor};
}

int LoopLocations::line(const Code& code, std::int32_t offset) const {
  return line_of_ == nullptr ? 0 : line_of_(code.table, code.py_minor, code.first_line, offset);
}

// The head of a `for` is the target of its jump. A `while` tests again before it jumps back, so
// its line is the jump's, and its target is the first line of its body.
LoopLineRange LoopLocations::lines(const wire::LoopDef& loop) const {
  const auto found = codes_.find(loop.code_id);
  if (found == codes_.end()) return {};
  LoopLineRange lines;
  const int target = line(found->second, loop.target_offset);
  const int jump = line(found->second, loop.jump_offset);
  lines.head = target == 0 || jump == 0 ? std::max(target, jump) : std::min(target, jump);
  lines.last = lines.head;
  for (std::int32_t at = loop.target_offset; at <= loop.jump_offset; at += kUnit)
    lines.last = std::max(lines.last, line(found->second, at));
  return lines;
}

std::string LoopLocations::location(const wire::LoopDef& loop) const {
  const auto found = codes_.find(loop.code_id);
  if (found == codes_.end()) return {};
  const int head = lines(loop).head;
  return head == 0 ? found->second.file : found->second.file + ":" + std::to_string(head);
}

bool LoopLocations::in_file(const wire::LoopDef& loop, const std::string& file) const {
  const auto found = codes_.find(loop.code_id);
  if (found == codes_.end() || !ends_in(found->second.file, file)) return false;
  const std::size_t before = found->second.file.size() - file.size();
  return before == 0 || file.front() == '/' || found->second.file[before - 1] == '/';
}

}  // namespace gpuprof::ingest
