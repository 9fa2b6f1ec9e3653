// SPDX-License-Identifier: Apache-2.0
//
// Help, manual page, completions and the documents in the tree say the same as the tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/commands/formats.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/option_table.hpp"
#include "support/io/files.hpp"

namespace gpuprof::cli {
namespace {

using testing::HasSubstr;

std::string in_tree(const std::string& name) {
  return support::read_small_file(std::string(TEST_SOURCE_ROOT) + "/" + name);
}

TEST(Help, OverviewIsTheOneAgreedOn) {
  EXPECT_EQ(overview_text(),
            "usage: gpuprof COMMAND [OPTION...]\n\n"
            "Profiles unmodified GPU programs: CUDA, NVTX, PyTorch's operators and host\n"
            "stacks in one trace.\n\n"
            "  gpuprof run -- python3 train.py\n\nCommands:\n"
            "  run       Run a program and record it\n"
            "  attach    Record running processes\n"
            "  capture   Record armed processes\n"
            "  status    List processes that have the gpuprof library\n"
            "  stop      End a recording\n"
            "  detach    Detach gpuprof from processes\n"
            "  serve     Serve the Capture profile button of TensorBoard\n"
            "  env       Print environment variables that arm a program\n"
            "  report    Summarise a recording\n"
            "  diff      Compare two recordings\n"
            "  export    Write a recording in other formats\n"
            "  doctor    Check what this machine can record\n"
            "  help      Explain a command\n"
            "  --version Print the version\n\n"
            "`gpuprof help COMMAND` explains one command.\n");
}

TEST(Help, NamesEveryOptionOfEveryCommandInEightyColumns) {
  for (const CommandRow& command : command_table()) {
    const std::string text = command_help_text(command);
    for (const OptionRow& row : option_table()) {
      if ((row.commands & command.flag) == 0) continue;
      for (const std::string& name : option_names(row)) EXPECT_THAT(text, HasSubstr(name));
    }
    for (const std::string& line : support::split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(Help, NamesTheFormats) {
  for (const std::string& format : commands::format_names())
    EXPECT_THAT(option_help(*find_option("--format", kRun)), HasSubstr(format));
}

TEST(Completions, KnowEveryOptionAndCommand) {
  for (const std::string& text : {bash_completion_text(), zsh_completion_text()}) {
    for (const OptionRow& row : option_table()) {
      for (const std::string& name : option_names(row)) EXPECT_THAT(text, HasSubstr(name));
    }
    for (const CommandRow& command : command_table()) EXPECT_THAT(text, HasSubstr(command.name));
  }
}

TEST(Documents, ManualPageInTheTreeIsUpToDate) {
  EXPECT_EQ(in_tree("docs/man/gpuprof.1"), manual_text()) << "run gpuprof-docs manual";
}

TEST(Documents, OptionTableInTheTreeIsUpToDate) {
  EXPECT_EQ(in_tree("docs/options.md"), markdown_options_text()) << "run gpuprof-docs options";
}

TEST(Documents, CompletionsInTheTreeAreUpToDate) {
  EXPECT_EQ(in_tree("docs/completions/gpuprof.bash"), bash_completion_text());
  EXPECT_EQ(in_tree("docs/completions/_gpuprof"), zsh_completion_text());
}

}  // namespace
}  // namespace gpuprof::cli
