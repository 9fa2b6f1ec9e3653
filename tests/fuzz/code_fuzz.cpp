// SPDX-License-Identifier: Apache-2.0
//
// Python's byte code and line tables of any bytes; mangled names; where addresses lie among
// modules.
//
// Context:  tests
#include <cstdint>
#include <cstring>
#include <string>

#include "analysis/symbols/elf_symbols.hpp"
#include "analysis/symbols/module_map.hpp"
#include "analysis/symbols/python_lines.hpp"
#include "daemon/attach/process/maps.hpp"
#include "inject/python/loops/loop_scan.hpp"
#include "support/text/demangle.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;

void line_table(FuzzInput& in) {
  const auto minor = static_cast<std::uint16_t>(8 + in.pick(8));
  const auto first = in.number<std::int32_t>(), offset = in.number<std::int32_t>();
  const std::string_view table = in.rest();
  const auto exact = test::bytes_of_exactly(table);
  symbols::python_line({exact.get(), table.size()}, minor, first, offset);
  for (std::int32_t at = 0; at < 64; at += 2)
    symbols::python_line({exact.get(), table.size()}, minor, 1, at);
}

void jumps(FuzzInput& in) {
  const auto minor = static_cast<std::uint32_t>(6 + in.pick(12));
  const std::string_view code = in.rest();
  const auto exact = test::bytes_of_exactly(code);
  const auto bytes = static_cast<std::int32_t>(code.size());
  python::LoopScan scan;
  python::scan_loops(minor, reinterpret_cast<const std::uint8_t*>(exact.get()), bytes, &scan);
  if (!scan.known) return;
  require(scan.count <= python::kMaxSpans, "more loops than room");
  for (std::uint32_t i = 0; i < scan.count; ++i) {
    const python::LoopSpan& loop = scan.spans[i];
    require(0 <= loop.target && loop.target <= loop.jump && loop.jump < bytes,
            "a loop outside its code");
    require(loop.body >= 0 && loop.body <= bytes, "a loop's body outside its code");
    require(i == 0 || scan.spans[i - 1].target <= loop.target, "loops are out of order");
  }
}

void names(FuzzInput& in) {
  const std::string name(in.rest());
  const std::string shown = support::demangle(name.c_str());
  require(name.c_str()[0] == '\0' || !shown.empty(), "a name is lost");
  require(shown.size() <= (1u << 20), "a name grows without end");
}

void modules(FuzzInput& in) {
  symbols::ModuleMap map;
  while (in.left() > 1) {
    const std::uint8_t what = in.byte();
    const std::uint64_t start = in.odd() ? in.number<std::uint64_t>() : 4096 * in.byte();
    const std::uint64_t end = in.odd() ? in.number<std::uint64_t>() : start + 4096 * in.byte();
    if (what % 3 == 0) {
      map.remove({start, start, in.byte()});
    } else if (what % 3 == 1) {
      const std::string_view path = in.bytes(in.byte());
      map.add({what, start, end, in.byte(), path.substr(0, path.size() / 2), path});
    } else {
      const auto hit = map.find(end, what);
      require(hit.module == nullptr || (hit.module->start <= end && end < hit.module->end),
              "an address lies in a module that does not hold it");
    }
  }
}

void mappings(FuzzInput& in) {
  const attach::Maps maps = attach::parse_maps(in.rest());
  for (const attach::Mapping& one : maps) {
    attach::file_name(one);
    const attach::Mapping* found = attach::mapping_of(maps, one.start);
    require(found == nullptr || found->holds(one.start), "another mapping than that of an address");
  }
}

}  // namespace

// One byte chooses what the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  switch (in.pick(5)) {
    case 0:
      line_table(in);
      break;
    case 1:
      jumps(in);
      break;
    case 2:
      names(in);
      break;
    case 3:
      modules(in);
      break;
    default:
      mappings(in);
      break;
  }
  return 0;
}
