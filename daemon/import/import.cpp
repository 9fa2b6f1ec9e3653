// SPDX-License-Identifier: Apache-2.0
//
// import_traces(): files one by one into records, then into the spools of a session.
//
// Context:  cli through daemon/api
#include "daemon/import/import.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>

#include "daemon/export/words/rank.hpp"
#include "daemon/import/emit.hpp"
#include "daemon/import/file_times.hpp"
#include "daemon/import/json_events.hpp"
#include "daemon/import/session_process.hpp"
#include "daemon/import/text_source.hpp"
#include "daemon/spool/spool.hpp"
#include "support/text.hpp"
#include "support/tidy.hpp"

namespace gpuprof::importer {
namespace {

namespace fs = std::filesystem;

/// gpuprof writes small process ids as this much more: small numbers are devices.
constexpr std::int64_t kSmallPidOffset = 100'000;
constexpr std::int64_t kSmallPids = 64;
/// Two processes of one number, of two machines, are this far apart in the session.
constexpr std::uint32_t kNextPid = 10'000'000;
constexpr std::size_t kNamedKinds = 5;

support::Result<std::string> make_folder() {
  const char* const wanted = std::getenv("TMPDIR");
  std::string folder = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  folder += "/gpuprof-import-XXXXXX";
  int failure = 0;
  support::tidy([&] {
    if (::mkdtemp(folder.data()) != nullptr) return folder;
    failure = errno;
    return std::string();
  });
  if (failure != 0)
    return support::error(fmt::format("cannot create a folder {} for what is read: {}; set TMPDIR",
                                      folder, std::strerror(failure)));
  return folder;
}

/// `HOST_PID` of a file's name, as TensorBoard's plugin takes it apart.
std::pair<std::string, std::int64_t> worker_of(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (const std::string_view suffix : {".gz", ".json", ".trace", ".pt"})
    if (name.ends_with(suffix)) name.erase(name.size() - suffix.size());
  if (const std::size_t dot = name.rfind('.');
      dot != name.npos && name.find_first_not_of("0123456789", dot + 1) == name.npos)
    name.erase(dot);
  const std::size_t underscore = name.rfind('_');
  std::int64_t pid = 0;
  if (underscore == name.npos || underscore == 0) return {{}, 0};
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + underscore + 1, end, pid);
  if (error != std::errc() || at != end) return {{}, 0};
  return {name.substr(0, underscore), pid};
}

/// Makes the session; what it holds goes with it.
class Importer {
 public:
  Importer(Imported& result, const Progress& progress) : result_(result), progress_(progress) {}

  support::Result<void> run(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      std::error_code failed;
      total_bytes_ += fs::file_size(path, failed);
      if (failed) return support::error(fmt::format("cannot read {}: {}", path, failed.message()));
    }
    for (const std::string& path : paths) GPUPROF_CHECK(read(path, paths.size() > 1));
    GPUPROF_CHECK(check_mix());
    line_ = place_files(files_);
    GPUPROF_CHECK(begin_log());
    for (ReadFile& file : files_) GPUPROF_CHECK(emit(file));
    return finish();
  }

 private:
  /// A process of the session, and where its files say that it runs.
  struct Known {
    std::unique_ptr<SessionProcess> process;
    std::string host, rank;
    std::int64_t pid = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> times;
    std::uint64_t last_ns = 0;
  };

  support::Result<void> read(const std::string& path, bool of_several);
  support::Result<void> check_mix() const;
  support::Result<void> begin_log();
  support::Result<void> emit(ReadFile& file);
  support::Result<Known*> process_of(const ReadFile& file, const FileContent::Process& process);
  void describe_file(const ReadFile& file);
  support::Result<void> finish();
  void remark(const std::string& key, const std::string& sentence);
  api::SessionOptions options() const;
  std::string host_of(const ReadFile& file) const;

  Imported& result_;
  const Progress& progress_;
  Names names_;
  std::vector<ReadFile> files_;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0;
  Line line_;
  std::unique_ptr<spool::SessionLog> log_;
  std::vector<std::unique_ptr<Known>> known_;
  std::set<std::uint32_t> pids_;
};

