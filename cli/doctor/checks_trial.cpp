// SPDX-License-Identifier: Apache-2.0
//
// gpuprof doctor --try: records a small program with every source, and says what arrived.
//
// Context:  cli
// Owns:     nothing
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/doctor/checks.hpp"
#include "cli/doctor/trial_recorder.hpp"
#include "cli/messages/doctor_trial.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/json.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kTimeoutNs = 60 * kSecondNs, kPythonTimeoutNs = 300 * kSecondNs;
constexpr int kSteps = 20;  // of the training below

constexpr char kHasTorch[] =
    "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 3)";
constexpr char kTraining[] =
    "import torch\n"
    "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    "model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), "
    "torch.nn.Linear(64, 1)).to(device)\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
    "x = torch.randn(32, 64, device=device)\n"
    "for step in range(20):\n"
    "    optimizer.zero_grad()\n"
    "    model(x).sum().backward()\n"
    "    optimizer.step()\n"
    "print('{\"device\": \"%s\"}' % device)\n";

/// A word that the program says.
std::string reported_text(const rapidjson::Document& reported, const char* what) {
  const auto found = reported.FindMember(what);
  return found != reported.MemberEnd() && found->value.IsString() ? found->value.GetString() : "";
}

/// What the program says it did.
std::uint64_t reported_count(const rapidjson::Document& reported, const char* what) {
  const auto found = reported.FindMember(what);
  return found != reported.MemberEnd() && found->value.IsUint64() ? found->value.GetUint64() : 0;
}

void add(CheckResults& out, bool good, const std::string& topic, const std::string& what,
         const TrialResult& recorded) {
  const std::string why = good ? "" : recorded.missing();
  const std::string counts =
      recorded.simulated() ? fmt::format(messages::doctor_trial::kOnSimulatedGpu, what) : what;
  out.push_back({good ? CheckStatus::kGood : CheckStatus::kMissing, topic,
                 why.empty() ? counts : counts + ": " + why});
}

void add_failure(CheckResults& out, const std::string& topic, const support::Error& error) {
  out.push_back({CheckStatus::kMissing, topic,
                 fmt::format(messages::doctor_trial::kNothingRecorded, error.message)});
}

std::string work_text(const TrialResult& recorded, std::uint64_t kernels, std::uint64_t copies,
                      std::uint64_t sets) {
  return fmt::format(messages::doctor_trial::kWork, recorded.events("kernels"), kernels,
                     recorded.events("memory copies"), copies, recorded.events("memory sets"),
                     sets);
}

/// @return Whether the program has used a GPU.
bool try_run(TrialRecorder& trial, CheckResults& out) {
  auto ran = trial.record({"run", "-q"}, {trial.program(), "200"}, kTimeoutNs);
  if (!ran) return add_failure(out, "try: run", ran.error()), false;
  const TrialResult& recorded = ran.value();
  const std::uint64_t samples = recorded.events("samples");
  add(out, samples != 0, "try: stacks",
      fmt::format(messages::doctor_trial::kSamples,
                  support::count_with_unit(samples, "sample", "samples")),
      recorded);
  auto reported = support::parse_json(recorded.stdout_text);
  if (!reported || !reported.value().IsObject())
    return add_failure(out, "try: GPU", support::error(messages::doctor_trial::kNoResults)), false;
  const rapidjson::Document& of = reported.value();
  if (reported_text(of, "gpu") != "used") {
    const bool none = reported_text(of, "gpu") == "none";
    const std::string why = reported_text(of, "why");
    out.push_back({none ? CheckStatus::kGood : CheckStatus::kMissing, "try: GPU",
                   none ? fmt::format(messages::doctor_trial::kNoGpuUsed, why)
                        : fmt::format(messages::doctor_trial::kGpuUnusable, why)});
    return false;
  }
  const std::uint64_t kernels = reported_count(of, "kernels"),
                      copies = reported_count(of, "copies"), sets = reported_count(of, "sets");
  const bool whole = recorded.events("kernels") == kernels &&
                     recorded.events("memory copies") == copies &&
                     recorded.events("memory sets") == sets;
  add(out, whole, "try: GPU", work_text(recorded, kernels, copies, sets), recorded);
  const std::uint64_t calls = recorded.events("API calls"), launched = kernels + copies + sets;
  add(out, calls >= launched, "try: calls",
      fmt::format(messages::doctor_trial::kCalls, calls, launched), recorded);
  return true;
}

