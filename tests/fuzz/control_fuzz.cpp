// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary packets as an agent's messages: parsed, taken apart, written to a spool.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "daemon/session/target/target.hpp"

namespace {

using namespace gpuprof;

struct Deaf final : session::TargetListener {
  void target_step_began(session::Target&, std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void target_step_ended(session::Target&, std::uint64_t, std::uint64_t, bool) override {}
  void target_first_activity(session::Target&, std::uint64_t) override {}
  void target_end_requested(session::Target&, std::uint32_t) override {}
  void target_recording(session::Target&, bool, std::uint64_t) override {}
};

const std::string& folder() {
  // Never destroyed: what is called at the end needs it.
  static const std::string& made = *new std::string([] {
    char name[] = "/tmp/gpuprof-fuzz-XXXXXX";
    const std::string path = ::mkdtemp(name);
    std::atexit([] { [[maybe_unused]] const int rc = ::rmdir(folder().c_str()); });
    return path;
  }());
  return made;
}

void deliver(session::Target& target, const std::uint8_t* data, std::size_t size) {
  wire::Packet packet;
  std::uint16_t major = 0;
  if (wire::parse_packet(reinterpret_cast<const std::byte*>(data), size, &packet, &major))
    target.on_message(packet);
}

}  // namespace

// Input: packets, each behind its 16-bit length; each is delivered as it is, and once more with a
// header that fits (type from its first byte), so that bodies are reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Deaf events;
  wire::Hello hello{};
  const std::string path = folder() + "/fuzz.spool";
  session::Target::Identity identity;
  identity.pid = 1;
  auto made = session::Target::create(hello, identity, path, 1, events);
  if (!made) return 0;
  session::Target& target = *made.value();
  while (size > 2) {
    const std::size_t bytes = std::min<std::size_t>(base::load<std::uint16_t>(data), size - 2);
    deliver(target, data + 2, bytes);
    if (bytes > 2) {
      std::string framed(sizeof(wire::MessageHeader), '\0');
      const auto body = static_cast<std::uint32_t>(std::min<std::size_t>(data[3], bytes - 2));
      const wire::MessageHeader header{wire::kMessageMagic, wire::kWireMajor,
                                       static_cast<std::uint16_t>(1 + data[2] % 10), body,
                                       static_cast<std::uint32_t>(bytes - 2 - body)};
      std::memcpy(framed.data(), &header, sizeof header);
      framed.append(reinterpret_cast<const char*>(data + 4), bytes - 2);
      deliver(target, reinterpret_cast<const std::uint8_t*>(framed.data()), framed.size());
    }
    data += 2 + bytes;
    size -= 2 + bytes;
  }
  target.finish(session::Target::End::kVanished, -1, 1);
  ::unlink(path.c_str());
  return 0;
}
