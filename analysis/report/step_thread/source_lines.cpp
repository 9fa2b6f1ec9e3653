// SPDX-License-Identifier: Apache-2.0
//
// Reads a program's lines and tells those that do something from the others.
//
// Context:  cli
#include "analysis/report/step_thread/source_lines.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace gpuprof::report::advice {
namespace {

std::string_view stripped(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

std::size_t indent(std::string_view line) { return line.find_first_not_of(" \t"); }

bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// A call of one of these names, as a whole word.
bool calls(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const bool begins = at == 0 || !is_word(line[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && end < line.size() && line[end] == '(') return true;
  }
  return false;
}

bool waits(std::string_view line) {
  constexpr std::array<std::string_view, 22> kNames = {
      "sleep", "wait", "join",  "acquire", "recv",  "poll",       "select", "input",
      "open",  "read", "write", "flush",   "print", "system",     "run",    "urlopen",
      "dump",  "save", "load",  "request", "fsync", "communicate"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return calls(line, name); });
}

/// Says nothing of its own: blank, a comment, the head of a block without a call, a closing
/// bracket.
bool is_idle(std::string_view line) {
  const std::string_view text = stripped(line);
  if (text.empty() || text.front() == '#') return true;
  if (text.find_first_not_of(")]},") == std::string_view::npos) return true;
  return text == "else:" || text == "try:" || text == "finally:" || text == "pass" ||
         text == "continue" || text == "break";
}

bool is_loop_head(std::string_view line) {
  const std::string_view text = stripped(line);
  return text.starts_with("for ") || text.starts_with("while ") || text.starts_with("async for ");
}

/// Reads a clock, or only asks whether.
bool is_slight(std::string_view line) {
  const std::string_view text = stripped(line);
  if (calls(text, "perf_counter_ns") || calls(text, "perf_counter") || calls(text, "monotonic") ||
      calls(text, "time") || calls(text, "time_ns") || calls(text, "monotonic_ns"))
    return true;
  return text.find('(') == std::string_view::npos;
}

}  // namespace

const std::vector<std::string>& SourceLines::lines_of(const std::string& file) {
  const auto [at, unread] = files_.try_emplace(file);
  if (!unread) return at->second;
  struct stat facts {};
  if (!file.ends_with(".py") || stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      static_cast<std::uint64_t>(facts.st_size) > kMaxBytes)
    return at->second;
  const std::uint64_t changed_ns =
      static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
      static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
  if (recorded_real_ns_ == 0 || changed_ns > recorded_real_ns_) return at->second;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) at->second.push_back(std::move(line));
  return at->second;
}

SourceLines::LineSpan SourceLines::lines_between(const std::string& file, int before, int after) {
  const std::vector<std::string>& lines = lines_of(file);
  const int count = static_cast<int>(lines.size());
  if (before < 1 || after < 1 || before > count || after > count) {
    if (after > before + 1) return {before + 1, after - 1, false, false};
    return {before, before, false, false};
  }
  const auto line = [&](int number) {
    return std::string_view(lines[static_cast<std::size_t>(number - 1)]);
  };
  int end = after;
  if (after < before) {  // a loop went round: to the end of its block
    const std::size_t level = indent(line(after)) + (is_loop_head(line(after)) ? 1 : 0);
    for (end = before + 1; end <= count; ++end)
      if (!stripped(line(end)).empty() && indent(line(end)) < level) break;
  }
  LineSpan span{0, 0, false, true};
  LineSpan slight{0, 0, false, true};
  for (int number = before + 1; number < end; ++number) {
    if (is_idle(line(number))) continue;
    if (waits(line(number))) return {number, number, true, true};
    LineSpan& to = is_slight(line(number)) ? slight : span;
    if (to.first == 0) to.first = number;
    to.last = number;
  }
  if (span.first != 0) return span;
  if (slight.first != 0) return slight;
  return {before, before, false, true};
}

}  // namespace gpuprof::report::advice
