// SPDX-License-Identifier: Apache-2.0
//
// Packets of the socket from a fuzzer's bytes: most with a header that fits, some of any bytes.
//
// Context:  tests
// Owns:     nothing
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "gpuprof/wire/messages.hpp"
#include "tests/fuzz/input.hpp"

namespace gpuprof::test {

/// Header, body and tail as a peer of this version would frame them.
inline std::string framed(wire::MessageType type, std::string_view body, std::string_view tail) {
  const wire::MessageHeader header{
      wire::kMessageMagic, wire::kWireMajor, static_cast<std::uint16_t>(type),
      static_cast<std::uint32_t>(body.size()), static_cast<std::uint32_t>(tail.size())};
  std::string whole(sizeof header, '\0');
  std::memcpy(whole.data(), &header, sizeof header);
  whole += body;
  whole += tail;
  return whole;
}

/// How long the body of a message is; 0: not known here.
inline std::size_t body_bytes_of(wire::MessageType type);

/// The next packet: one of `types`, its body as long as it is to be, its tail from the input; or
/// anything. Lengths inside a body come right as often as not.
template <std::size_t N>
std::string packet(FuzzInput& in, const wire::MessageType (&types)[N]) {
  const std::uint8_t how = in.byte();
  if (how >= 240) return std::string(in.text());
  const wire::MessageType type =
      how >= 224 ? static_cast<wire::MessageType>(in.byte()) : types[how % N];
  std::string body(in.bytes(body_bytes_of(type)));
  body.resize(body_bytes_of(type));
  return framed(type, body, in.text());
}

inline std::size_t body_bytes_of(wire::MessageType type) {
  using T = wire::MessageType;
  switch (type) {
    case T::kHello:
      return sizeof(wire::Hello);
    case T::kModule:
      return sizeof(wire::Module);
    case T::kModuleUnloaded:
    case T::kThread:
      return 24;
    case T::kNotice:
      return sizeof(wire::Notice);
    case T::kStateReport:
      return sizeof(wire::StateReport);
    case T::kConfig:
      return sizeof(wire::Config);
    case T::kSessionReady:
    case T::kFlush:
    case T::kFlushDone:
    case T::kBye:
    case T::kCapture:
      return 16;
    case T::kProgress:
      return sizeof(wire::Progress);
    case static_cast<T>(129):  // JoinRequest
      return 16;
    case static_cast<T>(160):  // StatusReply
      return 56;
    default:
      return 8;
  }
}

}  // namespace gpuprof::test
