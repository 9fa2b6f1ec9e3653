// SPDX-License-Identifier: Apache-2.0
//
// The manual page, the shells' completions and the option table, made from the tables.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/messages/options_manual.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/option_table.hpp"
#include "cli/options/version.hpp"

namespace gpuprof::cli {
namespace {

/// Text for man: backslashes and dashes as themselves, no line that begins with a dot.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '.' && (out.empty() || out.back() == '\n')) {
      out += "\\&.";
    } else {
      out += c;
    }
  }
  return out;
}

std::string manual_row(const OptionRow& row) {
  std::vector<std::string> names;
  for (const std::string& name : option_names(row)) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string text = ".TP\n" + support::join(names, ", ");
  if (row.value[0] != '\0') text += fmt::format(" \\fI{}\\fR", roff(row.value));
  text += "\n" + roff(option_help(row)) + ".";
  if (row.default_text[0] != '\0') text += fmt::format(" Default: {}.", roff(row.default_text));
  return text + "\n";
}

std::string manual_command(const CommandRow& command) {
  std::string text = fmt::format(".SH {}\n.B gpuprof {}\n.PP\n{}\n", command.name,
                                 roff(command.usage), roff(command.description));
  std::string_view section;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command.flag) == 0) continue;
    if (section != row.section) text += fmt::format(".SS {}\n", row.section);
    section = row.section;
    text += manual_row(row);
  }
  return text;
}

/// Options of one command as words.
std::vector<std::string> words_of(const CommandRow& command, bool with_value_only) {
  std::vector<std::string> words;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command.flag) == 0) continue;
    if (with_value_only && row.value[0] == '\0') continue;
    for (std::string& name : option_names(row)) words.push_back(std::move(name));
  }
  return words;
}

std::string bash_value_cases() {
  std::string text;
  std::vector<std::string> seen;  // an option may have a row for each command
  for (const OptionRow& row : option_table()) {
    const std::string words = completion_values(row);
    if (row.value[0] == '\0' || std::find(seen.begin(), seen.end(), row.names) != seen.end())
      continue;
    seen.emplace_back(row.names);
    std::string reply = "COMPREPLY=()";
    if (words == "file") {
      reply = "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\"))";
    } else if (!words.empty()) {
      reply = fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", words);
    }
    text += fmt::format("    {}) {}; return ;;\n", support::join(option_names(row), "|"), reply);
  }
  return text;
}

std::string command_names() {
  std::vector<std::string> names;
  for (const CommandRow& row : command_table()) names.emplace_back(row.name);
  return support::join(names, " ");
}

/// Commands with this bit, as a pattern of the shell's case.
std::string commands_of(unsigned bits) {
  std::vector<std::string> names;
  for (const CommandRow& row : command_table())
    if ((row.flag & bits) != 0) names.emplace_back(row.name);
  return support::join(names, "|");
}

std::string zsh_row(const OptionRow& row) {
  std::string help;
  const std::string whole = option_help(row);
  for (const char c : whole.substr(0, whole.find(". "))) {
    if (c == '[' || c == ']' || c == '\'') continue;
    if (c == ':') help += '\\';
    help += c;
  }
  const std::string words = completion_values(row);
  std::string action;
  if (row.value[0] != '\0') {
    action = fmt::format(":{}:", row.value);
    if (words == "file") {
      action += "_files";
    } else if (!words.empty()) {
      std::string escaped;
      for (const char c : words) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
      action += "(" + escaped + ")";
    }
  }
  const std::vector<std::string> names = option_names(row);
  std::string text;
  for (const std::string& name : names) {
    const char* glue = row.value[0] == '\0' ? "" : name.size() == 2 ? "+" : "=";
    const std::string excludes =
        names.size() == 2 ? fmt::format("({} {})", names[0], names[1]) : "";
    text += fmt::format("    '{}{}{}[{}]{}'\n", excludes, name, glue, help, action);
  }
  return text;
}

}  // namespace

std::string manual_text() {
  std::string text = fmt::format(messages::options_manual::kBegin, kVersion);
  for (const CommandRow& row : command_table()) {
    text += fmt::format(".B gpuprof {}\n.br\n", roff(row.usage));
  }
  text += messages::options_manual::kDescription;
  for (const CommandRow& row : command_table()) text += manual_command(row);
  return text + messages::options_manual::kEnd;
}