/// The program, which runs until its stdin ends.
class TrialProcess {
 public:
  explicit TrialProcess(const TrialRecorder& trial) {
    int in[2], out[2];
    if (::pipe(in) != 0) return;
    base::UniqueFd theirs(in[0]);
    stdin_ = base::UniqueFd(in[1]);
    if (::pipe(out) != 0) return;
    base::UniqueFd written(out[1]);
    stdout_ = base::UniqueFd(out[0]);
    for (const int fd : {in[1], out[0]}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    support::LaunchOptions launch;
    launch.path = trial.program();
    launch.arguments = {trial.program(), "until-eof"};
    launch.environment = trial.environment();
    launch.descriptors = {{0, theirs.get()}, {1, written.get()}};
    const auto started = support::launch_process(launch);
    if (started) pid_ = started.value();
  }
  ~TrialProcess() {
    stdin_.reset();
    stdout_.reset();
    constexpr std::uint64_t kEndNs = 5 * kSecondNs;
    if (pid_ <= 0 || support::reap_child(pid_, kEndNs)) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// Waits until it has begun to work, however long the driver takes to start.
  bool works() const {
    constexpr int kTimeoutMs = 60'000;
    char byte = 0;
    pollfd one{stdout_.get(), POLLIN, 0};
    return pid_ > 0 && ::poll(&one, 1, kTimeoutMs) == 1 && ::read(stdout_.get(), &byte, 1) == 1;
  }

 private:
  base::UniqueFd stdin_, stdout_;
  pid_t pid_ = -1;
};

/// Attaches to the program for so long. @return False: too little came, more time may help.
bool try_attach_for(TrialRecorder& trial, const TrialProcess& running, bool gpu, const char* length,
                    CheckResults& out) {
  std::vector<std::string> words = {"attach", std::to_string(running.pid()), "-q", "-d", length};
  // Else it is refused before anything that may not work is tried; our program has nothing to lose.
  const bool filtered = has_seccomp_filter();
  if (filtered) words.emplace_back("--ignore-seccomp");
  auto ran = trial.record(words, {}, kTimeoutNs);
  if (!ran) return add_failure(out, "try: attach", ran.error()), true;
  const TrialResult& recorded = ran.value();
  const std::uint64_t samples = recorded.events("samples"), kernels = recorded.events("kernels"),
                      calls = recorded.events("API calls");
  const bool whole = samples != 0 && (!gpu || (kernels != 0 && calls != 0));
  add(out, whole, "try: attach",
      filtered
          ? fmt::format(messages::doctor_trial::kAttachedIgnoring, samples, kernels, calls, length)
          : fmt::format(messages::doctor_trial::kAttached, samples, kernels, calls, length),
      recorded);
  if (whole && filtered) out.back().health = CheckStatus::kLimited;
  return whole;
}

void try_attach(TrialRecorder& trial, bool gpu, CheckResults& out) {
  const TrialProcess running(trial);
  if (!running.works())
    return add_failure(out, "try: attach", support::error(messages::doctor_trial::kDidNotStart));
  // On a busy machine the program may not get to run in so short a time.
  CheckResults first;
  if (try_attach_for(trial, running, gpu, "200ms", first))
    out.insert(out.end(), first.begin(), first.end());
  else
    try_attach_for(trial, running, gpu, "3s", out);
}

void try_training(TrialRecorder& trial, CheckResults& out) {
  const std::vector<std::string> python = {"/usr/bin/env", "python3"};
  const auto asked = support::run_captured({python[0], python[1], "-c", kHasTorch},
                                           trial.environment(), kTimeoutNs);
  if (!asked || asked.value().wait_status != 0) {
    out.push_back({CheckStatus::kGood, "try: PyTorch", messages::doctor_trial::kNoTorch});
    return;
  }
  auto ran = trial.record({"run", "-q"}, {python[0], python[1], "-c", kTraining}, kPythonTimeoutNs);
  if (!ran) return add_failure(out, "try: PyTorch", ran.error());
  const TrialResult& recorded = ran.value();
  const bool gpu = recorded.stdout_text.find("cuda") != std::string::npos;
  const std::uint64_t steps = recorded.process_total("steps"),
                      operators = recorded.events("operators"),
                      kernels = recorded.events("kernels");
  add(out, steps == kSteps && operators != 0 && (!gpu || kernels != 0), "try: PyTorch",
      fmt::format(messages::doctor_trial::kTraining, steps, kSteps, operators, kernels,
                  gpu ? "GPU" : "CPU"),
      recorded);
}

}  // namespace

void check_trial_recordings(CheckResults& out) {
  auto made = TrialRecorder::make();
  if (!made) return add_failure(out, "try", made.error());
  TrialRecorder& trial = made.value();
  const bool gpu = try_run(trial, out);
  try_attach(trial, gpu, out);
  try_training(trial, out);
}

}  // namespace gpuprof::cli
