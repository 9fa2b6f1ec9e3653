// SPDX-License-Identifier: Apache-2.0
//
// GzipFile by ISA-L; the checksums of the chunks are joined by zlib.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/encoding/gzip_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "analysis/messages/export_files.hpp"
#include "support/process/helper_thread.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::exporter {
namespace {

/// Chunks the helper may have waiting before the caller deflates one itself.
constexpr std::size_t kWaitingLimit = 2;
/// Chunks in flight at all: beyond it the caller waits for the disk.
constexpr std::size_t kOrderLimit = 8;

}  // namespace

struct GzipFile::Job {
  std::vector<char> raw;
  std::size_t used = 0;
  std::vector<std::uint8_t> compressed;
  std::size_t compressed_bytes = 0;
  std::uint32_t crc = 0;
  bool done = false;
};

/// ISA-L's state and work space: large, so made once a thread.
class GzipFile::Deflater {
 public:
  void run(Job& job) {
    job.crc = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(job.raw.data()), job.used);
    const std::size_t most = job.used + job.used / 1000 + 512;
    // Grows only: a vector that shrinks writes zeros when it grows again.
    if (job.compressed.size() < most) job.compressed.resize(most);
    isal_deflate_stateless_init(&stream_);
    stream_.level = 1;
    stream_.level_buf = level_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_.size());
    stream_.flush = FULL_FLUSH;  // ends on a byte, so that blocks can be joined
    stream_.end_of_stream = 0;
    stream_.next_in = reinterpret_cast<std::uint8_t*>(job.raw.data());
    stream_.avail_in = static_cast<std::uint32_t>(job.used);
    stream_.next_out = job.compressed.data();
    stream_.avail_out = static_cast<std::uint32_t>(job.compressed.size());
    failed_ |= isal_deflate_stateless(&stream_) != COMP_OK || stream_.avail_in != 0;
    job.compressed_bytes = stream_.total_out;
  }
  bool failed() const { return failed_; }

 private:
  isal_zstream stream_;
  std::vector<std::uint8_t> level_ = std::vector<std::uint8_t>(ISAL_DEF_LVL1_LARGE);
  bool failed_ = false;
};

support::Result<std::unique_ptr<GzipFile>> GzipFile::create(const std::string& path, bool plain) {
  base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd)
    return support::error(
        fmt::format(messages::export_files::kCannotCreate, path, std::strerror(errno)));
  return std::unique_ptr<GzipFile>(new GzipFile(path, std::move(fd), plain));
}

GzipFile::GzipFile(std::string path, base::UniqueFd fd, bool plain)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      plain_(plain),
      own_deflater_(std::make_unique<Deflater>()) {
  constexpr std::array<std::uint8_t, 10> kHeader = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
  if (!plain_) write_all(kHeader.data(), kHeader.size());
  spare_.reserve(kOrderLimit);
  free_compressed_buffers_.reserve(kOrderLimit);
  start_helper();
}

void GzipFile::start_helper() {
  try {
    // Made here: what fails on its thread ends the process.
    const auto deflater = std::make_shared<Deflater>();
    helper_ = support::try_start_thread([this, deflater] { help(*deflater); });
  } catch (const std::bad_alloc&) {
    // As where no thread can be made: the caller deflates all.
  }
}

GzipFile::~GzipFile() { stop_helper(); }

void GzipFile::stop_helper() {
  if (!helper_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  helper_.join();
}

std::vector<char> GzipFile::take_chunk() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return std::vector<char>(kChunkBytes);
  std::vector<char> chunk = std::move(spare_.back());
  spare_.pop_back();
  return chunk;
}

void GzipFile::put_chunk(std::vector<char> chunk, std::size_t used) {
  if (used == 0) return;
  auto job = std::make_shared<Job>();
  job->raw = std::move(chunk);
  job->used = used;
  std::unique_lock lock(mutex_);
  if (!free_compressed_buffers_.empty()) {
    job->compressed = std::move(free_compressed_buffers_.back());
    free_compressed_buffers_.pop_back();
  }
  waiting_.push_back(job);
  order_.push_back(std::move(job));
  changed_.notify_all();
  const std::size_t for_helper = helper_.joinable() ? kWaitingLimit : 0;
  while (waiting_.size() > for_helper) deflate_next(lock, *own_deflater_);
  changed_.wait(lock, [this] { return order_.size() < kOrderLimit || error_ != 0; });
}

/// Deflates the first chunk nobody has begun, unlocked meanwhile; false if there is none.
bool GzipFile::deflate_next(std::unique_lock<std::mutex>& lock, Deflater& deflater) {
  if (waiting_.empty()) return false;
  const std::shared_ptr<Job> job = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  int why = 0;
  try {
    if (!plain_) deflater.run(*job);
    if (deflater.failed()) why = EIO;
  } catch (const std::bad_alloc&) {
    why = ENOMEM;
  }
  lock.lock();
  if (why != 0 && error_ == 0) error_ = why;
  job->done = true;
  write_done(lock);
  return true;
}

void GzipFile::help(Deflater& deflater) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (!deflate_next(lock, deflater)) return;
  }
}

/// Writes every finished chunk whose turn it is; one thread at a time.
void GzipFile::write_done(std::unique_lock<std::mutex>& lock) {
  if (writing_) return;
  writing_ = true;
  while (!order_.empty() && order_.front()->done) {
    const std::shared_ptr<Job> job = order_.front();
    lock.unlock();
    const auto* raw = reinterpret_cast<const std::uint8_t*>(job->raw.data());
    const bool written = plain_ ? write_all(raw, job->used)
                                : write_all(job->compressed.data(), job->compressed_bytes);
    const int why = errno;
    lock.lock();
    if (!written && error_ == 0) error_ = why;
    crc_ =
        static_cast<std::uint32_t>(crc32_combine(crc_, job->crc, static_cast<z_off_t>(job->used)));
    raw_bytes_ += job->used;
    order_.pop_front();
    if (spare_.size() < kOrderLimit) spare_.push_back(std::move(job->raw));
    if (free_compressed_buffers_.size() < kOrderLimit)
      free_compressed_buffers_.push_back(std::move(job->compressed));
  }
  writing_ = false;
  changed_.notify_all();
}

bool GzipFile::write_all(const std::uint8_t* data, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t n = ::write(fd_.get(), data, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    bytes -= static_cast<std::size_t>(n);
    file_bytes_ += static_cast<std::uint64_t>(n);
  }
  return true;
}

support::Result<std::uint64_t> GzipFile::finish() {
  {
    std::unique_lock lock(mutex_);
    while (deflate_next(lock, *own_deflater_)) {
    }
    changed_.wait(lock, [this] { return order_.empty(); });
  }
  stop_helper();
  // An empty last block, then what gzip checks.
  std::array<std::uint8_t, 10> tail = {0x03, 0x00};
  const auto size = static_cast<std::uint32_t>(raw_bytes_);
  std::memcpy(tail.data() + 2, &crc_, 4);
  std::memcpy(tail.data() + 6, &size, 4);
  if (error_ == 0 && !plain_ && !write_all(tail.data(), tail.size())) error_ = errno;
  if (error_ == 0 && ::close(fd_.release()) != 0) error_ = errno;
  if (error_ != 0)
    return support::error(fmt::format(messages::export_files::kCannotWriteHint, path_,
                                      std::strerror(error_), support::write_error_hint(error_)));
  return file_bytes_;
}

}  // namespace gpuprof::exporter
