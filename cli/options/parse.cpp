// SPDX-License-Identifier: Apache-2.0
//
// From argv to a command and its options.
//
// Context:  cli
#include "cli/options/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <optional>

#include "cli/messages/options_parse.hpp"
#include "cli/options/option_table.hpp"

namespace gpuprof::cli {
namespace {

using support::error;
using support::in_quotes;

/// Where the options end.
struct OptionSplit {
  std::size_t options = 0;  // words that belong to us
  std::size_t rest = 0;     // first word after them, and after a `--`
};

std::vector<std::string> names_of(unsigned command) {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command) == 0) continue;
    for (std::string& name : option_names(row)) names.push_back(std::move(name));
  }
  return names;
}

support::Error unknown_option(const std::string& name, const CommandRow& command) {
  const std::string near =
      name.size() > 2 ? support::did_you_mean(name, names_of(command.flag)) : "";
  return error(fmt::format(messages::options_parse::kUnknownOption, command.name, in_quotes(name),
                           near, command.name));
}

/// `-o=x` would silently name the file "=x".
support::Error equals_sign(const OptionRow& row, const std::string& name,
                           const std::string& value) {
  const std::string long_name = option_names(row).back();
  const std::string right = value.empty() ? row.value : value;
  if (long_name == name)
    return error(
        fmt::format(messages::options_parse::kShortOptionWithEquals, name, value, name, right));
  return error(fmt::format(messages::options_parse::kShortOrLongOption, name, value, name, right,
                           long_name, right));
}

support::Error value_missing(const OptionRow& row, const std::string& name) {
  return error(fmt::format(messages::options_parse::kNeedsValue, name, name, row.value));
}

/// A lone `--` ends the options: nobody means it as a value (`--name=--` would say so).
bool no_value_at(const std::vector<std::string>& words, std::size_t at) {
  return at >= words.size() || words[at] == "--";
}

/// How many words the option at `at` takes: 1, or 2 with a value of its own.
support::Result<std::size_t> words_of_option(const std::vector<std::string>& words, std::size_t at,
                                             const CommandRow& command) {
  const std::string& word = words[at];
  if (word.compare(0, 2, "--") == 0) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionRow* row = find_option(name, command.flag);
    if (row == nullptr) return unknown_option(name, command);
    const bool takes_value = row->value[0] != '\0';
    if (!takes_value && equals != std::string::npos) {
      return error(fmt::format(messages::options_parse::kTakesNoValue, name));
    }
    if (!takes_value || equals != std::string::npos) return std::size_t{1};
    if (no_value_at(words, at + 1)) return value_missing(*row, name);
    return std::size_t{2};
  }
  // A bundle such as -qv or -qoOUT: the first one with a value takes what is left of the word.
  for (std::size_t i = 1; i < word.size(); ++i) {
    const std::string name = std::string("-") + word[i];
    const OptionRow* row = find_option(name, command.flag);
    if (row == nullptr) return unknown_option(name, command);
    if (row->value[0] == '\0') continue;
    if (i + 1 < word.size() && word[i + 1] == '=') {
      return equals_sign(*row, name, word.substr(i + 2));
    }
    if (i + 1 < word.size()) return std::size_t{1};
    if (no_value_at(words, at + 1)) return value_missing(*row, name);
    return std::size_t{2};
  }
  return std::size_t{1};
}

bool looks_like_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

support::Result<OptionSplit> split_options(const std::vector<std::string>& words,
                                           const CommandRow& command) {
  std::size_t at = 0;
  while (at < words.size() && looks_like_option(words[at])) {
    if (words[at] == "--") return OptionSplit{at, at + 1};
    GPUPROF_TRY(count, words_of_option(words, at, command));
    at += count;
  }
  return OptionSplit{at, at};
}

template <typename Take>
void add_option_with_value(CLI::App& app, const OptionRow& row, const Take& take) {
  if (row.repeats)
    app.add_option(row.names)->take_all()->each(take);
  else
    app.add_option_function<std::string>(row.names, take)->take_last();
}

/// Gives the options to CLI11, built from the table.
support::Result<void> read_options(std::vector<std::string> words, const CommandRow& command,
                                   Options* options) {
  CLI::App app;
  app.set_help_flag();
  std::optional<support::Error> failure;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command.flag) == 0) continue;
    const auto take = [&failure, &row, options](const std::string& value) {
      auto answer = row.set(*options, value);
      if (!answer && !failure) failure = answer.error();
    };
    if (row.value[0] == '\0') {
      // In the order typed: the last of --x and --no-x counts.
      app.add_flag(row.names)->take_all()->each(
          [take](const std::string& value) { take(value == "false" ? kNegatedValue : ""); });
    } else {
      add_option_with_value(app, row, take);
    }
  }
  try {
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& refused) {
    return error(fmt::format(messages::options_parse::kCannotParse, refused.what()));
  }
  if (failure) return *failure;
  return {};
}

/// For commands that take words, options may follow a word: `gpuprof export SPOOL -o out`.
support::Result<void> parse_arguments(std::vector<std::string> words, const CommandRow& command,
                                      Options* options) {
  std::vector<std::string> ours;
  while (true) {
    GPUPROF_TRY(cut, split_options(words, command));
    ours.insert(ours.end(), words.begin(),
                words.begin() + static_cast<std::ptrdiff_t>(cut.options));
    const bool separator = cut.rest != cut.options;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(cut.rest));
    if (command.flag == kRun) options->command = std::exchange(words, {});
    if (separator) options->arguments.insert(options->arguments.end(), words.begin(), words.end());
    if (separator || words.empty()) break;
    options->arguments.push_back(words.front());
    words.erase(words.begin());
  }
  return read_options(std::move(ours), command, options);
}

}  // namespace

support::Result<Invocation> parse(const std::vector<std::string>& words) {
  if (words.empty()) return error(messages::options_parse::kNoCommand);
  Invocation invocation;
  const std::string& first = words.front();
  if (first == "--version" || first == "-V") {
    if (words.size() == 1) return invocation;
    return error(
        fmt::format(messages::options_parse::kVersionTakesNoArguments, first, in_quotes(words[1])));
  }
  const bool asks = first == "--help" || first == "-h";
  if (!asks && looks_like_option(first)) {
    const std::string near = support::did_you_mean(first, {"--version", "--help"});
    return error(near.empty() ? fmt::format(messages::options_parse::kOptionBeforeCommand, first)
                              : fmt::format(messages::options_parse::kUnknownFirstOption,
                                            in_quotes(first), near));
  }
  invocation.command = find_command(asks ? "help" : first);
  if (invocation.command == nullptr) return unknown_command(first);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  GPUPROF_CHECK(parse_arguments(std::move(rest), *invocation.command, &invocation.options));
  if (invocation.options.help) {
    invocation.options.arguments = {invocation.command->name};
    invocation.command = find_command("help");
    return invocation;
  }
  GPUPROF_CHECK(resolve_options(invocation.options));
  return invocation;
}

}  // namespace gpuprof::cli
