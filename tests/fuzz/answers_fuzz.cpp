// SPDX-License-Identifier: Apache-2.0
//
// Sessions that no honest process leaves, from a seed: every format, the report, the page and the
// comparison are made of each, or refused with a sentence.
#include <fcntl.h>
#include <rapidjson/document.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "analysis/commands/diff_sessions.hpp"
#include "analysis/commands/export_session.hpp"
#include "analysis/commands/formats.hpp"
#include "analysis/commands/report_page.hpp"
#include "analysis/commands/report_session.hpp"
#include "recording/spool/block.hpp"
#include "support/text/utf8.hpp"
#include "tests/fuzz/hurting_sink.hpp"
#include "tests/golden/tensorboard/scripted_session.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

/// More than all that comes of the small session, by far.
constexpr std::uint64_t kMaxOutputBytes = 256u << 20;
/// Of processor time: other programs may be busy, too. SIGPROF ends what takes longer.
constexpr long kMaxSeconds = 30;

void require(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "answers_fuzz: %s\n", what.c_str());
  std::abort();
}

/// 0: no limit any more.
void limit_seconds(long seconds) {
  const itimerval timer{{}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// What the small session lacks: memory, inputs, graphs.
void send_more(std::uint32_t pid, model::EventSink& sink) {
  const std::uint64_t words[] = {2, 0x0000000200000006ULL, 8, 16, 0x0000000100000006ULL, 4};
  sink.on(model::Inputs{1, 0, words});
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    model::Allocation memory{};
    memory.start_ns = memory.end_ns = test::kScriptStart + 100'000 + i * 50'000;
    memory.address = 4096 * (i / 2);
    memory.bytes = i % 2 == 0 ? 4096 : -4096;
    total += static_cast<std::uint64_t>(memory.bytes);
    memory.total_allocated_bytes = total;
    memory.total_reserved_bytes = 2 * total;
    memory.tid = pid;
    memory.device_type = i % 3 == 0 ? 0 : 1;
    memory.device = i % 3 == 0 ? -1 : 0;
    sink.on(memory);
    model::Operator op{};
    op.start_ns = memory.start_ns - 10'000;
    op.end_ns = memory.start_ns + 10'000;
    op.id = 5000 + i;
    op.parent = i == 0 ? 0 : 4999 + i;
    op.name = 1 + static_cast<model::StringId>(i);
    op.inputs = 1;
    op.sequence = static_cast<std::int64_t>(i / 2);
    op.scope = i % 2 == 0 ? 0 : model::kScopeBackward;
    op.tid = op.end_tid = pid;
    op.stack = 1;
    sink.on(op);
  }
  model::GraphExec graph{};
  graph.start_ns = test::kScriptStart + 400'000;
  graph.end_ns = graph.start_ns + 20'000;
  graph.graph = 3;
  graph.launch_tid = pid;
  sink.on(graph);
  sink.on(model::Loss{3, pid, 17, test::kScriptStart, test::kScriptStart + 1000});
  sink.on(model::Notice{test::kScriptStart, 1, 1, 1, "a notice"});
}

model::Window window_of(test::FieldCorruptor& hostile, std::uint32_t index) {
  model::Window window = test::script_window();
  window.index = index;
  window.start_ns += index * 500'000;
  test::CorruptFields hurt{hostile};
  hurt(window.index, window.start_ns, window.end_ns, window.stamp_real_ns, window.first_step,
       window.first_label, window.steps, window.settled_ns);
  return window;
}

/// Blocks whose sums are right and whose events have other bits.
void flip(const std::string& path, test::FieldCorruptor& hostile) {
  const std::string file = bytes_of(path);
  std::string out = file.substr(0, sizeof(spool::FileHeader));
  spool::BlockPacker packer;
  for (std::size_t at = out.size(); at + sizeof(spool::BlockHeader) <= file.size();) {
    spool::BlockHeader header{};
    std::memcpy(&header, file.data() + at, sizeof header);
    at += sizeof header;
    std::vector<std::byte> raw;
    const auto* stored = reinterpret_cast<const std::byte*>(file.data() + at);
    require(spool::unpack(header, {stored, header.stored_bytes}, raw), "a block cannot be read");
    at += header.stored_bytes;
    for (std::uint64_t flips = hostile.pick(6); flips != 0; --flips)
      raw[hostile.pick(raw.size())] ^= static_cast<std::byte>(1u << hostile.pick(8));
    const auto whole = packer.pack(header, raw);
    out.append(reinterpret_cast<const char*>(whole.data()), whole.size());
  }
  if (hostile.pick(4) == 0) out.resize(hostile.pick(out.size()));
  write_bytes(path, out);
}

/// A session of two ranks in `folder`.
void make(const std::string& folder, test::FieldCorruptor& hostile) {
  fs::create_directories(folder);
  recording::SessionOptions options;
  options.output = folder + "-out";
  auto log = spool::SessionLog::create(folder, options, "node").take();
  const bool flips = hostile.pick(3) == 0;
  for (const std::uint32_t rank : {0u, 1u}) {
    const std::uint32_t pid = 4000 + 100 * rank;
    const std::string path = folder + "/" + std::to_string(pid) + ".spool";
    auto writer = spool::ProcessWriter::create(path).take();
    test::CorruptingSink sink(hostile, *writer);
    test::send_script(pid, rank, sink);
    send_more(pid, sink);
    writer->close();
    if (flips) flip(path, hostile);
    log->process(pid, path);
  }
  if (hostile.pick(4) != 0)
    for (std::uint32_t i = 0; i <= hostile.pick(2); ++i) log->window(window_of(hostile, i));
  if (hostile.pick(4) == 0) return;
  log->selected({4000, 4100}, {});
  log->ended("made");
}

void check_json(const std::string& text, const char* what) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  require(!document.HasParseError() && support::is_utf8(text), std::string(what) + " is no JSON");
}

