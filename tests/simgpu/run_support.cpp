// SPDX-License-Identifier: Apache-2.0
//
// Child processes and line parsing for the simulator's own tests.
//
// Context:  tests
// Owns:     one scratch folder per test process
// Promises: see run_support.hpp
// Not here: the tests
#include "run_support.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace simtest {
namespace {

const std::string& folder() {
  static const std::string f = [] {
    char name[] = "/tmp/gpusim-test-XXXXXX";
    const char* made = mkdtemp(name);
    std::string path = made != nullptr ? made : "/tmp";
    return path;
  }();
  return f;
}

OutputRow parse_plain(const std::string& line) {
  std::istringstream in(line);
  OutputRow row;
  std::string key, value;
  in >> row.type;
  while (in >> key >> value) row.fields[key] = value;
  if (!key.empty() && row.fields.count(key) == 0) row.fields["value"] = key;
  return row;
}

/// Flat JSON objects as the truth log has them; arrays become their text.
OutputRow parse_json(const std::string& line) {
  OutputRow row;
  std::size_t at = 0;
  while ((at = line.find('"', at)) != std::string::npos) {
    const std::size_t key_end = line.find('"', at + 1);
    if (key_end == std::string::npos || line.compare(key_end, 2, "\":") != 0) break;
    const std::string key = line.substr(at + 1, key_end - at - 1);
    std::size_t from = key_end + 2, to = 0;
    if (line[from] == '"')
      to = line.find('"', ++from);
    else if (line[from] == '[')
      to = line.find(']', ++from);
    else
      to = line.find_first_of(",}", from);
    row.fields[key] = line.substr(from, to - from);
    at = line.find(',', to);
    if (at == std::string::npos) break;
  }
  row.type = row.text("t");
  return row;
}

void read_truth(const std::string& path, RunResult& run) {
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] == '{') run.truth.push_back(parse_json(line));
}

}  // namespace

std::uint64_t OutputRow::number(const std::string& key) const {
  return std::strtoull(text(key).c_str(), nullptr, 10);
}

std::string OutputRow::text(const std::string& key) const {
  const auto it = fields.find(key);
  return it != fields.end() ? it->second : std::string();
}

std::vector<OutputRow> RunResult::of(const std::string& type) const {
  std::vector<OutputRow> found;
  for (const OutputRow& r : rows)
    if (r.type == type) found.push_back(r);
  return found;
}

OutputRow RunResult::first(const std::string& type) const {
  const std::vector<OutputRow> all = of(type);
  return all.empty() ? OutputRow{} : all.front();
}

std::vector<OutputRow> RunResult::operations(const std::string& kind) const {
  std::vector<OutputRow> found;
  for (const OutputRow& r : truth)
    if (r.type == "op" && r.text("kind") == kind) found.push_back(r);
  return found;
}

RunResult run_shell(const std::string& command) {
  RunResult run;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return run;
  char chunk[65536];
  for (std::size_t n = 0; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;)
    run.output.append(chunk, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  // The shell reports a child's death as 128 + signal.
  if (run.exit_code > 128) {
    run.signal = run.exit_code - 128;
    run.exit_code = -1;
  }
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) run.rows.push_back(parse_plain(line));
  return run;
}

RunResult simulate(const std::string& options, const std::string& program, int limit_s) {
  const std::string truth = scratch_path("truth.jsonl");
  RunResult run = run_shell("timeout -s KILL " + std::to_string(limit_s) + " " + program_folder() +
                            "/gpusim-run --truth " + truth + " " + options + " -- " +
                            program_folder() + "/" + program);
  read_truth(truth, run);
  return run;
}

std::string scratch_path(const std::string& name) { return folder() + "/" + name; }

std::string library_folder() { return GPUSIM_LIBRARIES; }
std::string program_folder() { return GPUSIM_PROGRAMS; }

std::uint64_t realtime_offset(const RunResult& run) {
  if (run.truth.empty()) return 0;
  return run.truth[0].number("realtime_ns") - run.truth[0].number("monotonic_ns");
}

}  // namespace simtest
