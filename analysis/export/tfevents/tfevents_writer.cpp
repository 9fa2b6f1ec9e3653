// SPDX-License-Identifier: Apache-2.0
//
// One process and window as a file of events.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tfevents/tfevents_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "analysis/export/encoding/gzip_file.hpp"
#include "analysis/export/tfevents/step_scalars.hpp"
#include "analysis/export/tfevents/tfevents.pb.h"
#include "analysis/export/tfevents/tfrecord.hpp"
#include "analysis/messages/export_scalars.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

namespace export_scalars = messages::export_scalars;

constexpr double kNsPerMs = 1e6, kNsPerSecond = 1e9;

double ms(std::uint64_t ns) { return static_cast<double>(ns) / kNsPerMs; }

class ScalarFile {
 public:
  ScalarFile(GzipFile& file, const model::Window& window) : out_(file), window_(window) {
    tfevents::Event version;
    version.set_wall_time(seconds_at(window.start_ns));
    version.set_file_version("brain.Event:2");
    put(version);
  }

  /// Begins the values of a step.
  void begin(const StepScalars& step) {
    event_.Clear();
    event_.set_wall_time(seconds_at(step.end_ns));
    event_.set_step(static_cast<std::int64_t>(step.label));
  }
  void value(const std::string& tag, double number, const std::string& description) {
    tfevents::Summary::Value& one = *event_.mutable_summary()->add_value();
    one.set_tag(tag);
    one.set_simple_value(static_cast<float>(number));
    if (!reported_.insert(tag).second) return;
    one.mutable_metadata()->mutable_plugin_data()->set_plugin_name("scalars");
    one.mutable_metadata()->set_summary_description(description);
  }
  void end() { put(event_); }
  void finish() { out_.finish(); }

 private:
  double seconds_at(std::uint64_t ns) const {
    const double since = static_cast<double>(ns) - static_cast<double>(window_.start_ns);
    return (static_cast<double>(window_.stamp_real_ns) + since) / kNsPerSecond;
  }
  void put(const tfevents::Event& event) { out_.text(tfrecord(event.SerializeAsString())); }

  BufferedWriter out_;
  const model::Window& window_;
  tfevents::Event event_;
  std::set<std::string> reported_;
};

void write_gpu(const StepScalars& step, std::size_t gpus, ScalarFile& to) {
  const double length = static_cast<double>(step.end_ns - step.start_ns);
  const double busy = static_cast<double>(step.busy_ns) / static_cast<double>(gpus) / length;
  to.value("gpu/busy", std::min(busy, 1.0), export_scalars::kGpuBusy);
  to.value("gpu/kernels", static_cast<double>(step.kernels), export_scalars::kKernels);
  to.value("gpu/kernel_time_ms", ms(step.kernel_ns), export_scalars::kKernelTime);
  to.value("gpu/copy_time_ms", ms(step.copy_ns), export_scalars::kCopyTime);
  to.value("gpu/copy_bytes", static_cast<double>(step.copy_bytes), export_scalars::kCopyBytes);
}

void write_memory(const StepScalars& step, ScalarFile& to) {
  for (const auto& [device, memory] : step.memory) {
    const std::string where = device < 0 ? "cpu" : fmt::format("cuda_{}", device);
    to.value(fmt::format("memory/{}/allocated_peak_bytes", where),
             static_cast<double>(memory.allocated_peak_bytes), export_scalars::kAllocatedPeak);
    if (device >= 0)
      to.value(fmt::format("memory/{}/reserved_peak_bytes", where),
               static_cast<double>(memory.reserved_peak_bytes), export_scalars::kReservedPeak);
  }
}

void write_step(const StepScalars& step, const StepScalarsSink& sink, ScalarFile& to) {
  const double length = static_cast<double>(step.end_ns - step.start_ns);
  to.value("step/time_ms", ms(step.end_ns - step.start_ns), export_scalars::kStepTime);
  if (sink.gpus() != 0) write_gpu(step, sink.gpus(), to);
  write_memory(step, to);
  if (sink.has_loader()) {
    to.value("loader/time_ms", ms(step.loader_ns), export_scalars::kLoaderTime);
    to.value("loader/share", static_cast<double>(step.loader_ns) / length,
             export_scalars::kLoaderShare);
  }
  if (sink.has_waits()) to.value("sync/wait_ms", ms(step.wait_ns), export_scalars::kWaitTime);
}

std::uint64_t dropped(const Prescan& prescan) {
  std::uint64_t sum = 0;
  for (const auto& [reason, loss] : prescan.losses)
    if (model::counts_records(static_cast<model::LossReason>(reason))) sum += loss.in_window;
  return sum;
}

}  // namespace

support::Result<WrittenFile> write_tfevents(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  StepScalarsSink sink(shown->prescan());
  GPUPROF_CHECK(shown->replay(sink));
  const std::vector<StepScalars>& steps = sink.finish();
  GPUPROF_TRY(file, GzipFile::create(request.path, true));
  ScalarFile to(*file, request.window);
  for (const StepScalars& step : steps) {
    if (step.end_ns <= step.start_ns) continue;
    to.begin(step);
    write_step(step, sink, to);
    if (&step == &steps.back())
      to.value("records/dropped", static_cast<double>(dropped(shown->prescan())),
               export_scalars::kDropped);
    to.end();
  }
  to.finish();
  GPUPROF_TRY(bytes, file->finish());
  return shown->make_written_file("tfevents", bytes);
}

}  // namespace gpuprof::exporter