void export_all(const std::string& folder) {
  commands::ExportRequest request;
  request.spool = folder;
  request.output = folder + "-out";
  request.force = true;
  request.formats = commands::format_names();
  if (const auto done = commands::export_session(request, {}); !done.ok()) {
    require(!done.error().message.empty(), "no sentence");
    for (const std::string& format : commands::format_names()) {
      request.formats = {format};
      (void)commands::export_session(request, {});
    }
  }
  std::error_code ignored;
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(request.output, ignored)) {
    require(!entry.path().string().ends_with(".part"), "a part is left");
    if (entry.is_regular_file()) bytes += entry.file_size();
    if (entry.path().string().ends_with(".speedscope.json"))
      check_json(bytes_of(entry.path().string()), "speedscope");
  }
  require(bytes < kMaxOutputBytes, "the files are too large: " + std::to_string(bytes));
}

/// The overview, two tables as text, all of them as JSON, the page.
void report_all(const std::string& folder, test::FieldCorruptor& hostile) {
  commands::ReportRequest request;
  request.inputs = {folder};
  request.width = 80;
  const std::vector<std::string> tables = commands::report_tables();
  for (const std::string& table :
       {std::string(), tables[hostile.pick(tables.size())], tables[hostile.pick(tables.size())]}) {
    request.by = table;
    const auto done = commands::report_text(request, {});
    require(!done.ok() || done.value().text.size() < kMaxOutputBytes, "a table is too large");
  }
  request.by.clear();
  request.json = true;
  if (const auto done = commands::report_text(request, {}); done.ok())
    check_json(done.value().text, "the report");
  commands::ReportPageRequest page;
  page.inputs = {folder};
  page.page = folder + "-page.html";
  page.force = true;
  page.version = "fuzz";
  if (const auto done = commands::write_report_page(page, {}); done.ok())
    require(done.value() < (8u << 20), "the page is too large");
}

void compare(const std::string& before, const std::string& after) {
  commands::DiffRequest request;
  request.recordings = {before, after};
  request.conditions = {"step_time > +5%", "changes > 0"};
  request.width = 80;
  (void)commands::diff_recordings(request, {});
  request.json = true;
  request.conditions.clear();
  if (const auto done = commands::diff_recordings(request, {}); done.ok())
    check_json(done.value().text, "the comparison");
}

std::uint64_t seed_of(const std::uint8_t* data, std::size_t bytes) {
  std::uint64_t seed = 14695981039346656037ULL;
  for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ data[i]) * 1099511628211ULL;
  return seed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  char name[] = "/tmp/gpuprof-answers-XXXXXX";
  require(mkdtemp(name) != nullptr, "no folder");
  const std::string folder(name);
  test::FieldCorruptor hostile(seed_of(data, size));
  limit_seconds(kMaxSeconds);
  make(folder + "/one", hostile);
  make(folder + "/two", hostile);
  export_all(folder + "/one");
  report_all(folder + "/one", hostile);
  compare(folder + "/one", folder + "/two");
  limit_seconds(0);
  fs::remove_all(folder);
  return 0;
}
