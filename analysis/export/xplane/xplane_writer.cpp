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
#include "analysis/messages/missing.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kSuffix = ".xplane.pb";

class XplaneSink final : public ResolvedSink {
 public:
  explicit XplaneSink(EventResolver& shown) : file_(shown), host_(file_) {
    // xprof counts GPUs from 0; one whose device is not known comes last.
    std::set<std::uint32_t> devices;
    for (const auto& [device, stream] : shown.prescan().gpu_tracks) devices.insert(device);
    for (const std::uint32_t device : devices) add_gpu(device);
  }

  void on(const ResolvedStep& e) override { host_.add(e); }
  void on(const ResolvedOperator& e) override { host_.add(e); }
  void on(const ResolvedRange& e) override { host_.add(e); }
  void on(const ResolvedApiCall& e) override { host_.add(e); }
  void on(const ResolvedSync& e) override { host_.add(e); }
  void on(const ResolvedOverhead& e) override { host_.add(e); }
  void on(const ResolvedSample& e) override { host_.add(e); }
  void on(const ModuleCall& e) override { host_.add(e); }
  void on(const ResolvedGpuEvent<model::Kernel>& e) override { gpu(e); }
  void on(const ResolvedGpuEvent<model::MemCopy>& e) override { gpu(e); }
  void on(const ResolvedGpuEvent<model::MemSet>& e) override { gpu(e); }
  void on(const ResolvedGpuEvent<model::GraphExec>& e) override { gpu(e); }
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
    gpus_.emplace(device, std::make_unique<XplaneGpuBuilder>(
                              file_, device, static_cast<std::uint32_t>(gpus_.size())));
  }
  template <typename E>
  void gpu(const ResolvedGpuEvent<E>& e) {
    auto found = gpus_.find(e.device);
    if (found == gpus_.end()) {
      add_gpu(e.device);
      found = gpus_.find(e.device);
    }
    found->second->add(e);
  }

  XplaneContext file_;
  XplaneHostBuilder host_;
  std::map<std::uint32_t, std::unique_ptr<XplaneGpuBuilder>> gpus_;
};

/// First and last instant of what is drawn, and the window's first.
Interval session_of(const Prescan& prescan, const std::vector<XplanePlane*>& planes) {
  Interval session{prescan.window.start_ns, prescan.window.start_ns};
  for (XplanePlane* const plane : planes)
    for (const XplaneLine& line : plane->lines())
      for (const XplaneEvent& event : line.events) {
        session.start_ns = std::min(session.start_ns, event.start_ns);
        session.end_ns = std::max(session.end_ns, event.end_ns);
      }
  return session;
}

/// The only place for absolute time; and what the file is about, for who looks into it.
void write_environment(const EventResolver& shown, const Interval& session, BufferedWriter& out) {
  const Prescan& prescan = shown.prescan();
  const FileRequest& request = shown.request();
  XplanePlane plane(0, "Task Environment");
  const std::uint64_t begin =
      request.window.stamp_real_ns - (prescan.window.start_ns - session.start_ns);
  plane.add_stat("profile_start_time", begin);
  plane.add_stat("profile_stop_time", begin + (session.end_ns - session.start_ns));
  plane.add_stat("writer", fmt::format("gpuprof {}", request.session.options.version));
  plane.add_stat("host", request.session.host);
  plane.add_stat("pid", std::uint64_t{prescan.pid});
  plane.add_stat("command_line", prescan.command_line);
  if (shown.has_simulated_gpu()) plane.add_stat("simulated_gpu", "yes");
  for (const auto& [key, value] : prescan.facts) plane.add_stat(key, value);
  plane.write(session.start_ns, out);
}

std::string label_of(const FileRequest& request) {
  std::string label = request.name.empty() ? request.worker : request.name;
  if (label.ends_with(kSuffix)) label.resize(label.size() - kSuffix.size());
  return label;
}

/// What readers show on their first pages.
std::string diagnostics(const EventResolver& shown, const std::vector<std::string>& missing) {
  xplane::XSpace space;
  if (shown.has_simulated_gpu()) space.add_warnings(messages::missing::kGpuIsSimulated);
  for (const std::string& message : missing) space.add_warnings(support::to_utf8(message));
  space.add_hostnames(support::to_utf8(label_of(shown.request())));
  return space.SerializeAsString();
}

}  // namespace

support::Result<WrittenFile> write_xplane(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  const auto pass = std::make_unique<XplaneSink>(*shown);
  GPUPROF_CHECK(shown->replay(*pass));
  pass->finish();
  std::vector<std::string> missing = shown->missing();
  if (const std::uint64_t omitted = pass->left_out(); omitted != 0)
    missing.push_back(
        omitted == 1
            ? fmt::format(messages::missing::kNotInXplaneOne, omitted, XplanePlane::kMaxEvents)
            : fmt::format(messages::missing::kNotInXplaneMany, omitted, XplanePlane::kMaxEvents));
  const auto write = [&](BufferedWriter& out) {
    const std::vector<XplanePlane*> planes = pass->planes();
    const Interval session = session_of(shown->prescan(), planes);
    for (XplanePlane* const plane : planes) plane->write(session.start_ns, out);
    write_environment(*shown, session, out);
    out.text(diagnostics(*shown, missing));
  };
  GPUPROF_TRY(bytes, write_text_file(request.path, true, write));
  WrittenFile written = shown->make_written_file("xplane", bytes);
  written.missing = std::move(missing);
  return written;
}

}  // namespace gpuprof::exporter
