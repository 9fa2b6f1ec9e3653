// SPDX-License-Identifier: Apache-2.0
//
// Formats the truth log.
//
// Context:  any
// Owns:     one leaked LineLog
// Promises: one JSON object per line; times in CLOCK_MONOTONIC ns, the header line gives the
//           REALTIME offset
// Not here: file handling (line_log.cpp)
#include "core/truth.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/line_log.hpp"
#include "core/work/fatbin.hpp"

namespace gpusim {
namespace {

LineLog* g_log = nullptr;
constexpr std::size_t kLine = 16384;

void put(const char* line, int length) {
  if (length > 0) g_log->append(line, std::min(static_cast<std::size_t>(length), kLine - 1));
}

const char* op_name(OpKind kind) {
  constexpr const char* kNames[] = {"kernel", "memcpy", "memcpy_peer", "memset", "host_function"};
  return kNames[static_cast<int>(kind)];
}

int details(const DeviceOp& op, char* out, std::size_t room) {
  switch (op.kind) {
    case OpKind::kKernel:
      return std::snprintf(
          out, room,
          ",\"name\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"registers\":%u,"
          "\"static_smem\":%u,\"dynamic_smem\":%u,\"grid_id\":%" PRIu64,
          op.name, op.grid[0], op.grid[1], op.grid[2], op.block[0], op.block[1], op.block[2],
          op.registers, op.static_smem, op.dynamic_smem, op.grid_id);
    case OpKind::kMemset:
      return std::snprintf(out, room, ",\"bytes\":%" PRIu64 ",\"value\":%u", op.bytes, op.value);
    case OpKind::kMemcpy:
    case OpKind::kPeerCopy:
      return std::snprintf(out, room,
                           ",\"bytes\":%" PRIu64
                           ",\"copy_kind\":%u,\"src_kind\":%u,\"dst_kind\":%u,\"async\":%d,"
                           "\"src_device\":%u,\"dst_device\":%u",
                           op.bytes, op.copy_kind, op.src_kind, op.dst_kind, op.async ? 1 : 0,
                           op.src_device, op.dst_device);
    case OpKind::kHostFunction:
      break;
  }
  return 0;
}

/// What to do about a refusal with a known cause.
const char* advice_on(const char* name) {
  if (std::strcmp(name, "cuGetExportTable") != 0) return "";
  return ". Only NVIDIA's own CUDA runtime asks for it: either the program has it linked into it "
         "(build with nvcc -cudart shared), or it is PyTorch behind a script (gpusim-run --pytorch "
         "yes)";
}

}  // namespace

void truth_open() {
  if (config().truth_path == nullptr) return;
  g_log = new LineLog(config().truth_path);
  char line[512];
  const std::uint64_t mono = now_ns();
  const std::uint64_t real = read_clock_ns(CLOCK_REALTIME);
  put(line,
      std::snprintf(line, sizeof line,
                    "{\"t\":\"header\",\"simulated\":true,\"pid\":%d,\"monotonic_ns\":%" PRIu64
                    ",\"realtime_ns\":%" PRIu64 ",\"devices\":%d,\"compressed_cubins\":\"%s\"}\n",
                    getpid(), mono, real, config().devices,
                    reads_compressed_images() ? "read" : "figures invented"));
}

void truth_close() {
  if (g_log != nullptr) g_log->trim();
}

bool truth_on() { return g_log != nullptr; }

void truth_api(const ApiCall& call) {
  char line[kLine];
  put(line,
      std::snprintf(
          line, sizeof line,
          "{\"t\":\"api\",\"domain\":\"%s\",\"name\":\"%s\",\"cbid\":%u,\"corr\":%u,\"tid\":%u,"
          "\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"result\":%d}\n",
          call.domain == ApiDomain::kDriver ? "driver" : "runtime", call.name, call.cbid,
          call.correlation, current_tid(), call.start_ns, call.end_ns, call.result));
}

void truth_op(const DeviceOp& op) {
  char line[kLine];
  int n = std::snprintf(line, sizeof line,
                        "{\"t\":\"op\",\"kind\":\"%s\",\"start\":%" PRIu64 ",\"end\":%" PRIu64
                        ",\"device\":%u,\"context\":%u,\"stream\":%u,\"corr\":%u,\"graph\":%u,"
                        "\"graph_node\":%" PRIu64,
                        op_name(op.kind), op.start_ns, op.end_ns, op.device, op.context, op.stream,
                        op.correlation, op.graph_id, op.graph_node_id);
  n += details(op, line + n, sizeof line - static_cast<std::size_t>(n) - 8);
  n = std::min(n, static_cast<int>(sizeof line) - 4);
  line[n++] = '}';
  line[n++] = '\n';
  put(line, n);
}

void truth_graph(const GraphLaunchOp& op) {
  char line[512];
  put(line,
      std::snprintf(line, sizeof line,
                    "{\"t\":\"graph_launch\",\"graph\":%u,\"start\":%" PRIu64 ",\"end\":%" PRIu64
                    ",\"device\":%u,\"context\":%u,\"stream\":%u,\"corr\":%u}\n",
                    op.graph_id, op.start_ns, op.end_ns, op.device, op.context, op.stream,
                    op.correlation));
}

void truth_sync(const SyncOp& op) {
  char line[512];
  put(line, std::snprintf(line, sizeof line,
                          "{\"t\":\"sync\",\"kind\":%d,\"start\":%" PRIu64 ",\"end\":%" PRIu64
                          ",\"context\":%u,\"stream\":%u,\"event\":%u,\"corr\":%u,\"tid\":%u}\n",
                          static_cast<int>(op.kind), op.start_ns, op.end_ns, op.context, op.stream,
                          op.event, op.correlation, current_tid()));
}

void note_refusal(const char* library, const char* name, int code) {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::unordered_set<std::string>;
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    if (!said->insert(std::string(library) + "/" + name).second) return;
  }
  // PyTorch asks for it in every process and goes on without.
  const bool expected = std::strcmp(name, "cuLogsRegisterCallback") == 0;
  if (!config().quiet && !expected)
    std::fprintf(stderr, "gpusim: the simulated GPU has no %s (%s); refused with %d%s\n", name,
                 library, code, advice_on(name));
  if (!truth_on()) return;
  char line[512];
  put(line, std::snprintf(line, sizeof line,
                          "{\"t\":\"refused\",\"library\":\"%s\",\"name\":\"%s\",\"code\":%d}\n",
                          library, name, code));
}

}  // namespace gpusim
