// SPDX-License-Identifier: Apache-2.0
//
// How gpusim-run speaks: sentences on stderr.
//
// Context:  tools
// Owns:     nothing
// Promises: one line for each sentence
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace gpusim {

/// One sentence for the person who typed the command.
inline void print_message(const std::string& sentence) {
  std::fprintf(stderr, "gpusim-run: %s\n", sentence.c_str());
}

/// The sentence that explains why nothing is started; ends the launcher.
[[noreturn]] inline void fail(const std::string& sentence, int status = 125) {
  print_message(sentence);
  std::exit(status);
}

}  // namespace gpusim
