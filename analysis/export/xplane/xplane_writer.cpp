// SPDX-License-Identifier: Apache-2.0
//
// One process and window as an XSpace.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/xplane/xplane_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/export/encoding/text_file.hpp"
#include "analysis/export/xplane/xplane_builders.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kSuffix = ".xplane.pb";

class XplanePass final : public ShownSink {
 public:
  explicit XplanePass(Shown& shown) : file_(shown), host_(file_) {
    // xprof counts GPUs from 0; one whose device is not known comes last.
    std::set<std::uint32_t> devices;
    for (const auto& [device, stream] : shown.survey().gpu_rows) devices.insert(device);
    for (const std::uint32_t device : devices) add_gpu(device);
  }

  void on(const ShownStep& e) override { host_.add(e); }
  void on(const ShownOp& e) override { host_.add(e); }
  void on(const ShownRange& e) override { host_.add(e); }
  void on(const ShownCall& e) override { host_.add(e); }
  void on(const ShownSync& e) override { host_.add(e); }
  void on(const ShownOverhead& e) override { host_.add(e); }
  void on(const ShownSample& e) override { host_.add(e); }
  void on(const ModuleCall& e) override { host_.add(e); }
  void on(const ShownGpu<model::Kernel>& e) override { gpu(e); }
  void on(const ShownGpu<model::MemCopy>& e) override { gpu(e); }
  void on(const ShownGpu<model::MemSet>& e) override { gpu(e); }
  void on(const ShownGpu<model::GraphExec>& e) override { gpu(e); }
  void on(const model::Allocation& e) override {
    host_.add(e);
    if (e.device_type == 0) return;
    if (const auto found = gpus_.find(static_cast<std::uint32_t>(e.device)); found != gpus_.end())
      found->second->add(e);
  }

  void finish() {
    file_.ops.finish();
    std::ranges::sort(file_.launches, {}, &XplaneLaunch::correlation);
    std::sort(file_.planes.begin(), file_.planes.end());
    for (auto& [device, gpu] : gpus_) gpu->finish();
    host_.finish();
  }
  std::uint64_t left_out() const { return file_.left_out; }
  /// In the order of the file.
  std::vector<XplanePlane*> planes() {
    std::vector<XplanePlane*> all{&host_.plane()};
    for (auto& [device, gpu] : gpus_) all.push_back(&gpu->plane());
    return all;
  }

 private:
  void add_gpu(std::uint32_t device) {
    gpus_.emplace(device, std::make_unique<XplaneGpu>(file_, device,
                                                      static_cast<std::uint32_t>(gpus_.size())));
  }
  template <typename E>
  void gpu(const ShownGpu<E>& e) {
    auto found = gpus_.find(e.device);
    if (found == gpus_.end()) {
      add_gpu(e.device);
      found = gpus_.find(e.device);
    }
    found->second->add(e);
  }

  XplaneFile file_;
  XplaneHost host_;
  std::map<std::uint32_t, std::unique_ptr<XplaneGpu>> gpus_;
};

/// First and last instant of what is drawn, and the window's first.
Interval session_of(const Survey& survey, const std::vector<XplanePlane*>& planes) {
  Interval session{survey.window.start_ns, survey.window.start_ns};
  for (XplanePlane* const plane : planes)
    for (const XplaneLine& line : plane->lines())
      for (const XplaneEvent& event : line.events) {
        session.start_ns = std::min(session.start_ns, event.start_ns);
        session.end_ns = std::max(session.end_ns, event.end_ns);
      }
  return session;
}

/// The only place for absolute time; and what the file is about, for who looks into it.
void write_environment(const Shown& shown, const Interval& session, JsonText& out) {
  const Survey& survey = shown.survey();
  const FileRequest& request = shown.request();
  XplanePlane plane(0, "Task Environment");
  const std::uint64_t begin =
      request.window.stamp_real_ns - (survey.window.start_ns - session.start_ns);
  plane.fact("profile_start_time", begin);
  plane.fact("profile_stop_time", begin + (session.end_ns - session.start_ns));
  plane.fact("writer", fmt::format("gpuprof {}", request.session.options.version));
  plane.fact("host", request.session.host);
  plane.fact("pid", std::uint64_t{survey.pid});
  plane.fact("command_line", survey.command_line);
  if (shown.simulated()) plane.fact("simulated_gpu", "yes");
  for (const auto& [key, value] : survey.facts) plane.fact(key, value);
  plane.write(session.start_ns, out);
}

std::string label_of(const FileRequest& request) {
  std::string label = request.name.empty() ? request.worker : request.name;
  if (label.ends_with(kSuffix)) label.resize(label.size() - kSuffix.size());
  return label;
}

/// What readers show on their first pages.
std::string diagnostics(const Shown& shown, const std::vector<std::string>& missing) {
  xplane::XSpace space;
  if (shown.simulated())
    space.add_warnings("The GPU was a simulated one: its times are a model's, not measured.");
  for (const std::string& sentence : missing) space.add_warnings(support::as_utf8(sentence));
  space.add_hostnames(support::as_utf8(label_of(shown.request())));
  return space.SerializeAsString();
}

}  // namespace

support::Result<FileWritten> write_xplane(const FileRequest& request) {
  GPUPROF_TRY(shown, Shown::open(request));
  const auto pass = std::make_unique<XplanePass>(*shown);
  GPUPROF_CHECK(shown->replay(*pass));
  pass->finish();
  std::vector<std::string> missing = shown->missing();
  if (pass->left_out() != 0)
    missing.push_back(
        fmt::format("{} events are left out of the XPlane file, which holds {} at most: record "
                    "shorter windows",
                    pass->left_out(), XplanePlane::kMaxEvents));
  const auto write = [&](JsonText& out) {
    const std::vector<XplanePlane*> planes = pass->planes();
    const Interval session = session_of(shown->survey(), planes);
    for (XplanePlane* const plane : planes) plane->write(session.start_ns, out);
    write_environment(*shown, session, out);
    out.text(diagnostics(*shown, missing));
  };
  GPUPROF_TRY(bytes, write_text(request.path, true, write));
  FileWritten written = shown->written("xplane", bytes);
  written.missing = std::move(missing);
  return written;
}

}  // namespace gpuprof::exporter
