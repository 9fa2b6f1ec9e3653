// SPDX-License-Identifier: Apache-2.0
//
// All files of one window: written beside, then named together.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/labels/rank.hpp"
#include "analysis/export/output_paths.hpp"
#include "analysis/export/prescan/read_window.hpp"
#include "analysis/messages/export_files.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "support/process/out_of_memory.hpp"

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
  const auto end = spool::replay(process, {~0ULL, ~0ULL}, sink);
  return end.ok() ? rank_of(sink.facts).text() : std::string();
}

/// First and last instant of the window's steps in this process.
class WindowStepsSink final : public model::IgnoringSink {
 public:
  explicit WindowStepsSink(const model::Window& window) : window_(window) {}
  using model::IgnoringSink::on;
  void on(const model::Step& e) override {
    if (e.number < window_.first_step || e.number - window_.first_step >= window_.steps) {
      has_other_steps |= e.start_ns < window_.end_ns && e.end_ns > window_.start_ns;
      return;
    }
    ++found;
    start_ns = std::min(start_ns, e.start_ns);
    end_ns = std::max(end_ns, e.end_ns);
  }
  /// The session's instants hold exactly these steps here, too.
  bool matches_session_window() const {
    return start_ns >= end_ns ||
           (!has_other_steps && start_ns >= window_.start_ns && end_ns <= window_.end_ns);
  }
  bool has_all_steps() const { return found >= window_.steps; }
  std::uint64_t start_ns = ~0ULL, end_ns = 0, found = 0;
  bool has_other_steps = false;

 private:
  const model::Window& window_;
};

/// The window's steps, looked for ever further around it: a step is written when it ends, and
/// slower processes end theirs later. Mostly it is the first look; the last reads seconds of
/// events.
support::Result<WindowStepsSink> find_steps(const spool::ProcessEntry& process,
                                            const model::Window& window) {
  const std::uint64_t length_ns = window.end_ns - window.start_ns;
  for (const std::uint64_t slack_ns : {std::uint64_t{0}, kSlackNs / 100, kSlackNs}) {
    const std::uint64_t before_ns = slack_ns == 0 ? 0 : length_ns + slack_ns;
    const std::uint64_t after_ns = slack_ns == 0 ? 0 : 2 * length_ns + slack_ns;
    WindowStepsSink sink(window);
    GPUPROF_TRY(end, spool::replay(process,
                                   {window.start_ns - std::min(window.start_ns, before_ns),
                                    window.end_ns + after_ns},
                                   sink));
    (void)end;
    if (sink.has_all_steps() || slack_ns == kSlackNs) return sink;
  }
  return WindowStepsSink(window);
}

/// The window as this process lived it: the same steps, at its own times. A process without
/// steps is cut at the session's instants.
support::Result<model::Window> process_window(const spool::ProcessEntry& process,
                                              const model::Window& window) {
  model::Window own = window;
  if (window.steps == 0) return own;
  GPUPROF_TRY(sink, find_steps(process, window));
  if (sink.matches_session_window()) return own;
  own.start_ns = sink.start_ns;
  own.end_ns = sink.end_ns;
  own.stamp_real_ns += own.start_ns - window.start_ns;
  return own;
}

/// A program that ran in a process; an exec replaces it by the next.
struct ProcessImage {
  const spool::ProcessEntry* process;
  std::uint32_t number;
};

bool has_events(const ProcessImage& image, const model::Window& window) {
  const auto blocks = spool::block_summaries(*image.process, {window.start_ns, window.end_ns});
  return blocks && std::any_of(blocks.value().begin(), blocks.value().end(),
                               [](const spool::BlockSummary& block) { return block.events != 0; });
}

