// SPDX-License-Identifier: Apache-2.0
//
// Writes /proc/self/autogroup.
//
// Context:  daemon (one thread)
#include "support/process/autogroup.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::support {

void AutogroupNice::set(int niceness) {
  if (niceness == is_ || ::getsid(0) != ::getpid()) return;
  const base::UniqueFd file(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(niceness);
  const bool again = file && ::write(file.get(), text.data(), text.size()) < 0 && errno == EAGAIN;
  if (!again) is_ = niceness;
}

}  // namespace gpuprof::support
