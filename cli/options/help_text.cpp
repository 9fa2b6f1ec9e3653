// SPDX-License-Identifier: Apache-2.0
//
// What `gpuprof help` prints, made from the tables.
//
// Context:  cli
#include "cli/options/help_text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "cli/messages/options_help.hpp"
#include "cli/options/option_table.hpp"
#include "cli/options/version.hpp"

namespace gpuprof::cli {
namespace {

constexpr std::size_t kColumn = 26;
constexpr std::size_t kWidth = 80;

/// Text broken at blanks into lines of `kWidth`, each after the first behind `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t column) {
  std::string out;
  for (const std::string& word : support::split(text, ' ')) {
    const bool fits = column + word.size() + 1 <= kWidth;
    if (!fits) {
      out += "\n" + std::string(indent, ' ') + word;
      column = indent + word.size();
      continue;
    }
    const bool first = out.empty();
    out += (first ? "" : " ") + word;
    column += word.size() + (first ? 0 : 1);
  }
  return out;
}

std::string row_text(const OptionRow& row) {
  std::string left = "  ";
  const std::vector<std::string> names = option_names(row);
  left += names.size() == 1 ? "    " + names[0] : support::join(names, ", ");
  if (row.value[0] != '\0') left += std::string(" ") + row.value;
  std::string help = option_help(row);
  if (row.default_text[0] != '\0') help += fmt::format(" [{}]", row.default_text);
  if (left.size() + 2 > kColumn) {
    left += "\n" + std::string(kColumn, ' ');
  } else {
    left.resize(kColumn, ' ');
  }
  return left + wrapped(help, kColumn, kColumn) + "\n";
}

}  // namespace

std::string version_text() { return fmt::format("gpuprof {}\n", kVersion); }

std::string getting_started_text() { return messages::options_help::kGettingStarted; }

std::string overview_text() {
  std::string text = messages::options_help::kOverviewBegin;
  for (const CommandRow& row : command_table()) {
    text += fmt::format("  {:<10}{}\n", row.name, row.summary);
  }
  return text + messages::options_help::kOverviewEnd;
}

std::string command_help_text(const CommandRow& command) {
  std::string text =
      fmt::format("usage: gpuprof {}\n\n{}\n", command.usage, wrapped(command.description, 0, 0));
  std::string_view section;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command.flag) == 0) continue;
    if (section != row.section) text += fmt::format("\n{}:\n", row.section);
    section = row.section;
    text += row_text(row);
  }
  return text;
}

}  // namespace gpuprof::cli
