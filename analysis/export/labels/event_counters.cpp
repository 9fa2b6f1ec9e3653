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
      {"GPU event is drawn without the host call that launched it: the call was not recorded",
       "GPU events are drawn without the host calls that launched them: these were not recorded"},
      {"range does not nest; it is drawn as a separate span and does not count as an operator",
       "ranges do not nest; they are drawn as separate spans and do not count as operators"},
      {"range or operator is nested deeper than 100, TensorBoard's limit; "
       "it is drawn as a separate span",
       "ranges and operators are nested deeper than 100, TensorBoard's limit; "
       "they are drawn as separate spans"},
      {"stack has nn.Module calls nested deeper than 40, TensorBoard's limit; "
       "the inner ones are not drawn",
       "stacks have nn.Module calls nested deeper than 40, TensorBoard's limit; "
       "the inner ones are not drawn"},
      {"range contains whole steps and launches nothing itself; it is drawn and does not count as "
       "an operator",
       "ranges contain whole steps and launch nothing themselves; they are drawn and do not count "
       "as operators"},
      {"range extends beyond the window and is cut at its boundary",
       "ranges extend beyond the window and are cut at its boundary"},
      {"call or GPU event is not linked to its range, "
       "which had not ended when the file was written",
       "calls and GPU events are not linked to their ranges, "
       "which had not ended when the file was written"},
      {"GPU event of a device with an index above 63 is not in the file",
       "GPU events of devices with an index above 63 are not in the file"},
      {"host call inside another with the same correlation id is drawn without a link",
       "host calls inside another with the same correlation id are drawn without a link"},
      {"sample has more frames than are drawn; its innermost frames are cut",
       "samples have more frames than are drawn; their innermost frames are cut"},
      {"name is too long to be written in full; it ends in …#HASH to stay unique",
       "names are too long to be written in full; they end in …#HASH to stay unique"},
      {"ProfilerStep# range of the program is not drawn: this file has other steps",
       "ProfilerStep# ranges of the program are not drawn: this file has other steps"},
      {"memory record of a device that is neither the host nor CUDA is not in the file",
       "memory records of devices that are neither the host nor CUDA are not in the file"},
      {"distinct set of operator inputs is not in the file: there were too many",
       "distinct sets of operator inputs are not in the file: there were too many"},
  }};
  const Sentence& message = kMessages[static_cast<std::size_t>(kind)];
  return count == 1 ? message.one : message.several;
}

}  // namespace gpuprof::exporter
