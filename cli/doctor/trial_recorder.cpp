// SPDX-License-Identifier: Apache-2.0
//
// See trial_recorder.hpp.
//
// Context:  cli
#include "cli/doctor/trial_recorder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/messages/missing.hpp"
#include "cli/messages/doctor_trial.hpp"
#include "gpuprof/base/notices.hpp"
#include "support/io/files.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr char kProgramName[] = "/gpuprof-try";

const rapidjson::Value* member(const rapidjson::Value& of, const char* name) {
  if (!of.IsObject()) return nullptr;
  const auto found = of.FindMember(name);
  return found == of.MemberEnd() ? nullptr : &found->value;
}

/// Reported for each program that has no such work.
bool is_expected_gap(std::string_view message) {
  constexpr std::string_view kGaps[] = {messages::missing::kNoOperators,
                                        messages::missing::kNoSteps,
                                        messages::missing::kNoCudaCalls, base::kWorkBeforeAttach};
  return std::any_of(std::begin(kGaps), std::end(kGaps),
                     [&](std::string_view one) { return message.starts_with(one); });
}

/// What a command says of itself, without its name before it.
std::string stderr_summary(std::string text) {
  constexpr std::string_view kName = "gpuprof: ";
  while (text.ends_with('\n')) text.pop_back();
  if (text.starts_with(kName)) text.erase(0, kName.size());
  return support::escape_control_characters(text);
}

}  // namespace

std::uint64_t TrialResult::events(const char* kind) const {
  const rapidjson::Value* kinds = member(summary, "events_by_kind");
  const rapidjson::Value* count = kinds == nullptr ? nullptr : member(*kinds, kind);
  return count != nullptr && count->IsUint64() ? count->GetUint64() : 0;
}

std::uint64_t TrialResult::process_total(const char* what) const {
  const rapidjson::Value* processes = member(summary, "processes");
  std::uint64_t sum = 0;
  if (processes == nullptr || !processes->IsArray()) return 0;
  for (const rapidjson::Value& one : processes->GetArray()) {
    const rapidjson::Value* count = member(one, what);
    if (count != nullptr && count->IsUint64()) sum += count->GetUint64();
  }
  return sum;
}

bool TrialResult::simulated() const {
  const rapidjson::Value* value = member(summary, "simulated");
  return value != nullptr && value->IsBool() && value->GetBool();
}

std::string TrialResult::missing() const {
  const rapidjson::Value* messages = member(summary, "missing");
  std::vector<std::string> kept;
  if (messages != nullptr && messages->IsArray())
    for (const rapidjson::Value& one : messages->GetArray())
      if (one.IsString() && !is_expected_gap(one.GetString())) kept.emplace_back(one.GetString());
  return support::join(kept, "; ");
}

support::Result<TrialRecorder> TrialRecorder::make() {
  TrialRecorder trial;
  const std::string executable = support::executable_path();
  trial.gpuprof_ = executable;
  trial.program_ = support::parent_folder(executable) + kProgramName;
  if (!support::file_exists(trial.program_))
    return support::error(fmt::format(messages::doctor_trial::kNoProgram, trial.program_));
  trial.environment_ = support::current_environment();
  std::string folder = support::environment_get(trial.environment_, "TMPDIR");
  if (folder.empty()) folder = "/tmp";
  folder += "/gpuprof-try-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return support::error(
        fmt::format(messages::doctor_trial::kNoFolder, support::parent_folder(folder)));
  trial.folder_ = folder;
  return trial;
}

TrialRecorder::TrialRecorder(TrialRecorder&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      gpuprof_(std::move(other.gpuprof_)),
      program_(std::move(other.program_)),
      environment_(std::move(other.environment_)),
      recordings_(other.recordings_) {}

TrialRecorder::~TrialRecorder() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

support::Result<TrialResult> TrialRecorder::record(std::vector<std::string> words,
                                                   const std::vector<std::string>& program,
                                                   std::uint64_t timeout_ns) {
  const std::string place = fmt::format("{}/{}", folder_, ++recordings_);
  const std::string summary = place + ".json", errors = place + ".err";
  // The shell, for stderr: what a run says is what the user is to read.
  std::vector<std::string> line = {"/bin/sh", "-c", "exec \"$@\" 2>\"$0\"", errors, gpuprof_};
  std::move(words.begin(), words.end(), std::back_inserter(line));
  line.insert(line.end(), {"-o", place, "--summary-json", summary});
  if (!program.empty()) line.emplace_back("--");
  line.insert(line.end(), program.begin(), program.end());
  auto ran = support::run_captured(line, environment_, timeout_ns);
  if (!ran) return ran.error();
  TrialResult recorded;
  recorded.stdout_text = std::move(ran.value().out);
  recorded.stderr_line = stderr_summary(support::read_small_file(errors));
  if (ran.value().timed_out) {
    const std::uint64_t seconds = timeout_ns / 1'000'000'000;
    return support::error(
        recorded.stderr_line.empty()
            ? fmt::format(messages::doctor_trial::kTimeout, seconds)
            : fmt::format(messages::doctor_trial::kTimeoutSaid, seconds, recorded.stderr_line));
  }
  auto parsed = support::parse_json(support::read_small_file(summary));
  if (!parsed || !parsed.value().IsObject())
    return support::error(recorded.stderr_line.empty() ? messages::doctor_trial::kNoSummary
                                                       : recorded.stderr_line);
  recorded.summary = std::move(parsed.value());
  return recorded;
}

}  // namespace gpuprof::cli
