// SPDX-License-Identifier: Apache-2.0
//
// SessionLog: what happened to the session as a whole, one JSON object a line.
//
// Context:  daemon (ingest thread)
// Promises: a line is written by one write(2); a killed daemon leaves at most one half line; what
//           could not be written is cut off again and written before the next line
#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gpuprof/base/unique_fd.hpp"
#include "recording/messages/spool.hpp"
#include "recording/spool/session_log_keys.hpp"
#include "recording/spool/spool.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::spool {
namespace {

/// One line: {"line": KIND, key: value, …}.
class Line {
 public:
  explicit Line(const char* kind) : json_(text_) {
    json_.StartObject();
    add(lines::kKind, std::string_view(kind));
  }
  Line& add(const char* key, std::string_view value) {
    json_.Key(key);
    json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    return *this;
  }
  Line& add(const char* key, std::uint64_t value) {
    json_.Key(key);
    json_.Uint64(value);
    return *this;
  }
  Line& add(const char* key, const std::vector<std::uint32_t>& values) {
    json_.Key(key);
    json_.StartArray();
    for (const std::uint32_t value : values) json_.Uint(value);
    json_.EndArray();
    return *this;
  }
  Line& add(const char* key, const std::vector<std::string>& values) {
    json_.Key(key);
    json_.StartArray();
    for (const std::string& value : values)
      json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    json_.EndArray();
    return *this;
  }
  std::string text() {
    json_.EndObject();
    text_.Put('\n');
    return {text_.GetString(), text_.GetSize()};
  }

 private:
  rapidjson::StringBuffer text_;
  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

class Log final : public SessionLog {
 public:
  Log(base::UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}

  void begin(const recording::SessionOptions& options, const std::string& host) {
    append(Line(lines::kSession)
               .add("version", lines::kVersion)
               .add("host", host)
               .add("options", recording::to_text(options)));
  }

  void process(std::uint32_t pid, const std::string& spool_file) override {
    std::string_view name = spool_file;
    // Inside the folder by name only: a spool that was moved or copied still opens.
    if (name.size() > folder_.size() + 1 && name.substr(0, folder_.size()) == folder_ &&
        name[folder_.size()] == '/')
      name.remove_prefix(folder_.size() + 1);
    append(Line(lines::kProcess).add("pid", pid).add("spool", name));
  }
  void window(const model::Window& window) override {
    append(Line(lines::kWindow)
               .add("index", window.index)
               .add("start_ns", window.start_ns)
               .add("end_ns", window.end_ns)
               .add("stamp_real_ns", window.stamp_real_ns)
               .add("first_step", window.first_step)
               .add("first_label", window.first_label)
               .add("steps", window.steps)
               .add("why", window.why)
               .add("settled_ns", window.settled_ns)
               .add("gapless", window.gapless ? 1U : 0U)
               .add("losses_from_ns", window.losses_from_ns));
  }
  void remark(const std::string& key, const std::string& message) override {
    append(Line(lines::kRemark).add("key", key).add("sentence", message));
  }
  void selected(const std::vector<std::uint32_t>& pids,
                const std::vector<std::string>& spools) override {
    append(Line(lines::kSelected).add("pids", pids).add("spools", spools));
  }
  void ended(const std::string& how) override { append(Line(lines::kEnded).add("how", how)); }
  std::string failure() const override {
    if (unwritten_.empty()) return "";
    return fmt::format(messages::spool::kCannotCompleteLog, folder_, lines::kFileName,
                       std::strerror(failed_with_), support::write_error_hint(failed_with_));
  }

 private:
  void append(Line& line) {
    unwritten_ += line.text();
    const std::size_t written = write_some();
    const std::size_t whole = written == 0 ? 0 : unwritten_.rfind('\n', written - 1) + 1;
    whole_bytes_ += whole;
    if (written != whole) {
      [[maybe_unused]] const int ignored = ::ftruncate(fd_.get(), static_cast<off_t>(whole_bytes_));
    }
    unwritten_.erase(0, whole);
  }

  std::size_t write_some() {
    std::size_t done = 0;
    while (done != unwritten_.size()) {
      const ssize_t n = ::write(fd_.get(), unwritten_.data() + done, unwritten_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      failed_with_ = n < 0 ? errno : ENOSPC;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  base::UniqueFd fd_;
  std::string folder_;
  std::string unwritten_;  // whole lines
  std::uint64_t whole_bytes_ = 0;
  int failed_with_ = 0;  // errno
};

}  // namespace

support::Result<std::unique_ptr<SessionLog>> SessionLog::create(
    const std::string& folder, const recording::SessionOptions& options, const std::string& host) {
  const std::string path = folder + "/" + lines::kFileName;
  base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!fd)
    return support::error(fmt::format(messages::spool::kCannotCreate, path, std::strerror(errno)));
  auto log = std::make_unique<Log>(std::move(fd), folder);
  log->begin(options, host);
  return std::unique_ptr<SessionLog>(std::move(log));
}

}  // namespace gpuprof::spool
