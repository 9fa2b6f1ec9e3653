// SPDX-License-Identifier: Apache-2.0
//
// import_traces(): files one by one into records, then into the spools of a session.
//
// Context:  cli through analysis/commands
#include "analysis/import/import.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "analysis/export/labels/rank.hpp"
#include "analysis/import/detect_input.hpp"
#include "analysis/import/emit/emit.hpp"
#include "analysis/import/emit/session_process.hpp"
#include "analysis/import/emit/track_owners.hpp"
#include "analysis/import/emit/worker_name.hpp"
#include "analysis/import/file_diagnostics.hpp"
#include "analysis/import/json/json_events.hpp"
#include "analysis/import/json/text_source.hpp"
#include "analysis/import/time/file_alignment.hpp"
#include "analysis/messages/import_events.hpp"
#include "analysis/messages/import_files.hpp"
#include "recording/messages/spool.hpp"
#include "recording/spool/spool.hpp"
#include "support/io/signal_cleanup.hpp"

namespace gpuprof::importer {
namespace {

namespace fs = std::filesystem;

/// gpuprof writes small process ids as this much more: small numbers are devices.
constexpr std::int64_t kSmallPidOffset = 100'000;
constexpr std::int64_t kSmallPids = 64;
/// Two processes of one number, of two machines, are this far apart in the session.
constexpr std::uint32_t kNextPid = 10'000'000;

support::Result<std::string> make_folder() {
  const char* const wanted = std::getenv("TMPDIR");
  std::string folder = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  folder += "/gpuprof-import-XXXXXX";
  int failure = 0;
  support::create_with_cleanup([&] {
    if (::mkdtemp(folder.data()) != nullptr) return folder;
    failure = errno;
    return std::string();
  });
  if (failure != 0)
    return support::error(
        fmt::format(messages::import_files::kCannotCreateFolder, folder, std::strerror(failure)));
  return folder;
}

/// Makes the session; what it holds goes with it.
class Importer {
 public:
  Importer(ImportedSession& result, const Progress& progress)
      : result_(result), progress_(progress) {}

  /// @param named  so many of them were named, the rest was found in folders
  support::Result<void> run(const std::vector<std::string>& paths, std::size_t named) {
    for (const std::string& path : paths) {
      std::error_code failed;
      total_bytes_ += fs::file_size(path, failed);
      if (failed)
        return support::error(fmt::format(messages::spool::kCannotRead, path, failed.message()));
    }
    several_ = paths.size() > 1;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      GPUPROF_TRY(other, read(paths[i], i >= named));
      if (other.empty()) continue;
      if (i < named) return support::error(fmt::format("{} {}", paths[i], other));
      result_.not_traces.emplace_back(paths[i], other);
    }
    if (files_.empty()) return support::error(not_traces_message(result_.not_traces, false));
    GPUPROF_CHECK(check_no_gpu_mix());
    line_ = align_files(files_);
    GPUPROF_CHECK(open_session_log());
    if (const std::string runs = multiple_runs_message(files_); !runs.empty()) add_message(runs);
    for (ParsedFile& file : files_) GPUPROF_CHECK(emit_file(file));
    if (events_ == 0)
      return support::error(nothing_imported_message(result_.files.front().path, files_.size(),
                                                     result_.import_messages));
    return finish();
  }

 private:
  /// A process of the session, and where its files say that it runs.
  struct KnownProcess {
    std::unique_ptr<SessionProcess> process;
    std::string host, rank, file;  // the first one
    std::int64_t pid = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> times;
    std::uint64_t last_ns = 0;
  };

