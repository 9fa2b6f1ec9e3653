// SPDX-License-Identifier: Apache-2.0
//
// gpuprof-docs manual|bash|zsh|options: what is generated from the tables; not installed.
//
// Context:  cli
#include <cstdio>
#include <string>

#include "cli/options/help_text.hpp"

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  std::string text;
  if (what == "manual") text = gpuprof::cli::manual_text();
  if (what == "bash") text = gpuprof::cli::bash_completion_text();
  if (what == "zsh") text = gpuprof::cli::zsh_completion_text();
  if (what == "options") text = gpuprof::cli::markdown_options_text();
  if (text.empty()) {
    std::fputs("usage: gpuprof-docs manual|bash|zsh|options\n", stderr);
    return 2;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
