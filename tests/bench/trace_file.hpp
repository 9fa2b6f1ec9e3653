// SPDX-License-Identifier: Apache-2.0
//
// Trace files of many events, and what a command costs that reads one.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "recording/spool/spool.hpp"
#include "tests/bench/operator_events.hpp"
#include "tests/bench/spread.hpp"
#include "tests/unit/spool/every_event.hpp"

namespace gpuprof::test {

struct Cost {
  double seconds = 0;
  long peak_mb = 0;
};

/// A command in a process of its own, so that its memory is its own.
inline Cost cost_of(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Cost cost;
  rusage usage{};
  cost.seconds = seconds_of([&] {
    const pid_t child = fork();
    if (child == 0) {
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    int status = 0;
    wait4(child, &status, 0, &usage);
    if (status != 0) std::printf("%s failed\n", command[0].c_str());
  });
  cost.peak_mb = usage.ru_maxrss / 1024;
  return cost;
}

inline std::string write_trace(const std::string& folder, std::uint64_t events, bool operators,
                               bool packed) {
  std::filesystem::create_directories(folder);
  {
    auto writer = spool::ProcessWriter::create(folder + "/p.spool").take();
    operators ? OperatorEvents(*writer).send(events) : send_training(events, *writer);
  }
  spool::SessionView session;
  session.folder = folder;
  session.host = "bench";
  session.options.output = folder + (packed ? "/trace.pt.trace.json.gz" : "/trace.pt.trace.json");
  session.options.output_is_pattern = true;
  session.options.span_size_events = ~0ULL;
  session.processes.push_back({4000, folder + "/p.spool"});
  const auto windows = exporter::split_by_event_count(session, {4000}).take();
  return exporter::write_window(session, windows.at(0), {4000}, {}).take().at(0).path;
}

}  // namespace gpuprof::test
