// SPDX-License-Identifier: Apache-2.0
//
// gpuprof doctor: what this machine can and cannot do, and why.
//
// Context:  cli
#include "cli/doctor/checks.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "cli/messages/doctor.hpp"
#include "cli/options/command_table.hpp"
#include "cli/output/stdout_writer.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/json.hpp"

namespace gpuprof::cli {
namespace {

const char* word(CheckStatus health) {
  switch (health) {
    case CheckStatus::kGood:
      return "ok";
    case CheckStatus::kLimited:
      return "limited";
    case CheckStatus::kMissing:
      return "missing";
    case CheckStatus::kBlocking:
      return "blocking";
  }
  return "";
}

bool any_blocking(const CheckResults& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const CheckResult& f) { return f.health == CheckStatus::kBlocking; });
}

}  // namespace

std::string check_results_text(const CheckResults& findings) {
  std::string text;
  for (const CheckResult& finding : findings) {
    text += fmt::format("{:<8} {:<13} {}\n", word(finding.health), finding.topic, finding.message);
  }
  const char* const verdict =
      any_blocking(findings) ? messages::doctor::kCannotRecord : messages::doctor::kCanRecord;
  return text + verdict + "\n";
}

std::string check_results_json(const CheckResults& findings) {
  support::JsonWriter json;
  json.begin_object().member("can_record", !any_blocking(findings)).key("findings").begin_array();
  for (const CheckResult& finding : findings) {
    json.begin_object();
    json.member("health", word(finding.health)).member("topic", finding.topic);
    json.member("sentence", finding.message).end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

support::Result<int> doctor_command(Options& options) {
  if (!options.arguments.empty()) {
    return support::error(
        fmt::format(messages::doctor::kTakesNoArgument, support::in_quotes(options.arguments[0])));
  }
  // The others' processes answer EPERM.
  if (options.pid != 0 && kill(static_cast<pid_t>(options.pid), 0) != 0 && errno == ESRCH) {
    return support::error(fmt::format(messages::doctor::kNoSuchProcess, options.pid));
  }
  const std::vector<std::string> environment = support::current_environment();
  CheckResults findings;
  check_installation(findings);
  check_glibc(findings);
  check_driver(findings);
  check_cupti(environment, findings);
  check_sampling(findings);
  check_second_thread(findings);
  check_ptrace(findings);
  check_python(environment, findings);
  check_preloads(environment, findings);
  check_shared_memory(findings);
  check_output(findings);
  if (options.pid != 0) check_process(options.pid, findings);
  CheckResults tried;
  if (options.try_recording) check_trial_recordings(tried);
  const bool all_came = std::none_of(tried.begin(), tried.end(), [](const CheckResult& one) {
    return one.health == CheckStatus::kMissing;
  });
  findings.insert(findings.end(), tried.begin(), tried.end());
  std::string text = options.json ? check_results_json(findings) : check_results_text(findings);
  if (!options.json && !all_came) text += std::string(messages::doctor::kTrialIncomplete) + "\n";
  GPUPROF_CHECK(write_stdout(text, messages::doctor::kFindings));
  return any_blocking(findings) || !all_came ? 1 : 0;
}

}  // namespace gpuprof::cli
