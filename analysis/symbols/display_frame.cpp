// SPDX-License-Identifier: Apache-2.0
//
// Text of one frame.
//
// Context:  daemon | cli
#include "analysis/symbols/display_frame.hpp"

#include <algorithm>

namespace gpuprof::symbols {

std::string format_frame(const DisplayFrame& frame) {
  std::string text;
  if (frame.kind == FrameKind::kPython || (!frame.file.empty() && frame.line > 0))
    text = frame.file + "(" + std::to_string(frame.line) + "): " + frame.name;
  else if (frame.module.empty() || frame.name.starts_with(frame.module + "+0x"))
    text = frame.name;
  else
    text = frame.module + "!" + frame.name;
  // Frames of one stack are joined with this character.
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

}  // namespace gpuprof::symbols
