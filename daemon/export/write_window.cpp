// SPDX-License-Identifier: Apache-2.0
//
// All files of one window: written beside, then named together.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>

#include "daemon/export/naming.hpp"
#include "daemon/export/rank.hpp"
#include "daemon/model/ignoring_sink.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::uint64_t kSlackNs = 2'000'000'000;

class FactSink final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Fact& e) override { facts[std::string(e.key)] = e.value; }
  std::map<std::string, std::string> facts;
};

std::string rank_text(const spool::ProcessEntry& process) {
  FactSink sink;
  // A range that holds no event: definitions come all the same.
  const auto end = spool::replay(process.spool_path, {~0ULL, ~0ULL}, sink);
  return end.ok() ? rank_of(sink.facts).text() : std::string();
}

/// First and last instant of the window's steps in this process.
class StepSink final : public model::IgnoringSink {
 public:
  explicit StepSink(const model::Window& window) : window_(window) {}
  using model::IgnoringSink::on;
  void on(const model::Step& e) override {
    if (e.number < window_.first_step || e.number - window_.first_step >= window_.steps) {
      others_inside |= e.start_ns < window_.end_ns && e.end_ns > window_.start_ns;
      return;
    }
    start_ns = std::min(start_ns, e.start_ns);
    end_ns = std::max(end_ns, e.end_ns);
  }
  /// The session's instants hold exactly these steps here, too.
  bool as_the_session() const {
    return start_ns >= end_ns ||
           (!others_inside && start_ns >= window_.start_ns && end_ns <= window_.end_ns);
  }
  std::uint64_t start_ns = ~0ULL, end_ns = 0;
  bool others_inside = false;

 private:
  const model::Window& window_;
};

/// The window as this process lived it: the same steps, at its own times. A process without
/// steps is cut at the session's instants.
support::Result<model::Window> own_window(const spool::ProcessEntry& process,
                                          const model::Window& window) {
  model::Window own = window;
  if (window.steps == 0) return own;
  StepSink sink(window);
  const std::uint64_t length_ns = window.end_ns - window.start_ns;
  // A step is written when it ends; slower processes end theirs later.
  GPUPROF_TRY(end, spool::replay(process.spool_path,
                                 {window.start_ns - std::min(window.start_ns, length_ns + kSlackNs),
                                  window.end_ns + 2 * length_ns + kSlackNs},
                                 sink));
  (void)end;
  if (sink.as_the_session()) return own;
  own.start_ns = sink.start_ns;
  own.end_ns = sink.end_ns;
  own.stamp_real_ns += own.start_ns - window.start_ns;
  return own;
}

/// Events the files of the window will be made of, for the progress line.
std::uint64_t events_ahead(const std::vector<const spool::ProcessEntry*>& processes,
                           const model::Window& window) {
  std::uint64_t sum = 0;
  for (const spool::ProcessEntry* process : processes) {
    const auto blocks =
        spool::block_summaries(process->spool_path, {window.start_ns, window.end_ns});
    if (!blocks) continue;
    for (const spool::BlockSummary& block : blocks.value()) sum += block.events;
  }
  return sum;
}

support::Result<std::vector<const spool::ProcessEntry*>> find_processes(
    const spool::SessionView& session, const std::vector<std::uint32_t>& pids) {
  std::vector<const spool::ProcessEntry*> found;
  for (const std::uint32_t pid : pids) {
    // The last one: a pid may have been used twice.
    const auto at = std::find_if(session.processes.rbegin(), session.processes.rend(),
                                 [&](const spool::ProcessEntry& p) { return p.pid == pid; });
    if (at == session.processes.rend())
      return support::error(fmt::format("process {} has no spool in {}", pid, session.folder));
    found.push_back(&*at);
  }
  return found;
}

}  // namespace

support::Result<std::vector<FileWritten>> write_window(const spool::SessionView& session,
                                                       const model::Window& window,
                                                       const std::vector<std::uint32_t>& pids,
                                                       const Progress& progress) {
  GPUPROF_TRY(processes, find_processes(session, pids));
  const api::SessionOptions& options = session.options;
  const std::uint64_t total =
      progress ? events_ahead(processes, window) * options.formats.size() : 0;
  std::uint64_t before = 0;
  Staging staging(options.force);
  std::vector<FileWritten> files;
  std::uint32_t place = 0;
  for (const spool::ProcessEntry* process : processes) {
    NameParts parts{session.host, wants_rank(options) ? rank_text(*process) : std::string(),
                    process->pid, window, processes.size() > 1};
    GPUPROF_TRY(own, own_window(*process, window));
    for (const std::string& name : options.formats) {
      const Format* const format = find_format(name);
      if (format == nullptr)
        return support::error(fmt::format("this gpuprof does not write the format {}", name));
      GPUPROF_TRY(path, file_path(options, *format, parts));
      GPUPROF_TRY(temporary, staging.add(path));
      const FileRequest request{session,
                                own,
                                *process,
                                temporary,
                                worker_name(session.host, process->pid),
                                is_plain(path),
                                place,
                                [&](std::uint64_t done) {
                                  if (progress) progress(std::min(before + done, total), total);
                                }};
      GPUPROF_TRY(file, format->write(request));
      before += file.events;
      file.path = path;
      files.push_back(std::move(file));
    }
    ++place;
  }
  GPUPROF_CHECK(staging.publish());
  return files;
}

}  // namespace gpuprof::exporter
