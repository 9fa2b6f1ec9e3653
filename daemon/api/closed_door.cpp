// SPDX-License-Identifier: Apache-2.0
#include "daemon/api/closed_door.hpp"

#include <errno.h>

#include <cstring>

namespace gpuprof::api {

bool is_closed(int failure) { return failure == ECONNREFUSED || failure == ENOENT; }

std::string why_closed(int failure) {
  const std::string what = "(" + std::string(std::strerror(failure)) + ")";
  if (!is_closed(failure)) return what;
  return what +
         ": the library's thread there does not get to run, as in a Python 3.12 or later that "
         "forks "
         "all the time; try again";
}

}  // namespace gpuprof::api
