// SPDX-License-Identifier: Apache-2.0
//
// tensorflow.ProfilerService: Profile and Terminate.
//
// Context:  serve (each call on a thread of gRPC's)
#include "serve/profiler_service_impl.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "gpuprof/base/clock.hpp"
#include "serve/messages/serve_requests.hpp"
#include "serve/profile_request.hpp"
#include "support/io/log.hpp"
#include "support/process/procfs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr long kLookNs = 20'000'000;
/// How often processes are looked for while there are none.
constexpr std::uint64_t kBetweenLooksNs = 200'000'000;
/// A control socket that does not answer may be away for a fork, or of a process that ended or runs
/// another program by now.
constexpr std::uint64_t kSocketRetry_ns = 1'000'000'000;
/// One that goes on as yet another program meanwhile is given that time again, but not for ever.
constexpr std::uint64_t kExecRetry_ns = 10'000'000'000;
/// Processes come and go: one may have ended, or become another program, between finding and
/// recording it.
constexpr int kMaxAttempts = 3;

/// A call without a deadline has one in the far future.
std::optional<std::uint64_t> remaining_of(const grpc::ServerContext& context) {
  const auto remaining = context.deadline() - std::chrono::system_clock::now();
  if (remaining > std::chrono::hours(24)) return std::nullopt;
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(remaining).count();
  return ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
}

RequestedProfile ask_of(const tensorflow::ProfileRequest& request) {
  const tensorflow::ProfileOptions& options = request.opts();
  RequestedProfile ask;
  ask.version = options.version();
  ask.device_type = static_cast<std::uint32_t>(options.device_type());
  ask.host_level = options.host_tracer_level();
  ask.device_level = options.device_tracer_level();
  ask.python_level = options.python_tracer_level();
  ask.start_ns = options.start_timestamp_ns();
  ask.duration_ms = options.duration_ms() != 0 ? options.duration_ms() : request.duration_ms();
  return ask;
}

void fill_response(std::vector<CapturedFile>& files, tensorflow::ProfileResponse* response) {
  for (CapturedFile& file : files) {
    tensorflow::ProfileToolData* data = response->add_tool_data();
    data->set_name(file.name);
    data->set_data(std::move(file.data));
  }
  response->set_empty_trace(files.empty());
}

std::vector<std::uint32_t> pids_of(const std::vector<TargetProcess>& members) {
  std::vector<std::uint32_t> pids;
  for (const TargetProcess& member : members) pids.push_back(member.pid);
  return pids;
}

Status busy(const TargetProcesses& members) {
  const std::uint32_t pid = members.busy.front();
  return {StatusCode::ALREADY_EXISTS, fmt::format(messages::serve_requests::kProcessIsBusy, pid)};
}

}  // namespace

Service::Service(CaptureCommand command, std::uint32_t allowed)
    : command_(std::move(command)), allowed_(allowed) {}

void Service::set_filter(ProcessFilter choice) {
  const std::scoped_lock lock(mutex_);
  choice_ = std::move(choice);
  selected_ = true;
}

bool Service::is_recording() const {
  const std::scoped_lock lock(mutex_);
  return recording_;
}

bool Service::wait_for_last_response(std::uint64_t timeout_ns) const {
  if (!is_recording()) return false;
  const std::uint64_t deadline_ns = base::mono_ns() + timeout_ns;
  while (is_recording() && base::mono_ns() < deadline_ns) {
    const timespec rest{0, kLookNs};
    nanosleep(&rest, nullptr);
  }
  return true;
}

bool Service::begin_recording(const std::string& session_id) {
  const std::scoped_lock lock(mutex_);
  if (recording_ || closing_) return false;
  recording_ = true;
  terminated_ = false;
  session_id_ = session_id;
  return true;
}

void Service::end_recording() {
  const std::scoped_lock lock(mutex_);
  recording_ = false;
  session_id_.clear();
}

/// Gives the turn back, whatever happens.
class Service::RecordingGuard {
 public:
  explicit RecordingGuard(Service& service) : service_(service) {}
  ~RecordingGuard() { service_.end_recording(); }
  RecordingGuard(const RecordingGuard&) = delete;
  RecordingGuard& operator=(const RecordingGuard&) = delete;

 private:
  Service& service_;
};

bool Service::should_stop(const grpc::ServerContext& context) const {
  return closing_ || terminated_ || context.IsCancelled();
}

/// False: it ends before that.
bool Service::wait_until(const grpc::ServerContext& context, std::uint64_t when_ns) const {
  while (!should_stop(context)) {
    if (base::mono_ns() >= when_ns) return true;
    const timespec rest{0, kLookNs};
    nanosleep(&rest, nullptr);
  }
  return false;
}

