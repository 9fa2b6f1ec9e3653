// SPDX-License-Identifier: Apache-2.0
//
// ProcessWriter: two open blocks, one for definitions, one for timed events.
//
// Context:  daemon (ingest thread)
// Promises: a definition reaches the file before any event given after it; a block that could
//           not be written whole is cut off again
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gpuprof/base/unique_fd.hpp"
#include "recording/messages/spool.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "recording/spool/block.hpp"
#include "recording/spool/event_coding.hpp"
#include "recording/spool/spool.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::spool {
namespace {

template <typename E>
std::uint64_t first_ns(const E& event) {
  if constexpr (requires { event.start_ns; })
    return event.start_ns;
  else
    return event.ts_ns;
}
template <typename E>
std::uint64_t last_ns(const E& event) {
  if constexpr (requires { event.end_ns; })
    return std::max(event.start_ns, event.end_ns);
  else
    return event.ts_ns;
}

/// Bytes of one kind of block, and what its header will say.
class OpenBlock {
 public:
  explicit OpenBlock(std::uint32_t flags) : flags_(flags) { clear(); }

  template <typename E>
  void add(const E& event) {
    // The usual event needs no look at its texts: the slack covers everything but they.
    std::size_t room = kMaxHeadBytes;
    if constexpr (!model::Timed<E>) room = EventEncoder::limit(event);
    if (used_ + room > bytes_.size()) bytes_.resize(used_ + room + kBlockBytes / 4);
    std::byte* const at = bytes_.data() + used_;
    used_ += static_cast<std::size_t>(encoder_.put(at, event) - at);
    if constexpr (model::Timed<E>) {
      min_ns_ = std::min(min_ns_, first_ns(event));
      max_ns_ = std::max(max_ns_, last_ns(event));
    }
    ++count_;
  }

  void release() {
    clear();
    std::vector<std::byte>().swap(bytes_);
  }

  bool full() const { return used_ >= kBlockBytes; }
  bool empty() const { return count_ == 0; }
  std::uint32_t count() const { return count_; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }

  BlockHeader header(std::uint32_t sequence) const {
    BlockHeader header{};
    header.sequence = sequence;
    header.flags = flags_;
    ((flags_ & kBlockDefinitions) != 0 ? header.definitions : header.events) = count_;
    header.min_ns = min_ns_;
    header.max_ns = max_ns_;
    return header;
  }

  void clear() {
    used_ = 0;
    count_ = 0;
    min_ns_ = ~0ULL;
    max_ns_ = 0;
    encoder_.reset();
  }

 private:
  std::uint32_t flags_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t min_ns_ = 0, max_ns_ = 0;
  EventEncoder encoder_;
};

class Core {
 public:
  explicit Core(base::UniqueFd fd) : fd_(std::move(fd)) {}

  template <typename E>
  void add(const E& event) {
    OpenBlock& block = model::Timed<E> ? events_ : definitions_;
    if (!failure_.empty()) {
      if constexpr (model::Timed<E>) lose(1, first_ns(event));
      return;
    }
    if (!model::Timed<E> && EventEncoder::limit(event) > kMaxRawBytes / 2) {
      ++lost_;  // a reader would refuse a block that holds it
      return;
    }
    block.add(event);
    if (block.full()) flush();
  }

  void flush() {
    write(definitions_);
    write(events_);
  }

  void close() {
    flush();
    definitions_.release();
    events_.release();
    packer_.reset();
    fd_.reset();
  }

  bool write_raw(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail(n < 0 ? errno : ENOSPC);
      done += static_cast<std::size_t>(n);
    }
    written_ += bytes.size();
    return true;
  }

  std::string failure_;
  int failed_with_ = 0;  // errno
  std::uint64_t written_ = 0, events_written_ = 0, lost_ = 0, lost_from_ns_ = ~0ULL;

 private:
  void lose(std::uint64_t count, std::uint64_t from_ns) {
    lost_ += count;
    lost_from_ns_ = std::min(lost_from_ns_, from_ns);
  }

  void write(OpenBlock& block) {
    if (block.empty()) return;
    const bool timed = &block == &events_;
    const bool done = failure_.empty() && packer_ &&
                      write_raw(packer_->pack(block.header(sequence_++), block.bytes()));
    if (done && timed) events_written_ += block.count();
    if (!done && timed) lose(block.count(), block.header(0).min_ns);
    block.clear();
  }

  bool fail(int why) {
    failed_with_ = why;
    failure_ = why == EFBIG ? fmt::format(messages::spool::kFileSizeLimit, std::strerror(why))
                            : fmt::format(messages::spool::kCannotWriteSpool, std::strerror(why));
    // A half block would only cost the reader a remark, yet the file should be whole.
    [[maybe_unused]] const int ignored = ::ftruncate(fd_.get(), static_cast<off_t>(written_));
    return false;
  }

  base::UniqueFd fd_;
  OpenBlock definitions_{kBlockDefinitions};
  OpenBlock events_{0};
  std::unique_ptr<BlockPacker> packer_ = std::make_unique<BlockPacker>();
  std::uint32_t sequence_ = 0;
};

/// Adds one `on` for each event, so that the list of kinds stays in one place.
template <typename Base, typename... E>
class AllKinds : public Base {
 protected:
  using Base::Base;
};
template <typename Base, typename First, typename... Rest>
class AllKinds<Base, First, Rest...> : public AllKinds<Base, Rest...> {
 public:
  using AllKinds<Base, Rest...>::on;
  void on(const First& event) final { this->core_.add(event); }

 protected:
  using AllKinds<Base, Rest...>::AllKinds;
};
template <typename Base, typename List>
struct AllKindsOf;
template <typename Base, typename... E>
struct AllKindsOf<Base, model::EventList<E...>> {
  using Type = AllKinds<Base, E...>;
};

class WithCore : public ProcessWriter {
 public:
  explicit WithCore(base::UniqueFd fd) : core_(std::move(fd)) {}

 protected:
  Core core_;
};

class Writer final : public AllKindsOf<WithCore, model::Events>::Type {
 public:
  explicit Writer(base::UniqueFd fd) : AllKindsOf<WithCore, model::Events>::Type(std::move(fd)) {
    FileHeader header{};
    std::memcpy(header.magic, kFileMagic, sizeof kFileMagic);
    header.version = kSpoolVersion;
    header.header_bytes = sizeof header;
    core_.write_raw(std::as_bytes(std::span(&header, 1)));
  }
  ~Writer() override { core_.flush(); }

  void flush() override { core_.flush(); }
  void close() override { core_.close(); }
  bool ok() const override { return core_.failure_.empty(); }
  std::string failure() const override { return core_.failure_; }
  int failed_with() const override { return core_.failed_with_; }
  std::uint64_t bytes_written() const override { return core_.written_; }
  std::uint64_t events_written() const override { return core_.events_written_; }
  std::uint64_t events_lost() const override { return core_.lost_; }
  std::uint64_t lost_from_ns() const override { return core_.lost_from_ns_; }
};

}  // namespace

support::Result<std::unique_ptr<ProcessWriter>> ProcessWriter::create(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd)
    return support::error(
        fmt::format(messages::spool::kCannotCreateSpoolFile, path, std::strerror(errno)));
  std::unique_ptr<ProcessWriter> writer = std::make_unique<Writer>(std::move(fd));
  if (writer->ok()) return writer;
  const int failure = writer->failed_with();
  ::unlink(path.c_str());  // the process may ask again
  return support::error(fmt::format(messages::spool::kCannotBeginSpoolFile, path,
                                    std::strerror(failure), support::write_error_hint(failure)));
}

}  // namespace gpuprof::spool
