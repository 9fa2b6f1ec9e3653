// SPDX-License-Identifier: Apache-2.0
//
// Calls of NVTX as no honest program makes them: attributes of wrong sizes, messages of any kind
// and length, foreign handles, pops without pushes. What comes out of the ring buffers is whole.
//
// Context:  tests
// Not here: tables of other copies of the header (tests/unit/nvtx)
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "inject/nvtx/handle_tables.hpp"
#include "inject/nvtx/handlers.hpp"
#include "inject/nvtx/nvtx.hpp"
#include "inject/nvtx/step_pattern.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace gpuprof;
using namespace gpuprof::nvtx;
using test::FuzzInput;
using test::require;

fakes::InProcessSegment& segment() {
  static fakes::InProcessSegment made(2, 2);
  return made;
}

template <typename F>
F entry(TableEntries entries, unsigned index) {
  for (std::size_t i = 0; i < entries.count; ++i)
    if (entries.first[i].index == index) return reinterpret_cast<F>(entries.first[i].function);
  std::abort();
}
#define CORE(name) entry<nvtx##name##_impl_fntype>(core_entries(), NVTX_CBID_CORE_##name)
#define CORE2(name) entry<nvtx##name##_impl_fntype>(core2_entries(), NVTX_CBID_CORE2_##name)

/// What one input's calls refer to, alive as long as they are.
struct World {
  nvtxDomainHandle_t domains[4] = {};
  nvtxStringHandle_t strings[4] = {};
  std::unique_ptr<char[]> ascii;
  std::unique_ptr<wchar_t[]> wide;
};

const char* ascii(FuzzInput& in, World& world) {
  const std::string text(in.text());
  world.ascii = test::bytes_of_exactly({text.c_str(), text.size() + 1});
  return in.byte() == 0 ? nullptr : world.ascii.get();
}

const wchar_t* wide(FuzzInput& in, World& world) {
  const std::size_t count = in.pick(600);
  world.wide = std::make_unique<wchar_t[]>(count + 1);
  for (std::size_t i = 0; i < count; ++i)
    world.wide[i] = in.odd() ? in.byte() : static_cast<wchar_t>(in.number<std::uint32_t>());
  world.wide[count] = 0;
  return in.byte() == 0 ? nullptr : world.wide.get();
}

nvtxDomainHandle_t domain(FuzzInput& in, const World& world) {
  const std::uint8_t which = in.byte();
  if (which < 250) return world.domains[which % 4];
  return reinterpret_cast<nvtxDomainHandle_t>(in.number<std::uintptr_t>());  // another tool's
}

nvtxMessageValue_t message(FuzzInput& in, World& world, std::int32_t* type) {
  nvtxMessageValue_t value{};
  switch (in.pick(5)) {
    case 0:
      *type = NVTX_MESSAGE_TYPE_ASCII;
      value.ascii = ascii(in, world);
      break;
    case 1:
      *type = NVTX_MESSAGE_TYPE_UNICODE;
      value.unicode = wide(in, world);
      break;
    case 2:
      *type = NVTX_MESSAGE_TYPE_REGISTERED;
      value.registered = world.strings[in.pick(4)];
      break;
    case 3:
      *type = NVTX_MESSAGE_TYPE_REGISTERED;
      value.registered = reinterpret_cast<nvtxStringHandle_t>(in.number<std::uintptr_t>());
      break;
    default:  // nobody may look behind the pointer of a kind that is not known
      *type = in.odd() ? NVTX_MESSAGE_UNKNOWN : 77;
      value.ascii = reinterpret_cast<const char*>(in.number<std::uintptr_t>());
      break;
  }
  return value;
}

/// A block as large as its `size` says, which may be less than the structure.
template <typename Attributes>
std::unique_ptr<char[]> sized(FuzzInput& in, const Attributes& from) {
  std::unique_ptr<char[]> block =
      test::bytes_of_exactly({reinterpret_cast<const char*>(&from), sizeof from});
  if (in.byte() >= 32) return block;
  const std::size_t bytes = 4 + in.pick(sizeof from - 4);
  block = test::bytes_of_exactly({reinterpret_cast<const char*>(&from), bytes});
  const auto output = static_cast<std::uint16_t>(bytes);
  std::memcpy(block.get() + offsetof(Attributes, size), &output, sizeof output);
  return block;
}

std::unique_ptr<char[]> event(FuzzInput& in, World& world) {
  nvtxEventAttributes_t attributes{};
  attributes.version = in.byte() == 0 ? in.number<std::uint16_t>() : NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = in.byte();
  attributes.colorType = in.byte() % 3;
  attributes.color = in.number<std::uint32_t>();
  attributes.payloadType = in.byte() % 9;
  attributes.payload.ullValue = in.number<std::uint64_t>();
  attributes.message = message(in, world, &attributes.messageType);
  return sized(in, attributes);
}

