// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a trace file: read, sorted, written as a session and replayed, or refused.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/import/import.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "recording/spool/spool.hpp"

namespace {

using namespace gpuprof;

/// What every reader of a session relies on.
class Checking final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Operator& e) override { check(e.start_ns, e.end_ns), named(e.name); }
  void on(const model::Range& e) override { check(e.start_ns, e.end_ns), named(e.name); }
  void on(const model::ApiCall& e) override { check(e.start_ns, e.end_ns), named(e.name); }
  void on(const model::Kernel& e) override { check(e.start_ns, e.end_ns), named(e.name); }
  void on(const model::StringDef& e) override { last_ = e.id > last_ ? e.id : last_; }

 private:
  void check(std::uint64_t start_ns, std::uint64_t end_ns) const {
    if (end_ns < start_ns || start_ns >> 63 != 0) std::abort();
  }
  void named(model::StringId id) const {
    if (id > last_) std::abort();
  }
  model::StringId last_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int fd = memfd_create("trace", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  {
    const auto imported = importer::import_traces({path}, {});
    if (imported.ok()) {
      const auto view = spool::open_session(imported.value()->folder);
      if (!view.ok()) std::abort();
      for (const auto& process : view.value().processes) {
        Checking sink;
        const auto end = spool::replay(process.spool_path, {}, sink);
        if (!end.ok() || !end.value().complete) std::abort();
      }
    }
  }
  close(fd);
  return 0;
}
