// SPDX-License-Identifier: Apache-2.0
//
// Classifier: events whose category is missing, unknown or says too little, by their rows and
// arguments.
//
// Context:  cli through analysis/commands
#include <algorithm>
#include <array>

#include "analysis/import/classify/classify.hpp"
#include "analysis/messages/import_events.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::importer {
namespace {

/// Kineto numbers devices from 0 and processes as the system does.
constexpr std::int64_t kMaxDeviceNumber = 64;

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

TrackRole Classifier::current_role(const PidTrack& row) const {
  if (row.named_role != TrackRole::kUnknown) return row.named_role;
  if (row.host_events != 0) return TrackRole::kHost;
  if (row.gpu_events != 0) return TrackRole::kDevice;
  const bool any_host =
      std::any_of(content_.tracks.begin(), content_.tracks.end(), [&](const PidTrack& other) {
        return &other != &row && (other.named_role == TrackRole::kHost || other.host_events != 0);
      });
  return any_host && row.pid >= 0 && row.pid < kMaxDeviceNumber ? TrackRole::kDevice
                                                                : TrackRole::kUnknown;
}

TrackRole Classifier::role_of(std::uint16_t index) {
  PidTrack& row = content_.tracks[index];
  const TrackRole role = current_role(row);
  row.role_changed = row.role_changed || (row.assumed_role && *row.assumed_role != role);
  row.assumed_role = role;
  return role;
}

/// Work of a device has a device and a stream; what runs on a thread of a process has none.
bool Classifier::looks_like_gpu_work(const RawEvent& e) {
  const bool stream = e.arg(Arg::kStream).present() || e.arg(Arg::kQueue).present() ||
                      e.arg(Arg::kHandle).present() || e.arg(Arg::kTaskType).present();
  if (stream && e.arg(Arg::kDevice).present()) return true;
  const TrackRole role = role_of(process_of(e));
  if (role == TrackRole::kUnknown) return stream;
  return role == TrackRole::kDevice || role == TrackRole::kCommunication;
}

void Classifier::count_guess(std::string_view category, std::string_view as) {
  constexpr std::size_t kMaxGuesses = 1000;
  guessed_ = true;
  if (content_.guessed.size() < kMaxGuesses)
    ++content_.guessed[{std::string(category.substr(0, 80)), std::string(as)}];
}

/// No category, or one that nobody knows.
void Classifier::take_by_shape(const RawEvent& e) {
  const TrackRole role = role_of(process_of(e));
  if (e.category.empty() && role != TrackRole::kUnknown && role != TrackRole::kHost)
    return take_by_track(e, role);
  const std::string_view category = e.category.empty() ? "(none)" : e.category;
  if (e.category.empty() && e.name.empty()) return skip(e, SkipReason::kUnknownKind);
  // The row's name says it: "CPU functions".
  if (e.category.empty() && content_.tracks[process_of(e)].named_role == TrackRole::kHost &&
      !is_api_call_name(e.name))
    return take_operator(e, ParsedKind::kOperator, false);
  if (looks_like_gpu_work(e)) {
    count_guess(category, messages::import_events::kDeviceWork);
    return take_task(e);
  }
  if (is_api_call_name(e.name)) {
    count_guess(category, messages::import_events::kHostCalls);
    return take_call(e, EventCategory::kRuntime);
  }
  count_guess(category, messages::import_events::kHostRanges);
  take_operator(e, ParsedKind::kOperator, false);
}

/// Of a row whose name tells what is in it.
void Classifier::take_by_track(const RawEvent& e, TrackRole role) {
  switch (role) {
    case TrackRole::kDuplicate:
      return;
    case TrackRole::kApiCalls:
    case TrackRole::kProfilerOverhead:
      return take_call(e, EventCategory::kRuntime);
    case TrackRole::kCommunication:
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
  if (is_instant_task(task) || is_instant_task(e.name))
    return skip(e, SkipReason::kUnsupportedInstant);
  if (is_pause_task(task) || is_pause_task(e.name)) return take_sync(e);
  if (is_copy_task(task) || is_copy_task(e.name)) return take_copy(e);
  if (e.name.starts_with("Memset") || has_part(task, "MEMSET")) return take_set(e);
  take_kernel(e);
}

/// A wait of a thread that the writer recorded beside the call it was in, or instead of it.
void Classifier::take_host_wait(const RawEvent& e) {
  // Barriers are waits of the device.
  if (e.text(Arg::kTaskType).starts_with("GPU_")) return take_sync(e);
  if (start(e, ParsedKind::kCall, true) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  record_.name = names_.texts.intern(e.name);
  record_.call = {};
  // Nothing was launched by it: its number is that of the call around it, if there is one.
  record_.call.api = model::kApiWait;
  record_.call.stack = names_.ways.intern_line(e.text(Arg::kCallStack), names_.texts);
  add_current();
}

void Classifier::take_collective(const RawEvent& e, bool on_device) {
  if (on_device) return take_kernel(e, true);
  take_operator(e, ParsedKind::kOperator, false);
}

std::uint32_t Classifier::handle(std::string_view text) {
  constexpr std::size_t kMaxGuesses = 100'000;
  const auto next = static_cast<std::uint32_t>(handles_.size() + 1);
  if (next > kMaxGuesses) return next;
  return handles_.try_emplace(std::string(text), next).first->second;
}

}  // namespace gpuprof::importer