const nvtxEventAttributes_t* as_event(const std::unique_ptr<char[]>& block, FuzzInput& in) {
  return in.byte() == 0 ? nullptr : reinterpret_cast<const nvtxEventAttributes_t*>(block.get());
}

void resource(FuzzInput& in, World& world) {
  nvtxResourceAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  attributes.identifierType =
      in.odd() ? static_cast<std::int32_t>(NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE) : in.byte();
  attributes.identifier.ullValue = in.number<std::uint32_t>();
  attributes.message = message(in, world, &attributes.messageType);
  const auto block = sized(in, attributes);
  CORE2(DomainResourceCreate)
  (domain(in, world), reinterpret_cast<nvtxResourceAttributes_t*>(block.get()));
}

void push_pop(FuzzInput& in, World& world) {
  const auto attributes = event(in, world);
  switch (in.pick(7)) {
    case 0:
      return (void)CORE(RangePushEx)(as_event(attributes, in));
    case 1:
      return (void)CORE(RangePushA)(ascii(in, world));
    case 2:
      return (void)CORE(RangePushW)(wide(in, world));
    case 3:
      return (void)CORE(RangePop)();
    case 4:
      return (void)CORE2(DomainRangePushEx)(domain(in, world), as_event(attributes, in));
    case 5:
      return (void)CORE2(DomainRangePop)(domain(in, world));
    default:
      return CORE2(DomainMarkEx)(domain(in, world), as_event(attributes, in));
  }
}

void start_end(FuzzInput& in, World& world) {
  const auto attributes = event(in, world);
  switch (in.pick(7)) {
    case 0:
      return (void)CORE(RangeStartEx)(as_event(attributes, in));
    case 1:
      return (void)CORE(RangeStartA)(ascii(in, world));
    case 2:
      return (void)CORE(RangeStartW)(wide(in, world));
    case 3:
      return CORE(RangeEnd)(in.odd() ? in.byte() : in.number<std::uint64_t>());
    case 4:
      return CORE(MarkEx)(as_event(attributes, in));
    case 5:
      return CORE(MarkA)(ascii(in, world));
    default:
      return CORE(MarkW)(wide(in, world));
  }
}

void name(FuzzInput& in, World& world) {
  switch (in.pick(7)) {
    case 0:
      world.domains[in.pick(4)] = CORE2(DomainCreateA)(ascii(in, world));
      return;
    case 1:
      world.domains[in.pick(4)] = CORE2(DomainCreateW)(wide(in, world));
      return;
    case 2:
      world.strings[in.pick(4)] = CORE2(DomainRegisterStringA)(domain(in, world), ascii(in, world));
      return;
    case 3:
      world.strings[in.pick(4)] = CORE2(DomainRegisterStringW)(domain(in, world), wide(in, world));
      return;
    case 4:
      return CORE(NameOsThreadA)(in.number<std::uint32_t>(), ascii(in, world));
    case 5:
      return CORE(NameOsThreadW)(in.number<std::uint32_t>(), wide(in, world));
    default:
      return resource(in, world);
  }
}

/// The pattern of steps is a glob of any bytes; it ends, and the empty one matches nothing longer.
void step_name(FuzzInput& in) {
  const std::string pattern(in.text()), text(in.text());
  set_step_pattern(in.odd() ? pattern.c_str() : "");
  const auto exact = test::bytes_of_exactly(text);
  const bool fits = glob_matches({pattern.data(), static_cast<std::uint32_t>(pattern.size())},
                                 {exact.get(), static_cast<std::uint32_t>(text.size())});
  require(!fits || !pattern.empty() || text.empty(), "an empty pattern matches");
  if (pattern.find_first_of("*?") == std::string::npos)
    require(fits == (pattern == text), "a plain pattern matches itself only");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fakes::InProcessSegment& rings = segment();
  map_tables();
  FuzzInput in(data, size);
  World world;
  hot::g_state.on.store(in.odd() ? hot::kOnNvtx | hot::kOnNvtxSteps : in.byte());
  for (int calls = 0; !in.empty() && calls < 200; ++calls) {
    switch (in.pick(5)) {
      case 0:
        name(in, world);
        break;
      case 1:
        step_name(in);
        break;
      case 2:
        start_end(in, world);
        break;
      default:
        push_pop(in, world);
        break;
    }
  }
  send_names();
  rings.discard_records();  // reads every frame; a corrupt ring buffer fails below
  reset_open_ranges();
  set_step_pattern("");
  for (const auto& [index, text] : fakes::g_domains)
    require(index < kDomains && text.size() <= 120, "a domain's name is too long");
  for (const auto& [tid, text] : fakes::g_thread_names)
    require(text.size() <= 120, "a thread's name is too long");
  fakes::g_domains.clear();
  fakes::g_thread_names.clear();
  require(!::testing::Test::HasFailure(), "a ring buffer is corrupt");
  return 0;
}
