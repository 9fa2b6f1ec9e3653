// SPDX-License-Identifier: Apache-2.0
//
// SessionProcess: definitions out of a file's head.
//
// Context:  cli through analysis/commands
#include "analysis/import/emit/session_process.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "analysis/export/labels/counted_texts.hpp"
#include "analysis/export/labels/event_counters.hpp"
#include "analysis/messages/missing.hpp"
#include "recording/model/loss.hpp"
#include "support/io/files.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::uint32_t kMissing = 1;  // level of a notice that says so
constexpr std::uint32_t kAlive = 2;    // ProcessEnd::how: alive at the session's end

namespace missing = messages::missing;

constexpr std::string_view text_before(std::string_view message, char end) {
  return message.substr(0, message.find(end));
}

bool holds_any(std::string_view message, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return message.find(part) != message.npos; });
}

/// is_repeated_by_import() for files of earlier versions. `text`: from the blank behind the count
/// on.
bool was_repeated_by_import(std::string_view text) {
  return holds_any(
      text,
      {" missing: ", " of CUPTI was ", " of CUPTI were ", "blocked the sampling signal",
       "blocked our signal", "tells it from others", "tells them apart",
       " that does not nest is drawn", " that do not nest are drawn", " nested deeper than 100 ",
       " calls of modules nested deeper than 40,", "no launch of its own: drawn",
       "no launch of their own: drawn", " over the border of the window ",
       " with the same correlation id ", " ProfilerStep# of the program "});
}

/// What whoever writes a file out of the events finds out again.
bool is_repeated_by_import(std::string_view message) {
  for (const std::string_view begin :
       {text_before(missing::kNoGpuActivity, ':'), text_before(missing::kNoOperators, ':'),
        text_before(missing::kNoSteps, ':'), text_before(missing::kNoSamples, ':'),
        text_before(missing::kClockAmbiguous, '{')})
    if (message.starts_with(begin)) return true;
  for (const std::string_view of_earlier_version :
       {"no GPU rows:", "no sampled stacks:", "CUPTI's clock changed while recording"})
    if (message.starts_with(of_earlier_version)) return true;
  const std::size_t blank = message.find(' ');
  if (blank == message.npos || message.find_first_not_of("0123456789") != blank) return false;
  const std::string_view text = message.substr(blank);
  for (const auto& [one, many] : exporter::kCountedTexts)
    if (text.starts_with(one) || text.starts_with(many)) return true;
  for (const auto kind :
       {exporter::OmissionReason::kNonNestingRange, exporter::OmissionReason::kDeepRange,
        exporter::OmissionReason::kDeepModule, exporter::OmissionReason::kEnclosingRange,
        exporter::OmissionReason::kClippedAtWindow, exporter::OmissionReason::kNestedCall,
        exporter::OmissionReason::kTruncatedName, exporter::OmissionReason::kUserStepRange})
    if (text.substr(1) == exporter::omission_message(kind, 1) ||
        text.substr(1) == exporter::omission_message(kind, 2))
      return true;
  return was_repeated_by_import(text);
}

}  // namespace

void SessionProcess::facts_of(const TraceMetadata& head) {
  for (const auto& [key, value] : head.facts)
    if (facts_.insert(key).second) writer_->on(model::Fact{key, value});
  const bool is_stated = std::any_of(head.facts.begin(), head.facts.end(), [](const auto& fact) {
    return fact.first.find("simulated") != std::string::npos;
  });
  if (head.simulated && !is_stated && facts_.insert("simulated").second)
    writer_->on(model::Fact{"simulated", "yes"});
}

void SessionProcess::losses_of(const TraceMetadata& head, const model::Window& window) {
  for (const TraceMetadata::Loss& loss : head.losses) {
    const std::uint64_t before = loss.total - std::min(loss.total, loss.in_window);
    const std::uint64_t last_ns = std::max(window.start_ns, window.end_ns - 1);
    if (loss.in_window != 0)
      writer_->on(model::Loss{loss.reason, 0, loss.in_window, window.start_ns, last_ns});
    // Each file tells all since the start; the first one's are enough.
    if (before != 0 && !described_)
      writer_->on(model::Loss{loss.reason, 0, before, window.start_ns - 1, window.start_ns - 1});
  }
}

// Each a feature of its own: none takes another one back.
void SessionProcess::add_notice(const std::string& text, std::uint32_t level, std::uint64_t ts_ns) {
  if (!notices_.insert(text).second) return;
  const auto number = static_cast<std::uint32_t>(notices_.size());
  writer_->on(model::Notice{ts_ns, 1000 + number, level, number, text});
}

void SessionProcess::add_missing_message(const std::string& text, std::uint64_t ts_ns) {
  add_notice(text, kMissing, ts_ns);
}

void SessionProcess::notices_of(const TraceMetadata& head, std::uint64_t ts_ns) {
  for (const std::string& text : head.missing)
    if (!is_repeated_by_import(text)) add_notice(text, kMissing, ts_ns);
  for (const std::string& text : head.notices) add_notice(text, 0, ts_ns);
}

void SessionProcess::write_description(const TraceMetadata& head, const PidTrack& row,
                                       InternedTables& names, const Start& start,
                                       const model::Window& window) {
  losses_of(head, window);
  if (!described_) {
    const std::string& exe = head.program.empty() ? row.name : head.program;
    writer_->on(model::Process{pid_, head.ppid, 0, 0, start.start_ns, start.start_real_ns, exe,
                               head.command});
    writer_->on(model::ClockSnapshot{start.start_ns, start.start_real_ns, start.start_ns, 0,
                                     head.worst_gap_ns});
  }
  described_ = true;
  facts_of(head);
  notices_of(head, start.start_ns);
  for (const auto& [tid, name] : row.threads)
    if (!name.empty()) writer_->on(model::ThreadName{tid, 0, start.start_ns, name});
  for (const TraceMetadata::Device& known : head.devices) {
    if (!devices_.insert(known.device.device).second) continue;
    model::Device device = known.device;
    device.name = reported_.string(names.texts.intern(known.name));
    writer_->on(device);
  }
}

void SessionProcess::context(const FileContent& content, std::uint32_t context,
                             std::uint32_t device) {
  if (context == last_context_) return;
  last_context_ = context;
  if (context == 0 || !contexts_.insert(context).second) return;
  const auto row = content.null_streams.lower_bound({device, 0});
  const bool known = row != content.null_streams.end() && row->first.first == device;
  writer_->on(model::Context{
      context, device, known ? static_cast<std::uint32_t>(row->first.second) : model::kNoObject});
}

void SessionProcess::domain(std::uint32_t text, const InternedTables& names) {
  if (text != 0 && domains_.insert(text).second)
    writer_->on(model::Domain{text, names.texts.text(text)});
}

support::Result<void> SessionProcess::end(std::uint64_t ts_ns) {
  writer_->on(model::ProcessEnd{ts_ns, -1, kAlive});
  writer_->close();
  return check();
}

support::Result<void> SessionProcess::check() const {
  if (writer_->ok()) return {};
  return support::error(disk_full_message(support::parent_folder(path_), writer_->failed_with()));
}

}  // namespace gpuprof::importer
