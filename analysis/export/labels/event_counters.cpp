// SPDX-License-Identifier: Apache-2.0
//
// The words for what is counted.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/event_counters.hpp"

#include <array>

namespace gpuprof::exporter {

std::string_view name_of(EventKind kind) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(EventKind::kCount)> kNames = {
      "kernels",          "memory copies", "memory sets", "synchronisations", "overhead records",
      "graph runs",       "API calls",     "operators",   "memory records",   "ranges",
      "start/end ranges", "marks",         "steps",       "samples"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(StepOrigin by) {
  constexpr std::array<std::string_view, 9> kNames = {
      "", "auto", "user", "loop", "optimizer", "nvtx", "kernel", "period", "loop+optimizer"};
  const auto index = static_cast<std::size_t>(by);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view omission_message(OmissionReason kind, std::uint64_t count) {
  struct Sentence {
    std::string_view one, several;
  };
  constexpr std::array<Sentence, static_cast<std::size_t>(OmissionReason::kCount)> kMessages = {{
      {"GPU event launched before the window is not in the file",
       "GPU events launched before the window are not in the file"},
      {"GPU event is drawn without the host call that launched it: that was not recorded",
       "GPU events are drawn without the host call that launched them: those were not recorded"},
      {"range that does not nest is drawn as a span of its own and is no operator",
       "ranges that do not nest are drawn as spans of their own and are no operators"},
      {"range or operator nested deeper than 100 is drawn as a span of its own: TensorBoard's "
       "plugin would not load the file",
       "ranges and operators nested deeper than 100 are drawn as spans of their own: TensorBoard's "
       "plugin would not load the file"},
      {"stack has calls of modules nested deeper than 40, which are not drawn: TensorBoard's "
       "plugin would not load the file",
       "stacks have calls of modules nested deeper than 40, which are not drawn: TensorBoard's "
       "plugin would not load the file"},
      {"range holds whole steps and no launch of its own: drawn, but no operator",
       "ranges hold whole steps and no launch of their own: drawn, but no operators"},
      {"range reaches over the border of the window and is cut there",
       "ranges reach over the border of the window and are cut there"},
      {"call or GPU event lies in a range that had not ended when the file was written",
       "calls and GPU events lie in a range that had not ended when the file was written"},
      {"GPU event of a device beyond index 63 is not in the file",
       "GPU events of devices beyond index 63 are not in the file"},
      {"host call inside another one with the same correlation id is drawn without link",
       "host calls inside another one with the same correlation id are drawn without link"},
      {"sample is deeper than is drawn; its innermost frames are cut",
       "samples are deeper than is drawn; their innermost frames are cut"},
      {"name is too long to be written whole; …#HASH at its end tells it from others",
       "names are too long to be written whole; …#HASH at the end of each tells them apart"},
      {"range ProfilerStep# of the program is not drawn: the steps of this file are others",
       "ranges ProfilerStep# of the program are not drawn: the steps of this file are others"},
      {"memory record of a device that is neither the host nor CUDA is not in the file",
       "memory records of devices that are neither the host nor CUDA are not in the file"},
      {"different set of operator inputs is not shown: there were too many",
       "different sets of operator inputs are not shown: there were too many"},
  }};
  const Sentence& message = kMessages[static_cast<std::size_t>(kind)];
  return count == 1 ? message.one : message.several;
}

}  // namespace gpuprof::exporter