support::Result<void> Importer::read(const std::string& path, bool of_several) {
  GPUPROF_TRY(source, TextSource::open(path));
  ReadFile file;
  file.path = path;
  file.content = std::make_unique<FileContent>(result_.folder);
  Classifier classifier(names_, *file.content, path, [&, text = source.get()] {
    if (progress_) progress_(done_bytes_ + text->bytes_read(), total_bytes_);
  });
  GPUPROF_CHECK(read_trace(*source, path, classifier));
  done_bytes_ += source->file_bytes();
  file.bytes = source->file_bytes();
  if (progress_) progress_(done_bytes_, total_bytes_);
  if (file.content->sorter.size() == 0) {
    std::vector<std::string> kinds;
    for (const auto& [kind, count] : file.content->unknown)
      if (kinds.size() < kNamedKinds) kinds.push_back(support::in_quotes(kind));
    return support::error(
        file.content->without_time != 0
            ? fmt::format("none of the events of {} has a time or length that can be read (the "
                          "largest is 2^63 ns): it is damaged, or of another kind",
                          path)
        : kinds.empty()
            ? fmt::format("{} is a trace without events", path)
            : fmt::format("{} is a trace of something else: none of its events is of a "
                          "kind that PyTorch's profiler or gpuprof writes (they are {})",
                          path, support::listed(kinds)));
  }
  if (of_several) file.content->sorter.park();
  files_.push_back(std::move(file));
  return {};
}

/// Figures of a simulated GPU are no measurements: never beside real ones.
support::Result<void> Importer::check_mix() const {
  const ReadFile* simulated = nullptr;
  const ReadFile* real = nullptr;
  for (const ReadFile& file : files_) {
    if (file.content->head.simulated)
      simulated = &file;
    else if (!file.content->head.devices.empty())
      real = &file;
  }
  if (simulated == nullptr || real == nullptr) return {};
  return support::error(
      fmt::format("{} is of a simulated GPU and {} of a real one: figures of the "
                  "two are not to be mixed; name files of one kind",
                  simulated->path, real->path));
}

std::string Importer::host_of(const ReadFile& file) const {
  return file.content->head.host.empty() ? worker_of(file.path).first : file.content->head.host;
}

