// SPDX-License-Identifier: Apache-2.0
//
// OpenFrames.
//
// Context:  cli through analysis/commands
#include "analysis/import/emit/open_frames.hpp"

#include <algorithm>
#include <string>

namespace gpuprof::importer {

std::uint32_t with_line(std::uint32_t text, std::uint32_t file, std::int32_t line,
                        InternedTables& names) {
  const std::string_view shown = names.texts.text(text), where = names.texts.text(file);
  if (line <= 0 || where.empty() || !shown.starts_with(where) || shown.size() <= where.size() ||
      shown[where.size()] != '(')
    return text;
  const std::size_t close = shown.find("): ", where.size());
  if (close == shown.npos) return text;
  std::string moved(where);
  moved += '(' + std::to_string(line);
  moved += shown.substr(close);
  return names.texts.intern(moved);
}

void OpenFrames::pop_to_caller(const FrameFields& frame) {
  if (frame.id == 0 || frame.parent == 0 || open_.empty()) return;
  if (frame.parent == kNoParent) return open_.clear();
  for (std::size_t i = open_.size(); i-- > 0;)
    if (open_[i].id == frame.parent) return open_.resize(i + 1);
}

void OpenFrames::push(const ParsedEvent& r, InternedTables& names) {
  pop_ended(r.start_ns);
  pop_to_caller(r.frame);
  if (open_.size() >= kMaxOpen) return;
  StackNode around = open_.empty() ? 0 : open_.back().node;
  const StackNode modules = open_.empty() ? 0 : open_.back().modules;
  // The caller stood at the line that its call names, not at its first one.
  if (!open_.empty() && open_.back().text != 0 && r.frame.caller_line > 0)
    around = names.ways.child(
        open_.back().around,
        {with_line(open_.back().text, r.frame.caller_file, r.frame.caller_line, names), 0});
  const std::int64_t innermost_end_ns =
      open_.empty() ? r.end_ns : std::min(r.end_ns, open_.back().innermost_end_ns);
  if (r.kind == ParsedKind::kModule) {
    const StackFrame module{0, r.frame.module};
    open_.push_back({r.start_ns, innermost_end_ns, names.ways.child(around, module), around,
                     names.ways.child(modules, module), 0, r.frame.id});
  } else {
    open_.push_back({r.start_ns, innermost_end_ns, names.ways.child(around, {r.name, 0}), around,
                     modules, r.name, r.frame.id});
  }
}

StackNode OpenFrames::stack_at(std::int64_t ns, StackNode own, InternedTables& names) {
  pop_ended(ns);
  if (open_.empty()) return own;
  return own == 0 ? open_.back().node
                  : names.ways.merge_modules(own, open_.back().modules, names.texts);
}

}  // namespace gpuprof::importer
