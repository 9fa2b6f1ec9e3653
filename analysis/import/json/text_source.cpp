// SPDX-License-Identifier: Apache-2.0
//
// TextSource.
//
// Context:  cli through analysis/commands
#include "analysis/import/json/text_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "analysis/messages/import_files.hpp"
#include "recording/messages/spool.hpp"
#include "support/process/helper_thread.hpp"

namespace gpuprof::importer {
namespace {

/// Blocks that may wait for the reader of JSON.
constexpr std::size_t kWaiting = 4;

/// Blanks in place of control characters; how many of them were NUL.
std::uint64_t blank_controls(std::string& text) {
  const auto nul = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\0'));
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return nul;
}

}  // namespace

support::Result<std::unique_ptr<TextSource>> TextSource::open(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    return support::error(fmt::format(messages::spool::kCannotRead, path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return support::error(fmt::format(messages::spool::kNotARegularFile, path));
  if (info.st_size == 0)
    return support::error(fmt::format(messages::import_files::kEmptyFile, path));
  return std::unique_ptr<TextSource>(
      new TextSource(path, std::move(fd), static_cast<std::uint64_t>(info.st_size)));
}

TextSource::TextSource(std::string path, base::UniqueFd fd, std::uint64_t bytes)
    : unpacker_(path, std::move(fd)), file_bytes_(bytes) {
  thread_ = support::try_start_thread([this] { read_blocks(); });
  if (thread_.joinable()) return;
  failure_ = fmt::format(messages::import_files::kNoThread, path);
  done_ = true;
}

TextSource::~TextSource() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string TextSource::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_ || !blocks_.empty(); });
  if (blocks_.empty()) return {};
  std::string block = std::move(blocks_.front());
  blocks_.pop_front();
  changed_.notify_all();
  return block;
}

bool TextSource::put(std::string block) {
  const std::uint64_t nul = blank_controls(block);
  std::unique_lock lock(mutex_);
  nul_bytes_ += nul;
  changed_.wait(lock, [this] { return stopping_ || blocks_.size() < kWaiting; });
  if (!block.empty()) blocks_.push_back(std::move(block));
  changed_.notify_all();
  return !stopping_;
}

void TextSource::read_blocks() {
  for (;;) {
    std::string block(kBlockBytes, '\0');
    const std::size_t n = unpacker_.read(block.data(), block.size());
    read_.store(unpacker_.bytes_read(), std::memory_order_relaxed);
    if (n == 0) break;
    block.resize(n);
    if (!put(std::move(block))) break;
  }
  const std::lock_guard lock(mutex_);
  failure_ = unpacker_.failure();
  done_ = true;
  changed_.notify_all();
}

}  // namespace gpuprof::importer
