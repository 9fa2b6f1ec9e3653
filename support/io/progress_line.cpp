// SPDX-License-Identifier: Apache-2.0
//
// One line on a terminal that is overwritten while work goes on.
//
// Context:  daemon | cli
#include "support/io/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "support/messages/io.hpp"

namespace gpuprof::support {
namespace {

constexpr std::size_t kBarWidth = 20;
constexpr std::uint64_t kBetweenLinesNs = 100'000'000;
// Whoever reads a log then wonders why nothing happens.
constexpr std::uint64_t kLongNs = 15'000'000'000;

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

std::size_t columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine(int fd, std::uint64_t silent_ns)
    : fd_(fd), terminal_(isatty(fd) == 1), start_ns_(base::mono_ns()), silent_ns_(silent_ns) {}

void ProgressLine::update(const std::string& text) {
  const std::uint64_t now = base::mono_ns();
  if (!terminal_) {
    if (fd_ < 0 || logged_ || now - start_ns_ < kLongNs) return;
    logged_ = true;
    write_all(fd_, fmt::format(messages::io::kStillWorking, text));
    return;
  }
  if (now - start_ns_ < silent_ns_ || now - last_ns_ < kBetweenLinesNs) return;
  write(text, now);
}

void ProgressLine::show_stage(const std::string& text) {
  const std::uint64_t now = base::mono_ns();
  if (terminal_ && now - start_ns_ >= silent_ns_) write(text, now);
}

void ProgressLine::write(const std::string& text, std::uint64_t now_ns) {
  last_ns_ = now_ns;
  shown_ = true;
  write_all(fd_, "\r\033[K" + text.substr(0, columns(fd_) - 1));
}

void ProgressLine::update(const std::string& text, std::uint64_t done, std::uint64_t total) {
  if (total == 0) return update(text);
  // Not rounded up: 100 % is the whole.
  const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto percent = static_cast<int>(share * 100);
  if (!terminal_) return update(fmt::format(messages::io::kPercentDone, text, percent));
  const auto full = static_cast<std::size_t>(share * kBarWidth);
  update(fmt::format("{} {:3} % [{}{}]", text, percent, std::string(full, '#'),
                     std::string(kBarWidth - full, '.')));
}

void ProgressLine::clear() {
  if (shown_) write_all(fd_, "\r\033[K");
  shown_ = false;
}

}  // namespace gpuprof::support
