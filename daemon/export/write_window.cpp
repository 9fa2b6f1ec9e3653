// SPDX-License-Identifier: Apache-2.0
//
// All files of one window: written beside, then named together.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>

#include "daemon/export/naming.hpp"
#include "daemon/export/words/rank.hpp"
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
    ++found;
    start_ns = std::min(start_ns, e.start_ns);
    end_ns = std::max(end_ns, e.end_ns);
  }
  /// The session's instants hold exactly these steps here, too.
  bool as_the_session() const {
    return start_ns >= end_ns ||
           (!others_inside && start_ns >= window_.start_ns && end_ns <= window_.end_ns);
  }
  bool all_found() const { return found >= window_.steps; }
  std::uint64_t start_ns = ~0ULL, end_ns = 0, found = 0;
  bool others_inside = false;

 private:
  const model::Window& window_;
};

/// The window's steps, looked for ever further around it: a step is written when it ends, and
/// slower processes end theirs later. Mostly it is the first look; the last reads seconds of
/// events.
support::Result<StepSink> find_steps(const spool::ProcessEntry& process,
                                     const model::Window& window) {
  const std::uint64_t length_ns = window.end_ns - window.start_ns;
  for (const std::uint64_t slack_ns : {std::uint64_t{0}, kSlackNs / 100, kSlackNs}) {
    const std::uint64_t before_ns = slack_ns == 0 ? 0 : length_ns + slack_ns;
    const std::uint64_t after_ns = slack_ns == 0 ? 0 : 2 * length_ns + slack_ns;
    StepSink sink(window);
    GPUPROF_TRY(end, spool::replay(process.spool_path,
                                   {window.start_ns - std::min(window.start_ns, before_ns),
                                    window.end_ns + after_ns},
                                   sink));
    (void)end;
    if (sink.all_found() || slack_ns == kSlackNs) return sink;
  }
  return StepSink(window);
}

/// The window as this process lived it: the same steps, at its own times. A process without
/// steps is cut at the session's instants.
support::Result<model::Window> own_window(const spool::ProcessEntry& process,
                                          const model::Window& window) {
  model::Window own = window;
  if (window.steps == 0) return own;
  GPUPROF_TRY(sink, find_steps(process, window));
  if (sink.as_the_session()) return own;
  own.start_ns = sink.start_ns;
  own.end_ns = sink.end_ns;
  own.stamp_real_ns += own.start_ns - window.start_ns;
  return own;
}

/// A program that ran in a process; an exec replaces it by the next.
struct Image {
  const spool::ProcessEntry* process;
  std::uint32_t number;
};

/// Events the files of the window will be made of, for the progress line.
std::uint64_t events_ahead(const std::vector<Image>& images, const model::Window& window) {
  std::uint64_t sum = 0;
  for (const Image& image : images) {
    const auto blocks =
        spool::block_summaries(image.process->spool_path, {window.start_ns, window.end_ns});
    if (!blocks) continue;
    for (const spool::BlockSummary& block : blocks.value()) sum += block.events;
  }
  return sum;
}

bool has_events(const Image& image, const model::Window& window) {
  return events_ahead({image}, window) != 0;
}

/// Of several images of a process those that lived in the window, or the last.
support::Result<std::vector<Image>> find_images(const spool::SessionView& session,
                                                const std::vector<std::uint32_t>& pids,
                                                const model::Window& window) {
  std::vector<Image> found;
  for (const std::uint32_t pid : pids) {
    std::vector<Image> images;
    for (const spool::ProcessEntry& process : session.processes)
      if (process.pid == pid)
        images.push_back({&process, static_cast<std::uint32_t>(images.size())});
    if (images.empty())
      return support::error(fmt::format("process {} has no spool in {}", pid, session.folder));
    const Image last = images.back();
    if (images.size() > 1)
      std::erase_if(images, [&](const Image& image) { return !has_events(image, window); });
    if (images.empty()) images.push_back(last);
    found.insert(found.end(), images.begin(), images.end());
  }
  return found;
}

}  // namespace

support::Result<std::vector<FileWritten>> write_window(const spool::SessionView& session,
                                                       const model::Window& window,
                                                       const std::vector<std::uint32_t>& pids,
                                                       const Progress& progress) {
  GPUPROF_TRY(images, find_images(session, pids, window));
  const api::SessionOptions& options = session.options;
  const std::uint64_t total = progress ? events_ahead(images, window) * options.formats.size() : 0;
  std::uint64_t before = 0;
  Staging staging(options.force);
  std::vector<FileWritten> files;
  std::uint32_t place = 0;
  for (const auto& [process, number] : images) {
    NameParts parts{session.host,    wants_rank(options) ? rank_text(*process) : std::string(),
                    process->pid,    window,
                    pids.size() > 1, number};
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
                                },
                                path.substr(path.rfind('/') + 1)};
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