/// Of several images of a process those that lived in the window, or the last.
support::Result<std::vector<ProcessImage>> find_images(const spool::SessionView& session,
                                                       const std::vector<std::uint32_t>& pids,
                                                       const model::Window& window) {
  std::vector<ProcessImage> found;
  for (const std::uint32_t pid : pids) {
    std::vector<ProcessImage> images;
    for (const spool::ProcessEntry& process : session.processes)
      if (process.pid == pid)
        images.push_back({&process, static_cast<std::uint32_t>(images.size())});
    if (images.empty())
      return support::error(fmt::format(messages::export_files::kNoSpool, pid, session.folder));
    const ProcessImage last = images.back();
    if (images.size() > 1)
      std::erase_if(images, [&](const ProcessImage& image) { return !has_events(image, window); });
    if (images.empty()) images.push_back(last);
    found.insert(found.end(), images.begin(), images.end());
  }
  return found;
}

support::Result<std::vector<const Format*>> find_formats(const std::vector<std::string>& names) {
  std::vector<const Format*> found;
  for (const std::string& name : names) {
    found.push_back(find_format(name));
    if (found.back() == nullptr)
      return support::error(fmt::format(messages::export_files::kUnknownFormat, name));
  }
  return found;
}

/// What is left of a window's work. Formats say nothing after their last reading: it is done when
/// the file is there.
class ProgressMeter {
 public:
  ProgressMeter(const Progress& progress, std::uint64_t total)
      : progress_(progress), total_(total) {}

  /// A file that goes `passes` times over `events` begins.
  void begin(std::uint64_t events, std::uint32_t passes) { until_ += events * passes; }
  void read(std::uint64_t events) { tell(done_ + events); }
  void end() { tell(until_); }

 private:
  void tell(std::uint64_t done) {
    done_ = std::min(done, until_);
    if (progress_) progress_(done_, total_);
  }

  const Progress& progress_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0, until_ = 0;  // so far; once the file is there
};

}  // namespace

std::uint64_t count_window_events(const spool::SessionView& session, const model::Window& window,
                                  const std::vector<std::uint32_t>& pids) {
  const auto images = find_images(session, pids, window);
  std::uint64_t sum = 0;
  if (images)
    for (const ProcessImage& image : images.value())
      sum += count_pass_events(*image.process, window);
  return sum;
}

namespace {

support::Result<std::vector<WrittenFile>> write_files(const spool::SessionView& session,
                                                      const model::Window& window,
                                                      const std::vector<std::uint32_t>& pids,
                                                      const Progress& progress) {
  GPUPROF_TRY(images, find_images(session, pids, window));
  const recording::SessionOptions& options = session.options;
  GPUPROF_TRY(formats, find_formats(options.formats));
  std::uint32_t passes = 0;
  for (const Format* const format : formats) passes += format->event_passes;
  ProgressMeter meter(progress, count_window_events(session, window, pids) * passes);
  StagedFiles staging(options.force);
  std::vector<WrittenFile> files;
  std::uint32_t place = 0;
  for (const auto& [process, number] : images) {
    OutputNameFields parts{
        session.host,    pattern_uses_rank(options) ? rank_text(*process) : std::string(),
        process->pid,    window,
        pids.size() > 1, number};
    GPUPROF_TRY(own, process_window(*process, window));
    const std::uint64_t events = count_pass_events(*process, window);
    for (const Format* const format : formats) {
      GPUPROF_TRY(path, file_path(options, *format, parts));
      GPUPROF_TRY(temporary, staging.add(path));
      meter.begin(events, format->event_passes);
      const FileRequest request{session,
                                own,
                                *process,
                                temporary,
                                worker_name(session.host, process->pid),
                                is_uncompressed(path),
                                place,
                                [&](std::uint64_t read) { meter.read(read); },
                                path.substr(path.rfind('/') + 1)};
      GPUPROF_TRY(file, format->write(request));
      meter.end();
      file.path = path;
      files.push_back(std::move(file));
    }
    ++place;
  }
  GPUPROF_CHECK(staging.publish());
  return files;
}

}  // namespace

support::Result<std::vector<WrittenFile>> write_window(const spool::SessionView& session,
                                                       const model::Window& window,
                                                       const std::vector<std::uint32_t>& pids,
                                                       const Progress& progress) {
  return support::catch_out_of_memory(messages::export_files::kWriteTrace,
                                      [&] { return write_files(session, window, pids, progress); });
}

}  // namespace gpuprof::exporter