  /// What the file is in place of a trace, or "".
  support::Result<std::string> read(const std::string& path, bool found);
  support::Result<std::string> read_once(ParsedFile& file, bool found,
                                         const FirstPassHints* foreseen,
                                         std::optional<FirstPassHints>& next);
  support::Result<void> check_no_gpu_mix() const;
  support::Result<void> open_session_log();
  support::Result<void> emit_file(ParsedFile& file);
  support::Result<KnownProcess*> process_of(const ParsedFile& file, const PidTrack& row,
                                            const TraceMetadata& head);
  TraceMetadata head_of(const FileContent& content, const TrackOwners& owners,
                        const PidTrack& row) const;
  void describe_file(const ParsedFile& file);
  support::Result<void> finish();
  void add_note(const std::string& key, const std::string& message);
  recording::SessionOptions options() const;
  void add_message(const std::string& message);
  std::string host_of(const ParsedFile& file) const;

  ImportedSession& result_;
  const Progress& progress_;
  InternedTables names_;
  std::vector<ParsedFile> files_;
  bool several_ = false;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0, events_ = 0;
  SessionTimeline line_;
  std::unique_ptr<spool::SessionLog> log_;
  std::vector<std::unique_ptr<KnownProcess>> known_;
  std::set<std::uint32_t> pids_;
  DuplicateProcesses duplicate_processes_;
};

support::Result<std::string> Importer::read(const std::string& path, bool found) {
  ParsedFile file;
  file.path = path;
  std::optional<FirstPassHints> foreseen, none;
  GPUPROF_TRY(other, read_once(file, found, nullptr, foreseen));
  if (!other.empty()) return other;
  // Some events say what they are only together with others that come later.
  if (foreseen) {
    GPUPROF_TRY(same, read_once(file, found, &*foreseen, none));
    if (!same.empty()) return same;
  }
  done_bytes_ += file.bytes;
  if (progress_) progress_(done_bytes_, total_bytes_);
  GPUPROF_TRY(far, drop_time_outliers(*file.content, result_.folder));
  file.content->outlier_times = std::move(far);
  if (file.content->sorter.size() == 0) return empty_trace_message(file.content->account);
  if (several_) file.content->sorter.spill_all();
  files_.push_back(std::move(file));
  return std::string();
}

support::Result<std::string> Importer::read_once(ParsedFile& file, bool found,
                                                 const FirstPassHints* foreseen,
                                                 std::optional<FirstPassHints>& next) {
  GPUPROF_TRY(source, TextSource::open(file.path));
  file.content = std::make_unique<FileContent>(result_.folder);
  Classifier classifier(
      names_, *file.content, file.path,
      [&, text = source.get()] {
        if (progress_) progress_(done_bytes_ + text->bytes_read(), total_bytes_);
      },
      foreseen);
  GPUPROF_TRY(other, read_trace(*source, file.path, found, classifier));
  file.bytes = source->file_bytes();
  file.content->trailing_bytes = source->trailing_bytes();
  if (const std::uint64_t nul = source->nul_bytes(); nul != 0)
    file.content->account.count_repairs(RepairKind::kNulByte, nul);
  next = classifier.finish();
  return other;
}

/// Figures of a simulated GPU are no measurements: never beside real ones.
support::Result<void> Importer::check_no_gpu_mix() const {
  const ParsedFile* simulated = nullptr;
  const ParsedFile* real = nullptr;
  for (const ParsedFile& file : files_) {
    if (file.content->head.simulated)
      simulated = &file;
    else if (!file.content->head.devices.empty())
      real = &file;
  }
  if (simulated == nullptr || real == nullptr) return {};
  return support::error(
      fmt::format(messages::import_events::kSimulatedAndReal, simulated->path, real->path));
}

std::string Importer::host_of(const ParsedFile& file) const {
  return file.content->head.host.empty() ? worker_of(file.path).first : file.content->head.host;
}

recording::SessionOptions Importer::options() const {
  recording::SessionOptions options;
  bool samples = false, shapes = false, stacks = false, modules = false, memory = false;
  for (const ParsedFile& file : files_) {
    const TraceMetadata& head = file.content->head;
    samples = samples || file.content->any_samples || head.written_by_gpuprof;
    shapes = shapes || head.shapes.value_or(file.content->any_inputs);
    stacks = stacks || head.stacks.value_or(file.content->any_frames || head.written_by_gpuprof);
    modules = modules || head.modules.value_or(head.written_by_gpuprof);
    memory = memory || head.memory.value_or(head.written_by_gpuprof);
    if (options.version.empty()) options.version = head.version;
    if (options.name.empty()) options.name = head.session;
    if (options.command_line.empty()) options.command_line = head.command;
  }
  if (!samples) options.rate_hz = 0;
  options.record_shapes = shapes;
  options.with_stack = stacks;
  options.with_modules = modules;
  options.profile_memory = memory;
  return options;
}

support::Result<void> Importer::open_session_log() {
  std::string host;
  for (const ParsedFile& file : files_)
    if (host.empty()) host = host_of(file);
  GPUPROF_TRY(log,
              spool::SessionLog::create(result_.folder, options(), host.empty() ? "trace" : host));
  log_ = std::move(log);
  return {};
}

void Importer::add_note(const std::string& key, const std::string& message) {
  if (std::find(result_.notes.begin(), result_.notes.end(), message) != result_.notes.end()) return;
  result_.notes.push_back(message);
  log_->remark(key, message);
}

/// The session's process that a file's process is: the same one of other spans, or a new one.
support::Result<Importer::KnownProcess*> Importer::process_of(const ParsedFile& file,
                                                              const PidTrack& row,
                                                              const TraceMetadata& head) {
  const std::string host = host_of(file), rank = exporter::rank_of(head.facts).text();
  std::int64_t pid = row.pid;
  if (head.written_by_gpuprof && head.pid < kSmallPids && pid == head.pid + kSmallPidOffset)
    pid = head.pid;
  for (const auto& one : known_) {
    if (one->pid != pid || one->host != host || one->rank != rank) continue;
    const bool at_once = std::any_of(one->times.begin(), one->times.end(), [&](const auto& time) {
      return overlap(time.first, time.second, file.from_ns, file.to_ns);
    });
    if (at_once) {
      duplicate_processes_.add(one->file, file.path, row.pid, rank);
      continue;
    }
    one->times.emplace_back(file.from_ns, file.to_ns);
    return one.get();
  }
  auto number = pid >= 0 && pid <= 0xffffffff ? static_cast<std::uint32_t>(pid) : 0;
  while (!pids_.insert(number).second) number += kNextPid;
  if (number != pid)
    add_note("pid", fmt::format(messages::import_events::kProcessRenumbered,
                                row.label.empty() ? std::to_string(pid)
                                                  : row.label + " " + std::to_string(pid),
                                file.path, number));
  const std::string path = fmt::format("{}/{}.spool", result_.folder, known_.size());
  auto created = spool::ProcessWriter::create(path);
  if (const int failure = errno; !created)
    return support::error(disk_full_message(result_.folder, failure));
  auto writer = created.take();
  KnownProcess& added = *known_.emplace_back(std::make_unique<KnownProcess>());
  added.process = std::make_unique<SessionProcess>(names_, std::move(writer), number, path);
  added.host = host;
  added.rank = rank;
  added.file = file.path;
  added.pid = pid;
  added.times.emplace_back(file.from_ns, file.to_ns);
  log_->process(number, path);
  return &added;
}

/// What the head of the file says of one of its processes.
TraceMetadata Importer::head_of(const FileContent& content, const TrackOwners& owners,
                                const PidTrack& row) const {
  TraceMetadata head = content.head;
  if (!owners.has_several()) return head;
  // The head is of one rank, nobody knows which.
  head.facts.erase("rank");
  if (const auto rank = rank_of_label(row.label)) {
    head.facts["rank"] = std::to_string(*rank);
    head.facts.try_emplace("world_size", std::to_string(owners.hosts().size()));
  }
  return head;
}

support::Result<void> Importer::emit_file(ParsedFile& file) {
  FileContent& content = *file.content;
  const std::int64_t add_ns = file.base_ns - line_.real_minus_session_ns;
  TrackOwners owners(content);
  if (owners.needs_votes()) {
    content.sorter.spill_all();
    GPUPROF_CHECK(content.sorter.rewind());
    while (const ParsedEvent* const record = content.sorter.next()) owners.vote(*record);
    owners.count_votes();
  }
  const model::Window& window = line_.windows[file.window];
  std::vector<SessionProcess*> sessions(content.tracks.size());
  for (const std::uint16_t index : owners.hosts()) {
    PidTrack& row = content.tracks[index];
    // GPU rows alone still are somebody's.
    if (row.pid <= 0)
      row.pid = content.head.pid != 0 ? content.head.pid : worker_of(file.path).second;
    const TraceMetadata head = head_of(content, owners, row);
    GPUPROF_TRY(known, process_of(file, row, head));
    sessions[index] = known->process.get();
    const auto start_ns = static_cast<std::uint64_t>(file.from_ns - line_.real_minus_session_ns);
    known->process->write_description(
        head, row, names_,
        {start_ns, static_cast<std::uint64_t>(std::max<std::int64_t>(file.from_ns, 0))}, window);
    known->last_ns = static_cast<std::uint64_t>(
        std::max(file.to_ns, file.base_ns + content.last_ns) - line_.real_minus_session_ns);
  }
  Emitter emitter(names_, content, owners, std::move(sessions), add_ns, window,
                  result_.python_calls);
  GPUPROF_CHECK(emitter.run());
  if (owners.has_several() && content.head.facts.contains("rank"))
    add_note("ranks", fmt::format(messages::import_events::kOneRankStated, file.path,
                                  owners.hosts().size()));
  if (const std::uint64_t count = emitter.ownerless_gpu_events(); count != 0)
    add_note("unowned", assigned_events_message(file.path, count));
  events_ += emitter.events();
  describe_file(file);
  file.content.reset();
  return {};
}

void Importer::describe_file(const ParsedFile& file) {
  const FileContent& content = *file.content;
  ImportedFile& reported = result_.files.emplace_back();
  reported.path = file.path;
  reported.bytes = file.bytes;
  reported.account = content.account;
  reported.window = static_cast<std::uint32_t>(file.window);
  reported.written_by_gpuprof = content.head.written_by_gpuprof;
  for (const std::string& message : content.head.notes) add_note("trace", message);
  for (const std::string& message : file_diagnostics(file.path, content)) add_message(message);
}

/// How the files were read.
void Importer::add_message(const std::string& message) {
  add_note("reading", message);
  result_.import_messages.push_back(message);
}

support::Result<void> Importer::finish() {
  if (!duplicate_processes_.message().empty()) add_message(duplicate_processes_.message());
  if (!result_.not_traces.empty()) add_message(not_traces_message(result_.not_traces, true));
  if (const std::uint64_t sets = names_.inputs.left_out(); sets != 0)
    add_note("inputs", dropped_inputs_message(sets));
  std::vector<std::uint32_t> pids;
  std::vector<std::string> spools;
  for (const auto& one : known_) {
    GPUPROF_CHECK(one->process->end(one->last_ns));
    pids.push_back(one->process->pid());
    spools.push_back(fs::path(one->process->path()).filename().string());
  }
  for (const model::Window& window : line_.windows) log_->window(window);
  log_->selected(pids, spools);
  log_->ended("imported");
  return {};
}

}  // namespace

ImportedSession::~ImportedSession() {
  std::error_code ignored;
  if (folder.empty()) return;
  fs::remove_all(folder, ignored);
  support::cancel_cleanup(folder);
}

support::Result<std::unique_ptr<ImportedSession>> import_traces(
    const std::vector<std::string>& paths, const Progress& progress, const FolderFiles& folder) {
  std::vector<std::string> all = unique_paths(paths);
  const std::size_t named = all.size();
  all.insert(all.end(), folder.candidates.begin(), folder.candidates.end());
  auto imported = std::make_unique<ImportedSession>();
  GPUPROF_TRY(made, make_folder());
  imported->folder = made;
  imported->not_traces = folder.skipped;
  GPUPROF_CHECK(Importer(*imported, progress).run(unique_paths(all), named));
  return imported;
}

}  // namespace gpuprof::importer
