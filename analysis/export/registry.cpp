// SPDX-License-Identifier: Apache-2.0
//
// The table of formats.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/registry.hpp"

#include <algorithm>
#include <array>

#include "analysis/export/perfetto/perfetto_writer.hpp"
#include "analysis/export/stack_profiles/folded_writer.hpp"
#include "analysis/export/stack_profiles/pprof_writer.hpp"
#include "analysis/export/stack_profiles/speedscope_writer.hpp"
#include "analysis/export/tables/csv_writer.hpp"
#include "analysis/export/tables/sqlite_writer.hpp"
#include "analysis/export/tensorboard/tensorboard_writer.hpp"
#include "analysis/export/tfevents/tfevents_writer.hpp"
#include "analysis/export/xplane/xplane_writer.hpp"
#include "support/text/text.hpp"

namespace gpuprof::exporter {
namespace {

void put_path(std::string& line, std::string_view place, const std::string& path) {
  if (const std::size_t at = line.find(place); at != line.npos)
    line.replace(at, place.size(), path);
}

std::string quoted(const std::string& path) { return support::shell_join({path}); }

}  // namespace

std::span<const Format> formats() {
  static constexpr std::string_view kTensorboard = "tensorboard --logdir OUTPUT";
  static constexpr std::array kFormats = {
      Format{"tensorboard", ".pt.trace.json.gz", "", write_tensorboard, 3,
             "TensorBoard's PyTorch plugin, Perfetto and chrome://tracing", kTensorboard},
      Format{"kineto", ".pt.trace.json.gz", "kineto", write_kineto, 3,
             "Holistic Trace Analysis (HTA)",
             "python3 -i -c 'from hta.trace_analysis import TraceAnalysis; "
             "t = TraceAnalysis(trace_dir=\"FOLDER\")'"},
      Format{"xplane", ".xplane.pb", "", write_xplane, 3, "xprof, TensorBoard's Profile plugin",
             kTensorboard, Layout::kProfilePlugin},
      Format{"tfevents", ".tfevents", "", write_tfevents, 2,
             "per-step curves in TensorBoard's Scalars tab", kTensorboard, Layout::kScalars},
      Format{"perfetto", ".pftrace", "", write_perfetto, 3, "the Perfetto UI and PerfettoSQL",
             "the Perfetto UI (ui.perfetto.dev), Open trace file: FILE"},
      Format{"pprof", ".pb.gz", "", write_pprof, 3, "go tool pprof and other pprof viewers",
             "go tool pprof -http=: FILE"},
      Format{"speedscope", ".speedscope.json", "", write_speedscope, 4, "speedscope.app",
             "speedscope FILE"},
      Format{"folded", ".folded", "", write_folded, 4, "flamegraph.pl and other flame graph tools",
             "flamegraph.pl --countname ns FILE > flames.svg"},
      Format{"sqlite", ".sqlite", "", write_sqlite, 3, "SQL queries", "sqlite3 FILE"},
      Format{"csv", ".csv", "", write_csv, 2, "spreadsheets and scripts",
             "a spreadsheet, or pandas.read_csv: FILE"},
  };
  return kFormats;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : formats())
    if (format.name == name) return &format;
  return nullptr;
}

std::string_view uncompressed_suffix(std::string_view suffix) {
  constexpr std::string_view kGzip = ".gz";
  if (suffix.ends_with(kGzip)) suffix.remove_suffix(kGzip.size());
  return suffix;
}

std::string_view match_format_suffix(std::string_view name) {
  std::string_view longest;
  for (const std::string& suffix : format_suffixes())
    if (name.ends_with(suffix) && suffix.size() > longest.size())
      longest = name.substr(name.size() - suffix.size());
  return longest;
}

std::string_view format_for_suffix(std::string_view name) {
  const std::string_view ending = match_format_suffix(name);
  for (const Format& format : formats())
    if (!ending.empty() &&
        (ending == format.suffix || ending == uncompressed_suffix(format.suffix)))
      return format.name;
  return {};
}

std::vector<std::string> format_suffixes() {
  std::vector<std::string> suffixes;
  const auto add = [&](std::string_view suffix) {
    if (std::find(suffixes.begin(), suffixes.end(), suffix) == suffixes.end())
      suffixes.emplace_back(suffix);
  };
  for (const Format& format : formats()) {
    add(uncompressed_suffix(format.suffix));
    add(format.suffix);
  }
  return suffixes;
}

std::vector<std::pair<std::string, std::string>> format_descriptions() {
  std::vector<std::pair<std::string, std::string>> purposes;
  for (const Format& format : formats()) purposes.emplace_back(format.name, format.description);
  return purposes;
}

std::vector<std::string> viewer_instructions(const std::vector<recording::SummaryFile>& files,
                                             const std::string& output) {
  std::vector<std::string> lines;
  const bool readable = std::any_of(files.begin(), files.end(), [](const auto& f) {
    return f.format == "tensorboard" && f.events != 0;
  });
  if (readable && !output.empty()) lines.push_back("gpuprof report " + quoted(output));
  for (const Format& format : formats()) {
    const auto first = std::find_if(files.begin(), files.end(),
                                    [&](const auto& file) { return file.format == format.name; });
    if (first == files.end()) continue;
    if (output.empty() && format.viewer.find("OUTPUT") != format.viewer.npos) continue;
    std::string line(format.viewer);
    put_path(line, "OUTPUT", quoted(output));
    put_path(line, "FOLDER", first->path.substr(0, first->path.rfind('/')));
    put_path(line, "FILE", quoted(first->path));
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace gpuprof::exporter
