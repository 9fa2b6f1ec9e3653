// SPDX-License-Identifier: Apache-2.0
//
// replay(): a spool file back into events, block by block.
//
// Context:  daemon | cli
// Owns:     the file and one block while it runs
// Promises: damaged bytes end the replay with a count, never in a crash or a large allocation
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "gpuprof/base/unique_fd.hpp"
#include "recording/messages/spool.hpp"
#include "recording/spool/block.hpp"
#include "recording/spool/event_coding.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::spool {
namespace {

/// Block headers, read a page at a time: a session of many short windows has many small blocks.
class Headers {
 public:
  explicit Headers(int fd) : fd_(fd) {}

  bool read(std::uint64_t offset, BlockHeader* header) {
    if (offset < at_ || offset + sizeof *header > at_ + held_) {
      at_ = offset;
      const ssize_t n = ::pread(fd_, page_.data(), page_.size(), static_cast<off_t>(offset));
      held_ = n > 0 ? static_cast<std::size_t>(n) : 0;
      if (held_ < sizeof *header) return false;
    }
    std::memcpy(header, page_.data() + (offset - at_), sizeof *header);
    return true;
  }

 private:
  int fd_;
  std::uint64_t at_ = 0;
  std::size_t held_ = 0;
  std::array<std::byte, 4096> page_;
};

bool read_at(int fd, std::uint64_t offset, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t n = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

class Replay {
 public:
  Replay(int fd, std::uint64_t file_bytes, const ReplayRange& range, model::EventSink& sink,
         const std::function<void(std::uint64_t)>& progress)
      : fd_(fd),
        headers_(fd),
        file_bytes_(file_bytes),
        range_(range),
        sink_(sink),
        progress_(progress) {}

  ReplayResult run() {
    while (at_ < file_bytes_ && block()) {
    }
    return {at_ == file_bytes_, file_bytes_ - at_, damaged_};
  }

 private:
  /// One block; false where the file ends inside it or it is damaged.
  bool block() {
    BlockHeader header;
    if (!headers_.read(at_, &header)) return false;
    damaged_ = !plausible(header) || header.sequence != sequence_;
    const std::uint64_t next = at_ + sizeof header + header.stored_bytes;
    if (damaged_ || next > file_bytes_) return false;
    damaged_ = true;  // unless the rest turns out good
    const bool outside = header.min_ns >= range_.to_ns || header.max_ns < range_.from_ns;
    const bool definitions = (header.flags & kBlockDefinitions) != 0;
    if (definitions || !outside) {
      stored_.resize(header.stored_bytes);
      if (!read_at(fd_, at_ + sizeof header, stored_.data(), stored_.size())) return false;
      if (!unpack(header, stored_, raw_)) return false;
      const auto want = outside ? EventDecoder::Filter::kDefinitions : EventDecoder::Filter::kAll;
      if (!decoder_.decode(raw_, want, sink_)) return false;
      if (!outside && progress_) progress_(header.events);
    }
    damaged_ = false;
    at_ = next;
    ++sequence_;
    return true;
  }

  int fd_;
  Headers headers_;
  std::uint64_t file_bytes_;
  const ReplayRange& range_;
  model::EventSink& sink_;
  const std::function<void(std::uint64_t)>& progress_;
  std::uint64_t at_ = sizeof(FileHeader);
  std::uint32_t sequence_ = 0;
  bool damaged_ = false;
  EventDecoder decoder_;
  std::vector<std::byte> stored_, raw_;
};

/// An open spool file whose header was found good.
struct OpenSpool {
  base::UniqueFd fd;
  std::uint64_t bytes = 0;
  bool whole_header = true;
};

support::Result<OpenSpool> open_spool(const std::string& path) {
  OpenSpool spool{base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  struct stat info {};
  if (!spool.fd || ::fstat(spool.fd.get(), &info) != 0)
    return support::error(
        fmt::format(messages::spool::kCannotReadSpoolFile, path, std::strerror(errno)));
  // Not blocking above and looked at here: a pipe of that name would never answer.
  if (!S_ISREG(info.st_mode))
    return support::error(fmt::format(messages::spool::kNotARegularFile, path));
  spool.bytes = static_cast<std::uint64_t>(info.st_size);
  FileHeader header{};
  if (spool.bytes < sizeof header || !read_at(spool.fd.get(), 0, &header, sizeof header)) {
    spool.whole_header = false;
    return spool;
  }
  if (std::memcmp(header.magic, kFileMagic, sizeof kFileMagic) != 0)
    return support::error(fmt::format(messages::spool::kNotASpoolFile, path));
  if (header.version != kSpoolVersion || header.header_bytes != sizeof header)
    return support::error(
        fmt::format(messages::spool::kOtherVersion, path, header.version, kSpoolVersion));
  return spool;
}

}  // namespace

support::Result<ReplayResult> replay(const std::string& path, const ReplayRange& range,
                                     model::EventSink& sink,
                                     const std::function<void(std::uint64_t)>& progress) {
  GPUPROF_TRY(spool, open_spool(path));
  if (!spool.whole_header) return ReplayResult{false, spool.bytes, false};
  const std::uint64_t bytes = std::min(spool.bytes, range.most_bytes);
  return Replay(spool.fd.get(), bytes, range, sink, progress).run();
}

support::Result<ReplayResult> replay(const ProcessEntry& process, ReplayRange range,
                                     model::EventSink& sink,
                                     const std::function<void(std::uint64_t)>& progress) {
  range.most_bytes = process.bytes;
  return replay(process.spool_path, range, sink, progress);
}

support::Result<std::vector<BlockSummary>> block_summaries(const std::string& path,
                                                           const ReplayRange& range) {
  GPUPROF_TRY(spool, open_spool(path));
  std::vector<BlockSummary> blocks;
  BlockHeader header;
  Headers headers(spool.fd.get());
  const std::uint64_t bytes = std::min(spool.bytes, range.most_bytes);
  for (std::uint64_t at = sizeof(FileHeader); spool.whole_header && at < bytes;) {
    if (!headers.read(at, &header) || !plausible(header)) break;
    at += sizeof header + header.stored_bytes;
    if (at > bytes) break;
    if (header.min_ns < range.to_ns && header.max_ns >= range.from_ns)
      blocks.push_back({header.min_ns, header.max_ns, header.events});
  }
  return blocks;
}

support::Result<std::vector<BlockSummary>> block_summaries(const ProcessEntry& process,
                                                           ReplayRange range) {
  range.most_bytes = process.bytes;
  return block_summaries(process.spool_path, range);
}

}  // namespace gpuprof::spool
