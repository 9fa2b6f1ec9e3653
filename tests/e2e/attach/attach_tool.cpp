// SPDX-License-Identifier: Apache-2.0
//
// attach_tool PID LIBRARY [ARGUMENT] [--ignore-seccomp] [--deadline-ms N]: one injection, its
// result as a line of JSON. Exit status 1 if it failed.
#include <stdlib.h>
#include <string.h>

#include <cstdio>

#include "daemon/attach/inject.hpp"
#include "gpuprof/base/clock.hpp"

namespace {

void print_quoted(const std::string& text) {
  putchar('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') putchar('\\');
    if (c == '\n') {
      fputs("\\n", stdout);
    } else {
      putchar(c);
    }
  }
  putchar('"');
}

}  // namespace

int main(int argc, char** argv) {
  gpuprof::attach::InjectRequest request;
  int words = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--ignore-seccomp") == 0) {
      request.ignore_seccomp = true;
    } else if (strcmp(argv[i], "--deadline-ms") == 0 && i + 1 < argc) {
      request.deadline_ns = strtoull(argv[++i], nullptr, 10) * 1'000'000;
    } else if (strcmp(argv[i], "--steps") == 0) {
      request.at_phase = [begun = gpuprof::base::mono_ns()](gpuprof::attach::Phase step) {
        fprintf(stderr, "%12llu %s\n",
                static_cast<unsigned long long>(gpuprof::base::mono_ns() - begun),
                phase_name(step));
      };
    } else if (++words == 1) {
      request.pid = atoi(argv[i]);
    } else {
      (words == 2 ? request.library : request.argument) = argv[i];
    }
  }
  const auto done = gpuprof::attach::inject(request);
  if (!done) {
    printf("{\"error\": ");
    print_quoted(done.error().message);
    puts("}");
    return 1;
  }
  const gpuprof::attach::InjectResult& it = done.value();
  printf(
      "{\"pause_ns\": %llu, \"total_ns\": %llu, \"tid\": %d, \"stepped_out\": %s, "
      "\"was_loaded\": %s, \"answer\": %d, \"tries\": %u}\n",
      static_cast<unsigned long long>(it.pause_ns), static_cast<unsigned long long>(it.total_ns),
      it.tid, it.stepped_out ? "true" : "false", it.was_loaded ? "true" : "false", it.answer,
      it.tries);
  return 0;
}
