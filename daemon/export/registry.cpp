// SPDX-License-Identifier: Apache-2.0
//
// The table of formats.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/registry.hpp"

#include <array>

#include "daemon/export/csv_writer.hpp"
#include "daemon/export/folded_writer.hpp"
#include "daemon/export/perfetto_writer.hpp"
#include "daemon/export/pprof_writer.hpp"
#include "daemon/export/speedscope_writer.hpp"
#include "daemon/export/sqlite_writer.hpp"
#include "daemon/export/tensorboard_writer.hpp"

namespace gpuprof::exporter {

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"tensorboard", ".pt.trace.json.gz", "", write_tensorboard},
      Format{"kineto", ".pt.trace.json.gz", "kineto", write_kineto},
      Format{"perfetto", ".pftrace", "", write_perfetto},
      Format{"pprof", ".pb.gz", "", write_pprof},
      Format{"speedscope", ".speedscope.json", "", write_speedscope},
      Format{"folded", ".folded", "", write_folded},
      Format{"sqlite", ".sqlite", "", write_sqlite},
      Format{"csv", ".csv", "", write_csv},
  };
  return kFormats;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : formats())
    if (format.name == name) return &format;
  return nullptr;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace gpuprof::exporter