api::SessionOptions Importer::options() const {
  api::SessionOptions options;
  bool samples = false, shapes = false, stacks = false, modules = false, memory = false;
  for (const ReadFile& file : files_) {
    const Head& head = file.content->head;
    samples = samples || file.content->any_samples || head.ours;
    shapes = shapes || head.shapes.value_or(file.content->any_inputs);
    stacks = stacks || head.stacks.value_or(file.content->any_frames || head.ours);
    modules = modules || head.modules.value_or(head.ours);
    memory = memory || head.memory.value_or(head.ours);
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

support::Result<void> Importer::begin_log() {
  std::string host;
  for (const ReadFile& file : files_)
    if (host.empty()) host = host_of(file);
  GPUPROF_TRY(log,
              spool::SessionLog::create(result_.folder, options(), host.empty() ? "trace" : host));
  log_ = std::move(log);
  return {};
}

void Importer::remark(const std::string& key, const std::string& sentence) {
  if (std::find(result_.remarks.begin(), result_.remarks.end(), sentence) != result_.remarks.end())
    return;
  result_.remarks.push_back(sentence);
  log_->remark(key, sentence);
}

/// The session's process that a file's process is: the same one of other spans, or a new one.
support::Result<Importer::Known*> Importer::process_of(const ReadFile& file,
                                                       const FileContent::Process& process) {
  const Head& head = file.content->head;
  const std::string host = host_of(file), rank = exporter::rank_of(head.facts).text();
  std::int64_t pid = process.pid;
  if (head.ours && head.pid < kSmallPids && pid == head.pid + kSmallPidOffset) pid = head.pid;
  for (const auto& one : known_) {
    if (one->pid != pid || one->host != host || one->rank != rank) continue;
    const bool at_once = std::any_of(one->times.begin(), one->times.end(), [&](const auto& time) {
      return overlap(time.first, time.second, file.from_ns, file.to_ns);
    });
    if (at_once) continue;
    one->times.emplace_back(file.from_ns, file.to_ns);
    return one.get();
  }
  auto number = pid >= 0 && pid <= 0xffffffff ? static_cast<std::uint32_t>(pid) : 0;
  while (!pids_.insert(number).second) number += kNextPid;
  if (number != pid)
    remark("pid", fmt::format("process {} of {} is process {} here, since another file is of a "
                              "process of that number",
                              pid, file.path, number));
  const std::string path = fmt::format("{}/{}.spool", result_.folder, known_.size());
  auto created = spool::ProcessWriter::create(path);
  if (const int failure = errno; !created) return support::error(no_room(result_.folder, failure));
  auto writer = created.take();
  Known& added = *known_.emplace_back(std::make_unique<Known>());
  added.process = std::make_unique<SessionProcess>(names_, std::move(writer), number, path);
  added.host = host;
  added.rank = rank;
  added.pid = pid;
  added.times.emplace_back(file.from_ns, file.to_ns);
  log_->process(number, path);
  return &added;
}

support::Result<void> Importer::emit(ReadFile& file) {
  FileContent& content = *file.content;
  const std::int64_t add_ns = file.base_ns - line_.real_minus_session_ns;
  // GPU rows alone still are somebody's.
  const bool any = std::any_of(content.processes.begin(), content.processes.end(),
                               [](const auto& process) { return process.records != 0; });
  if (!any) {
    const std::int64_t pid = content.head.pid != 0 ? content.head.pid : worker_of(file.path).second;
    content.processes.emplace_back();
    content.processes.back().pid = pid;
    content.processes.back().records = 1;
  }
  const model::Window& window = line_.windows[file.window];
  std::vector<SessionProcess*> sessions(content.processes.size());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (content.processes[i].records == 0) continue;
    GPUPROF_TRY(known, process_of(file, content.processes[i]));
    sessions[i] = known->process.get();
    const auto start_ns = static_cast<std::uint64_t>(file.from_ns - line_.real_minus_session_ns);
    known->process->describe(
        content, content.processes[i], names_,
        {start_ns, static_cast<std::uint64_t>(std::max<std::int64_t>(file.from_ns, 0))}, window);
    known->last_ns = static_cast<std::uint64_t>(
        std::max(file.to_ns, file.base_ns + content.last_ns) - line_.real_minus_session_ns);
  }
  Emitter emitter(names_, content, std::move(sessions), add_ns, window.end_ns, result_.python);
  GPUPROF_CHECK(emitter.run());
  if (emitter.unowned() != 0)
    remark("unowned", fmt::format("{} of {} {} launched by nobody in the file, which is of several "
                                  "processes: given to the first",
                                  support::counted(emitter.unowned(), "GPU event", "GPU events"),
                                  file.path, emitter.unowned() == 1 ? "was" : "were"));
  describe_file(file);
  file.content.reset();
  return {};
}

void Importer::describe_file(const ReadFile& file) {
  const FileContent& content = *file.content;
  ImportedFile& told = result_.files.emplace_back();
  told.path = file.path;
  told.bytes = file.bytes;
  told.events = content.understood;
  told.window = static_cast<std::uint32_t>(file.window);
  told.ours = content.head.ours;
  told.left_out = content.without_time;
  for (const std::string& sentence : content.head.remarks) remark("trace", sentence);
  std::vector<std::string> kinds;
  std::uint64_t unknown = 0;
  for (const auto& [kind, count] : content.unknown) {
    unknown += count;
    if (kinds.size() < kNamedKinds)
      kinds.push_back(fmt::format("{} of {}", count, support::in_quotes(kind)));
  }
  told.left_out += unknown;
  if (unknown != 0)
    remark("unknown", fmt::format("{} of {} {} of kinds that are not read and left out: {}{}",
                                  support::counted(unknown, "event", "events"), file.path,
                                  unknown == 1 ? "is" : "are", support::join(kinds, ", "),
                                  content.unknown.size() > kNamedKinds ? ", …" : ""));
  if (content.without_time != 0)
    remark("times", fmt::format("{} of {} without a time or length that can be read {} left out",
                                support::counted(content.without_time, "event", "events"),
                                file.path, content.without_time == 1 ? "is" : "are"));
}

support::Result<void> Importer::finish() {
  if (const std::uint64_t sets = names_.inputs.left_out(); sets != 0)
    remark("inputs", fmt::format("{} of operator inputs {} not kept: there were too many",
                                 support::counted(sets, "set", "sets"), sets == 1 ? "is" : "are"));
  std::vector<std::uint32_t> pids;
  std::vector<std::string> spools;
  for (const auto& one : known_) {
    GPUPROF_CHECK(one->process->end(one->last_ns));
    pids.push_back(one->process->pid());
    spools.push_back(fs::path(one->process->path()).filename().string());
  }
  for (const model::Window& window : line_.windows) log_->window(window);
  log_->chosen(pids, spools);
  log_->ended("imported");
  return {};
}

/// Each file once, in the order named.
std::vector<std::string> distinct(const std::vector<std::string>& paths) {
  std::vector<std::string> kept;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code failed;
    const fs::path same = fs::canonical(path, failed);
    if (seen.insert(failed ? path : same.string()).second) kept.push_back(path);
  }
  return kept;
}

}  // namespace

Imported::~Imported() {
  std::error_code ignored;
  if (folder.empty()) return;
  fs::remove_all(folder, ignored);
  support::forget_tidying(folder);
}

support::Result<std::unique_ptr<Imported>> import_traces(const std::vector<std::string>& paths,
                                                         const Progress& progress) {
  auto imported = std::make_unique<Imported>();
  GPUPROF_TRY(folder, make_folder());
  imported->folder = folder;
  GPUPROF_CHECK(Importer(*imported, progress).run(distinct(paths)));
  return imported;
}

}  // namespace gpuprof::importer
