// SPDX-License-Identifier: Apache-2.0
//
// What a viewer may ask for at the button's port, and environments of processes that are looked at
// to find those meant.
//
// Context:  tests
// Not here: gRPC and its messages, which are the library's
#include <arpa/inet.h>

#include <cstdint>
#include <optional>
#include <string>

#include "serve/profile_request.hpp"
#include "serve/target_processes.hpp"
#include "support/io/listen_address.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;

std::uint64_t time_of(FuzzInput& in) {
  return in.odd() ? in.number<std::uint64_t>() : in.number<std::uint32_t>() * 1'000'000ULL;
}

void request(FuzzInput& in) {
  serve::RequestedProfile ask;
  ask.version = in.byte();
  ask.device_type = in.byte() % 7;
  ask.host_level = in.byte() % 5, ask.device_level = in.byte() % 5;
  ask.python_level = in.byte() % 5;
  ask.start_ns = time_of(in);
  ask.duration_ms = in.odd() ? in.number<std::uint64_t>() : in.number<std::uint32_t>();
  const std::uint32_t allowed = in.byte();
  const std::uint64_t now_ns = time_of(in);
  const std::optional<std::uint64_t> remaining =
      in.odd() ? std::optional(time_of(in)) : std::nullopt;
  serve::Rejection refused;
  const auto plan = serve::make_capture_plan(ask, allowed, now_ns, remaining, &refused);
  if (!plan) return require(!refused.message.empty(), "no sentence");
  require((plan->trace & ~allowed) == 0, "more is recorded than allowed");
  require(plan->wait_ns <= serve::kMaxDuration_ns, "it waits for more than an hour");
  require(plan->record_ns <= serve::kMaxDuration_ns, "it records for more than an hour");
  require(plan->record_ns != 0, "it records nothing");
  require(!remaining || plan->wait_ns + plan->record_ns < *remaining, "the client gives up first");
}

/// Names would be looked up in the network.
bool is_name(const std::string& word) {
  const std::string host = word.substr(0, word.rfind(':'));
  in_addr four{};
  return !word.starts_with('[') && host.find_first_not_of("0123456789") != std::string::npos &&
         host != "localhost" && ::inet_pton(AF_INET, host.c_str(), &four) != 1;
}

void address(FuzzInput& in) {
  const std::string word(in.rest());
  if (is_name(word)) return;
  const auto parsed = support::parse_listen_address("--at", word);
  if (!parsed) return require(!parsed.error().message.empty(), "no sentence");
  const support::ListenAddress& one = parsed.value();
  require(one.bytes <= sizeof one.socket_address && one.bytes != 0, "an address without length");
  const auto again = support::parse_listen_address("--at", one.text);
  require(again && again.value().text == one.text, "an address is shown as another one");
}

}  // namespace

// One byte chooses what the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  switch (in.pick(3)) {
    case 0:
      request(in);
      break;
    case 1:
      address(in);
      break;
    default: {
      const std::uint32_t pid = in.number<std::uint16_t>();
      const int says = serve::environment_names_program(std::string(in.rest()), pid);
      require(says >= -1 && says <= 1, "neither yes nor no");
      break;
    }
  }
  return 0;
}
