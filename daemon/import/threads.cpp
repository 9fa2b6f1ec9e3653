// SPDX-License-Identifier: Apache-2.0
//
// OpenFrames.
//
// Context:  cli through daemon/api
#include "daemon/import/threads.hpp"

#include <string>

namespace gpuprof::importer {

std::uint32_t at_line(std::uint32_t text, std::uint32_t file, std::int32_t line, Names& names) {
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

void OpenFrames::enter(const Record& r, Names& names) {
  leave(r.start_ns);
  if (open_.size() >= kMaxOpen) return;
  Node around = open_.empty() ? 0 : open_.back().node;
  const Node modules = open_.empty() ? 0 : open_.back().modules;
  // The caller stood at the line that its call names, not at its first one.
  if (!open_.empty() && open_.back().text != 0 && r.frame.caller_line > 0)
    around = names.ways.enter(
        open_.back().around,
        {at_line(open_.back().text, r.frame.caller_file, r.frame.caller_line, names), 0});
  if (r.kind == RecordKind::kModule) {
    const Frame module{0, r.frame.module};
    open_.push_back({r.start_ns, r.end_ns, names.ways.enter(around, module), around,
                     names.ways.enter(modules, module), 0});
  } else {
    open_.push_back(
        {r.start_ns, r.end_ns, names.ways.enter(around, {r.name, 0}), around, modules, r.name});
  }
}

Node OpenFrames::stack_at(std::int64_t ns, Node own, Names& names) {
  leave(ns);
  if (open_.empty()) return own;
  return own == 0 ? open_.back().node
                  : names.ways.with_modules(own, open_.back().modules, names.texts);
}

}  // namespace gpuprof::importer