TargetProcesses Service::find_processes(const grpc::ServerContext& context) const {
  ProcessFilter choice;
  {
    const std::scoped_lock lock(mutex_);
    if (!selected_) return {};
    choice = choice_;
  }
  const std::uint64_t last_ns = base::mono_ns() + kExecRetry_ns;
  std::uint64_t deadline_ns = base::mono_ns() + kSocketRetry_ns;
  TargetProcesses members = find_target_processes(choice);
  while (!members.failure.empty() && base::mono_ns() < deadline_ns) {
    const auto pid = static_cast<pid_t>(members.failure_pid);
    const std::uint32_t program = support::exec_fingerprint(pid);
    if (!wait_until(context, base::mono_ns() + kLookNs)) break;
    members = find_target_processes(choice);
    if (support::has_execed(pid, program))
      deadline_ns = std::min(last_ns, base::mono_ns() + kSocketRetry_ns);
  }
  return members;
}

/// Waits for the first one: a program that has just begun has none yet.
TargetProcesses Service::wait_for_processes(const grpc::ServerContext& context,
                                            std::uint64_t deadline_ns) const {
  while (true) {
    TargetProcesses members = find_processes(context);
    if (!members.idle.empty() || !members.busy.empty() || !members.failure.empty()) return members;
    const std::uint64_t now = base::mono_ns();
    if (now >= deadline_ns || !wait_until(context, std::min(deadline_ns, now + kBetweenLooksNs)))
      return members;
  }
}

/// What is left of the plan after waiting for processes; again, where one of them ended or became
/// another program meanwhile.
Status Service::record(const grpc::ServerContext& context, const RequestedProfile& ask,
                       const CapturePlan& plan, tensorflow::ProfileResponse* response) {
  TargetProcesses members = wait_for_processes(context, base::mono_ns() + plan.record_ns);
  for (int attempt = 1;; ++attempt) {
    if (!members.busy.empty()) return busy(members);
    if (members.idle.empty() && !members.failure.empty())
      return {StatusCode::INTERNAL, members.failure};
    Rejection refused;
    const auto now =
        make_capture_plan(ask, allowed_, base::real_ns(), remaining_of(context), &refused);
    if (members.idle.empty() || !now || should_stop(context)) break;
    spdlog::info(messages::serve_requests::kRecording,
                 support::count_with_unit(members.idle.size(), "process", "processes"),
                 support::human_duration(now->record_ns));
    auto files = capture(command_, {now->record_ns, now->trace, pids_of(members.idle)},
                         [&] { return should_stop(context); });
    if (files && !files.value().empty()) {
      fill_response(files.value(), response);
      return Status::OK;
    }
    const std::vector<TargetProcess> before = std::exchange(members, find_processes(context)).idle;
    if (attempt < kMaxAttempts && before != members.idle) continue;
    if (!files) return {StatusCode::INTERNAL, files.error().message};
    break;
  }
  response->set_empty_trace(true);
  return Status::OK;
}

Status Service::Profile(grpc::ServerContext* context, const tensorflow::ProfileRequest* request,
                        tensorflow::ProfileResponse* response) try {
  const RequestedProfile ask = ask_of(*request);
  Rejection refused;
  const auto plan =
      make_capture_plan(ask, allowed_, base::real_ns(), remaining_of(*context), &refused);
  if (!plan)
    return {refused.kind == RejectReason::kTooLate ? StatusCode::DEADLINE_EXCEEDED
                                                   : StatusCode::INVALID_ARGUMENT,
            refused.message};
  if (!begin_recording(request->session_id()))
    return {StatusCode::ALREADY_EXISTS, messages::serve_requests::kServiceIsBusy};
  const RecordingGuard turn(*this);
  if (plan->trace == 0 || !wait_until(*context, base::mono_ns() + plan->wait_ns)) {
    response->set_empty_trace(true);
    return Status::OK;
  }
  Status status = record(*context, ask, *plan, response);
  const auto files = static_cast<std::uint64_t>(response->tool_data_size());
  spdlog::info(
      messages::serve_requests::kResponse,
      status.ok() ? support::count_with_unit(files, "file", "files") : status.error_message());
  return status;
} catch (const std::exception& failure) {
  // Out of memory, most likely: the next one may be smaller.
  return {StatusCode::INTERNAL, fmt::format(messages::serve_requests::kFailed, failure.what())};
}

Status Service::Terminate(grpc::ServerContext*, const tensorflow::TerminateRequest* request,
                          tensorflow::TerminateResponse*) {
  const std::scoped_lock lock(mutex_);
  const std::string& id = request->session_id();
  if (!recording_ || (!id.empty() && id != session_id_))
    return {StatusCode::NOT_FOUND, messages::serve_requests::kNotCapturing};
  terminated_ = true;
  return Status::OK;
}

Status Service::Monitor(grpc::ServerContext*, const tensorflow::MonitorRequest*,
                        tensorflow::MonitorResponse*) {
  return {StatusCode::UNIMPLEMENTED, messages::serve_requests::kOnlyProfile};
}

}  // namespace gpuprof::serve
