// SPDX-License-Identifier: Apache-2.0
//
// SessionLog: what happened to the session as a whole, one JSON object a line.
//
// Context:  daemon (ingest thread)
// Promises: a line is written by one write(2); a killed daemon leaves at most one half line
#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/spool/session_lines.hpp"
#include "daemon/spool/spool.hpp"
#include "gpuprof/base/unique_fd.hpp"

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
  void write_to(int fd) {
    json_.EndObject();
    text_.Put('\n');
    [[maybe_unused]] const ssize_t kept_going = ::write(fd, text_.GetString(), text_.GetSize());
  }

 private:
  rapidjson::StringBuffer text_;
  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

class Log final : public SessionLog {
 public:
  Log(base::UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}

  void process(std::uint32_t pid, const std::string& spool_file) override {
    std::string_view name = spool_file;
    // Inside the folder by name only: a spool that was moved or copied still opens.
    if (name.size() > folder_.size() + 1 && name.substr(0, folder_.size()) == folder_ &&
        name[folder_.size()] == '/')
      name.remove_prefix(folder_.size() + 1);
    Line(lines::kProcess).add("pid", pid).add("spool", name).write_to(fd_.get());
  }
  void window(const model::Window& window) override {
    Line(lines::kWindow)
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
        .write_to(fd_.get());
  }
  void remark(const std::string& key, const std::string& sentence) override {
    Line(lines::kRemark).add("key", key).add("sentence", sentence).write_to(fd_.get());
  }
  void chosen(const std::vector<std::uint32_t>& pids,
              const std::vector<std::string>& spools) override {
    Line(lines::kChosen).add("pids", pids).add("spools", spools).write_to(fd_.get());
  }
  void ended(const std::string& how) override {
    Line(lines::kEnded).add("how", how).write_to(fd_.get());
  }

 private:
  base::UniqueFd fd_;
  std::string folder_;
};

}  // namespace

support::Result<std::unique_ptr<SessionLog>> SessionLog::create(const std::string& folder,
                                                                const api::SessionOptions& options,
                                                                const std::string& host) {
  const std::string path = folder + "/" + lines::kFileName;
  base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) return support::error(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  Line(lines::kSession)
      .add("version", lines::kVersion)
      .add("host", host)
      .add("options", api::to_text(options))
      .write_to(fd.get());
  return std::unique_ptr<SessionLog>(std::make_unique<Log>(std::move(fd), folder));
}

}  // namespace gpuprof::spool
