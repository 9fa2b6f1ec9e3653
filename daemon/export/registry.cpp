// SPDX-License-Identifier: Apache-2.0
//
// The table of formats.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/registry.hpp"

#include <algorithm>
#include <array>

#include "daemon/export/perfetto/perfetto_writer.hpp"
#include "daemon/export/stacks/folded_writer.hpp"
#include "daemon/export/stacks/pprof_writer.hpp"
#include "daemon/export/stacks/speedscope_writer.hpp"
#include "daemon/export/tables/csv_writer.hpp"
#include "daemon/export/tables/sqlite_writer.hpp"
#include "daemon/export/tensorboard/tensorboard_writer.hpp"
#include "daemon/export/tfevents/tfevents_writer.hpp"
#include "daemon/export/xplane/xplane_writer.hpp"

namespace gpuprof::exporter {

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"tensorboard", ".pt.trace.json.gz", "", write_tensorboard,
             "TensorBoard's PyTorch plugin, Perfetto and chrome://tracing"},
      Format{"kineto", ".pt.trace.json.gz", "kineto", write_kineto,
             "Holistic Trace Analysis (HTA)"},
      Format{"xplane", ".xplane.pb", "", write_xplane, "xprof, TensorBoard's Profile plugin",
             Layout::kProfile},
      Format{"tfevents", ".tfevents", "", write_tfevents,
             "curves over steps in TensorBoard's Scalars tab", Layout::kScalars},
      Format{"perfetto", ".pftrace", "", write_perfetto, "Perfetto's own user interface and SQL"},
      Format{"pprof", ".pb.gz", "", write_pprof, "go tool pprof and what reads its profiles"},
      Format{"speedscope", ".speedscope.json", "", write_speedscope, "speedscope.app"},
      Format{"folded", ".folded", "", write_folded, "flamegraph.pl and other flame graphs"},
      Format{"sqlite", ".sqlite", "", write_sqlite, "your own SQL"},
      Format{"csv", ".csv", "", write_csv, "spreadsheets and scripts"},
  };
  return kFormats;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : formats())
    if (format.name == name) return &format;
  return nullptr;
}

std::string_view plain_suffix(std::string_view suffix) {
  constexpr std::string_view kGzip = ".gz";
  if (suffix.ends_with(kGzip)) suffix.remove_suffix(kGzip.size());
  return suffix;
}

std::string_view format_suffix_of(std::string_view name) {
  std::string_view longest;
  for (const std::string& suffix : format_suffixes())
    if (name.ends_with(suffix) && suffix.size() > longest.size())
      longest = name.substr(name.size() - suffix.size());
  return longest;
}

std::vector<std::string> format_suffixes() {
  std::vector<std::string> suffixes;
  const auto add = [&](std::string_view suffix) {
    if (std::find(suffixes.begin(), suffixes.end(), suffix) == suffixes.end())
      suffixes.emplace_back(suffix);
  };
  for (const Format& format : formats()) {
    add(plain_suffix(format.suffix));
    add(format.suffix);
  }
  return suffixes;
}

std::vector<std::pair<std::string, std::string>> format_purposes() {
  std::vector<std::pair<std::string, std::string>> purposes;
  for (const Format& format : formats()) purposes.emplace_back(format.name, format.purpose);
  return purposes;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace gpuprof::exporter
