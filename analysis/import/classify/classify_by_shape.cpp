// SPDX-License-Identifier: Apache-2.0
//
// Classifier: events whose category is missing, unknown or says too little, by their rows and
// arguments.
//
// Context:  cli through analysis/commands
#include <algorithm>
#include <array>

#include "analysis/import/classify/classify.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::importer {
namespace {

/// Kineto numbers devices from 0 and processes as the system does.
constexpr std::int64_t kMostDevices = 64;

bool has_part(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> begins) {
  return std::any_of(begins.begin(), begins.end(),
                     [&](std::string_view begin) { return text.starts_with(begin); });
}

/// What Ascend's devices do instead of work, by the type of a task or its name.
bool is_pause_task(std::string_view task) {
  return begins_with_any(task, {"EVENT_WAIT", "NOTIFY_WAIT", "Notify_Wait", "Notify Wait"});
}
bool is_instant_task(std::string_view task) {
  return begins_with_any(task, {"EVENT_RECORD", "NOTIFY_RECORD", "Notify_Record", "PROFILER_",
                                "PLACE_HOLDER", "EVENT_RESET"});
}
bool is_copy_task(std::string_view task) {
  return begins_with_any(task, {"MEMCPY", "SDMA", "PCIE_DMA", "Memcpy", "CopyHostToDevice",
                                "CopyDeviceToHost", "CopyDeviceToDevice"});
}

}  // namespace

Role Classifier::role_now(const Row& row) const {
  if (row.told != Role::kUnknown) return row.told;
  if (row.records != 0) return Role::kHost;
  if (row.gpu_records != 0) return Role::kDevice;
  const bool any_host =
      std::any_of(content_.rows.begin(), content_.rows.end(), [&](const Row& other) {
        return &other != &row && (other.told == Role::kHost || other.records != 0);
      });
  return any_host && row.pid >= 0 && row.pid < kMostDevices ? Role::kDevice : Role::kUnknown;
}

Role Classifier::role_of(std::uint16_t index) {
  Row& row = content_.rows[index];
  const Role role = role_now(row);
  row.changed = row.changed || (row.used && *row.used != role);
  row.used = role;
  return role;
}

/// Work of a device has a device and a stream; what runs on a thread of a process has none.
bool Classifier::looks_like_work(const RawEvent& e) {
  const bool stream = e.arg(Arg::kStream).given() || e.arg(Arg::kQueue).given() ||
                      e.arg(Arg::kHandle).given() || e.arg(Arg::kTaskType).given();
  if (stream && e.arg(Arg::kDevice).given()) return true;
  const Role role = role_of(process_of(e));
  if (role == Role::kUnknown) return stream;
  return role == Role::kDevice || role == Role::kCommunication;
}

void Classifier::guess(std::string_view category, std::string_view as) {
  constexpr std::size_t kMost = 1000;
  guessed_ = true;
  if (content_.guessed.size() < kMost)
    ++content_.guessed[{std::string(category.substr(0, 80)), std::string(as)}];
}

/// No category, or one that nobody knows.
void Classifier::by_shape(const RawEvent& e) {
  const Role role = role_of(process_of(e));
  if (e.category.empty() && role != Role::kUnknown && role != Role::kHost) return of_row(e, role);
  const std::string_view category = e.category.empty() ? "(none)" : e.category;
  if (e.category.empty() && e.name.empty()) return left_out(e, Reason::kUnknownKind);
  // The row's name says it: "CPU functions".
  if (e.category.empty() && content_.rows[process_of(e)].told == Role::kHost &&
      !is_call_name(e.name))
    return take_operator(e, RecordKind::kOperator, false);
  if (looks_like_work(e)) {
    guess(category, "work of a device");
    return take_task(e);
  }
  if (is_call_name(e.name)) {
    guess(category, "calls of the host");
    return take_call(e, Kind::kRuntime);
  }
  guess(category, "ranges of the host");
  take_operator(e, RecordKind::kOperator, false);
}

/// Of a row whose name tells what is in it.
void Classifier::of_row(const RawEvent& e, Role role) {
  switch (role) {
    case Role::kRepeats:
      return;
    case Role::kCalls:
    case Role::kCollector:
      return take_call(e, Kind::kRuntime);
    case Role::kCommunication:
      // Besides collectives the row has the parts that each consists of.
      if (begins_with_any(e.name, {"hcom_", "Hccl", "hccl"})) return take_kernel(e, true);
      return;
    default:
      return take_task(e);
  }
}

/// Work of a device whose category does not tell copies from kernels.
void Classifier::take_task(const RawEvent& e) {
  const std::string_view type = e.text(Arg::kTaskType);
  const std::string_view task = type.empty() ? e.name : type;
  if (is_instant_task(task) || is_instant_task(e.name)) return left_out(e, Reason::kNoWork);
  if (is_pause_task(task) || is_pause_task(e.name)) return take_sync(e);
  if (is_copy_task(task) || is_copy_task(e.name)) return take_copy(e);
  if (e.name.starts_with("Memset") || has_part(task, "MEMSET")) return take_set(e);
  take_kernel(e);
}

/// A wait of a thread that the writer recorded beside the call it was in, or instead of it.
void Classifier::take_host_wait(const RawEvent& e) {
  // Barriers are waits of the device.
  if (e.text(Arg::kTaskType).starts_with("GPU_")) return take_sync(e);
  if (start(e, RecordKind::kCall, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  record_.name = names_.texts.intern(e.name);
  record_.call = {};
  // Nothing was launched by it: its number is that of the call around it, if there is one.
  record_.call.api = model::kApiWait;
  record_.call.stack = names_.ways.of_line(e.text(Arg::kCallStack), names_.texts);
  keep();
}

void Classifier::take_collective(const RawEvent& e, bool on_device) {
  if (on_device) return take_kernel(e, true);
  take_operator(e, RecordKind::kOperator, false);
}

std::uint32_t Classifier::handle(std::string_view text) {
  constexpr std::size_t kMost = 100'000;
  const auto next = static_cast<std::uint32_t>(handles_.size() + 1);
  if (next > kMost) return next;
  return handles_.try_emplace(std::string(text), next).first->second;
}

}  // namespace gpuprof::importer
