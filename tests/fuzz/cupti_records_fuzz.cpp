// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary bytes as CUPTI records of arbitrary sizes: nothing may be read beyond a record.
//
// Context:  tests
// Not here: CUPTI's own iterator, which cuts a buffer into records before we see it
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "inject/cupti/activity/name_ids.hpp"
#include "inject/cupti/activity/translate.hpp"
#include "inject/cupti/callbacks/kernel_steps.hpp"

namespace {

using namespace gpuprof;
using namespace gpuprof::cupti;

// A block of exactly the record's size, so that a sanitizer sees the first byte too many.
struct Block {
  explicit Block(const std::uint8_t* data, std::size_t bytes)
      : memory(new std::byte[bytes]), raw{memory.get(), static_cast<std::uint16_t>(bytes), 0} {
    std::memcpy(memory.get(), data, bytes);
  }
  std::unique_ptr<std::byte[]> memory;
  RawRecord raw;
};

void translate_all(const RawRecord& from) {
  const char* name = nullptr;
  wire::KernelExec kernel;
  translate_kernel(from, &kernel, &name);
  wire::MemCopy copy;
  translate_memcpy(from, &copy);
  translate_memcpy_peer(from, &copy);
  wire::MemSet set;
  translate_memset(from, &set);
  wire::GraphExec graph;
  translate_graph(from, &graph);
  wire::ApiCall call;
  translate_api(from, wire::ApiDomain::kRuntime, &call);
  wire::Sync sync;
  translate_sync(from, &sync);
  wire::Overhead overhead;
  translate_overhead(from, &overhead);
  wire::ContextInfo context;
  translate_context(from, &context);
  wire::StreamInfo stream;
  translate_stream(from, &stream);
  wire::DeviceInfo device;
  translate_device(from, &device, &name);
  wire::JitActivity jit;
  translate_jit(from, &jit);
}

// The same bytes as a name: the small demangler and the suffix cutter see anything a driver sends.
void name_all(const std::uint8_t* data, std::size_t bytes) {
  const std::unique_ptr<char[]> text(new char[bytes + 1]);
  std::memcpy(text.get(), data, bytes);
  text[bytes] = '\0';
  const auto length = static_cast<std::uint32_t>(std::strlen(text.get()));
  char out[128];
  const std::uint32_t written = qualified_name(text.get(), length, out, sizeof out);
  if (written > sizeof out) __builtin_trap();
  const TextView bare = strip_api_suffix(text.get());
  if (bare.bytes > length) __builtin_trap();
}

}  // namespace

// One byte chooses the version, the rest is the record.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes < 2 || bytes > 1024) return 0;
  static constexpr std::uint32_t kVersions[] = {13, 14, 18, 24, 28, 130000, 130001, 140000};
  Block block(data + 1, bytes - 1);
  block.raw.version = kVersions[data[0] % 8];
  translate_all(block.raw);
  name_all(data + 1, bytes - 1);
  return 0;
}
