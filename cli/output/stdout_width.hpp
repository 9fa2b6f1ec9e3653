// SPDX-License-Identifier: Apache-2.0
//
// The width of the terminal behind stdout.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace gpuprof::cli {

/// Columns of the terminal; 0 where stdout is none: lines are whole.
inline std::size_t stdout_columns() {
  constexpr std::size_t kUsualWidth = 120, kMinWidth = 60;
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return std::max<std::size_t>(size.ws_col, kMinWidth);
}

}  // namespace gpuprof::cli