std::string markdown_options_text() {
  std::string text =
      "<!-- Made by gpuprof-docs options; a test compares. -->\n"
      "# Options of `gpuprof run`\n\n"
      "| option | meaning | default |\n|---|---|---|\n";
  for (const OptionRow& row : option_table()) {
    if ((row.commands & kRun) == 0) continue;
    std::string value = row.value[0] == '\0' ? "" : std::string(" ") + row.value;
    text += fmt::format("| `{}{}` | {} | {} |\n", support::join(option_names(row), ", "), value,
                        option_help(row), row.default_text);
  }
  return text;
}

std::string bash_completion_text() {
  std::string lists;
  std::string with_value;
  for (const CommandRow& row : command_table()) {
    lists += fmt::format("    {}) options=\"{}\" ;;\n", row.name,
                         support::join(words_of(row, false), " "));
    if (row.flag == kRun) with_value = support::join(words_of(row, true), "|");
  }
  std::string text =
      "# SPDX-License-Identifier: Apache-2.0\n# bash completion for gpuprof, made by "
      "gpuprof-docs\n_gpuprof() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=${COMP_WORDS[1]} options=\"\" i\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"@COMMANDS --help --version\" -- \"$cur\"))\n"
      "    return\n  fi\n"
      "  case $command in\n@LISTS  esac\n"
      "  if [ \"$command\" = help ]; then\n"
      "    COMPREPLY=($(compgen -W \"@COMMANDS\" -- \"$cur\"))\n    return\n  fi\n"
      "  # From the program on, its own completion.\n"
      "  if [ \"$command\" = run ]; then\n"
      "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "      case ${COMP_WORDS[i]} in\n"
      "        --) i=$((i + 1)); break ;;\n"
      "        @VALUES) i=$((i + 1)) ;;\n"
      "        -*) ;;\n        *) break ;;\n      esac\n    done\n"
      "    if [ \"$i\" -lt \"$COMP_CWORD\" ] || [ \"$prev\" = -- ]; then\n"
      "      if declare -F _command_offset >/dev/null; then\n"
      "        _command_offset \"$i\"\n      else\n"
      "        COMPREPLY=($(compgen -f -- \"$cur\"))\n      fi\n"
      "      return\n    fi\n  fi\n"
      "  case $prev in\n@CASES  esac\n"
      "  case $cur in\n"
      "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
      "    *)\n      case $command in\n"
      "        run) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
      "        @PROCESSES) COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\")) "
      ";;\n"
      "        *)\n          compopt -o filenames 2>/dev/null\n"
      "          COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n      esac ;;\n"
      "  esac\n}\ncomplete -F _gpuprof gpuprof\n";
  const auto replace_all = [&text](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace_all("@COMMANDS", command_names());
  replace_all("@PROCESSES", commands_of(kProcessCommands));
  replace_all("@LISTS", lists);
  replace_all("@VALUES", with_value);
  replace_all("@CASES", bash_value_cases());
  return text;
}

std::string zsh_completion_text() {
  std::string text =
      "#compdef gpuprof\n# SPDX-License-Identifier: Apache-2.0\n# zsh completion for "
      "gpuprof, made by gpuprof-docs\n_gpuprof() {\n  local -a commands options\n"
      "  commands=(\n";
  for (const CommandRow& row : command_table()) {
    text += fmt::format("    '{}:{}'\n", row.name, row.summary);
  }
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n"
      "    compadd -- --help --version\n    return\n  fi\n  local command=${words[2]}\n"
      "  shift words; (( CURRENT-- ))\n  case $command in\n";
  for (const CommandRow& row : command_table()) {
    text += fmt::format("  {})\n    options=(\n", row.name);
    for (const OptionRow& option : option_table()) {
      if ((option.commands & row.flag) != 0) text += zsh_row(option);
    }
    text += "    )\n";
    if (row.flag == kRun) {
      text +=
          "    _arguments -s -S $options '(-)1:program:_command_names -e' '*::argument:_normal'\n";
    } else if (row.flag == kHelp) {
      text += fmt::format("    _arguments -s $options '1:command:({})'\n", command_names());
    } else if ((row.flag & kProcessCommands) != 0) {
      text += "    _arguments -s $options '*:process:_pids'\n";
    } else {
      text += "    _arguments -s $options '*:file:_files'\n";
    }
    text += "    ;;\n";
  }
  return text + "  esac\n}\n_gpuprof \"$@\"\n";
}

}  // namespace gpuprof::cli
