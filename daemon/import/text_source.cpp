// SPDX-License-Identifier: Apache-2.0
//
// TextSource, by ISA-L.
//
// Context:  cli through daemon/api
#include "daemon/import/text_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "support/helper_thread.hpp"

namespace gpuprof::importer {
namespace {

/// Blocks that may wait for the reader of JSON.
constexpr std::size_t kWaiting = 4;

void blank_controls(std::string& text) {
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
}

}  // namespace

support::Result<std::unique_ptr<TextSource>> TextSource::open(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    return support::error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return support::error(fmt::format("{} is not a regular file", path));
  if (info.st_size == 0)
    return support::error(fmt::format("{} is empty; was it being written?", path));
  return std::unique_ptr<TextSource>(
      new TextSource(path, std::move(fd), static_cast<std::uint64_t>(info.st_size)));
}

TextSource::TextSource(std::string path, base::UniqueFd fd, std::uint64_t bytes)
    : path_(std::move(path)), fd_(std::move(fd)), file_bytes_(bytes) {
  thread_ = support::helper_thread([this] { produce(); });
  if (thread_.joinable()) return;
  failure_ = fmt::format(
      "cannot read {}: no thread can be made for it; raise the limit on "
      "processes (ulimit -u)",
      path_);
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
  blank_controls(block);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || blocks_.size() < kWaiting; });
  if (!block.empty()) blocks_.push_back(std::move(block));
  changed_.notify_all();
  return !stopping_;
}

std::ptrdiff_t TextSource::read_some(char* to, std::size_t bytes) {
  ssize_t n = 0;
  do n = ::read(fd_.get(), to, bytes);
  while (n < 0 && errno == EINTR);
  if (n > 0) read_.fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
  return n;
}

void TextSource::produce() {
  char magic[3];
  const bool packed = ::pread(fd_.get(), magic, sizeof magic, 0) == sizeof magic &&
                      is_gzip(std::string_view(magic, sizeof magic));
  std::string failure = packed ? read_gzip() : read_plain();
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  done_ = true;
  changed_.notify_all();
}

std::string TextSource::failed_read() const {
  return fmt::format("cannot read {}: {}", path_, std::strerror(errno));
}

std::string TextSource::read_plain() {
  for (;;) {
    std::string block(kBlockBytes, '\0');
    const std::ptrdiff_t n = read_some(block.data(), block.size());
    if (n < 0) return failed_read();
    if (n == 0) return {};
    block.resize(static_cast<std::size_t>(n));
    if (!put(std::move(block))) return {};
  }
}

std::string TextSource::read_gzip() {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  std::vector<char> packed(256 * 1024);
  std::ptrdiff_t n = 1;
  state->avail_in = 0;
  while (n > 0 || state->avail_in != 0) {
    std::string block(kBlockBytes, '\0');
    state->next_out = reinterpret_cast<std::uint8_t*>(block.data());
    state->avail_out = static_cast<std::uint32_t>(block.size());
    while (state->avail_out != 0) {
      if (state->avail_in == 0) {
        n = read_some(packed.data(), packed.size());
        if (n < 0) return failed_read();
        if (n == 0) break;
        state->next_in = reinterpret_cast<std::uint8_t*>(packed.data());
        state->avail_in = static_cast<std::uint32_t>(n);
      }
      if (state->block_state == ISAL_BLOCK_FINISH) {
        // Another member, else padding: the text is complete.
        if (*state->next_in != 0x1f) {
          state->avail_in = 0;
          continue;
        }
        isal_inflate_reset(state.get());
        state->crc_flag = ISAL_GZIP;
      }
      const int result = isal_inflate(state.get());
      if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT)
        return fmt::format("{} is damaged: what gzip packed there cannot be unpacked (error {})",
                           path_, result);
    }
    block.erase(block.size() - state->avail_out);
    if (!put(std::move(block))) return {};
  }
  if (state->block_state == ISAL_BLOCK_FINISH) return {};
  return fmt::format(
      "{} ends in the middle of its gzip data: it was cut short, or is still being written", path_);
}

}  // namespace gpuprof::importer
