// SPDX-License-Identifier: Apache-2.0
//
// Figures of kernels read from images made here, whole and damaged.
//
// Context:  tests
// Owns:     nothing
// Promises: no compiler of anyone is needed
// Not here: the images of a real program (tests/e2e/simgpu)
#include "core/work/fatbin.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/work/kernels.hpp"

namespace {

using Bytes = std::vector<unsigned char>;

template <typename T>
void put(Bytes& to, const T& value) {
  const auto* p = reinterpret_cast<const unsigned char*>(&value);
  to.insert(to.end(), p, p + sizeof value);
}

struct Section {
  std::string name;
  std::uint32_t type;
  Bytes data;
  std::uint32_t link;
};

Bytes elf(std::vector<Section> sections) {
  Section names{".shstrtab", SHT_STRTAB, {0}, 0};
  sections.push_back(names);
  std::vector<std::uint32_t> at;
  for (const Section& s : sections) {
    at.push_back(static_cast<std::uint32_t>(sections.back().data.size()));
    sections.back().data.insert(sections.back().data.end(), s.name.begin(), s.name.end());
    sections.back().data.push_back(0);
  }
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = static_cast<Elf64_Half>(sections.size());
  head.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  head.e_shoff = sizeof head;
  Bytes out, body;
  put(out, head);
  const std::size_t start = sizeof head + sections.size() * sizeof(Elf64_Shdr);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr s{};
    s.sh_name = at[i];
    s.sh_type = sections[i].type;
    s.sh_offset = start + body.size();
    s.sh_size = sections[i].data.size();
    s.sh_link = sections[i].link;
    put(out, s);
    body.insert(body.end(), sections[i].data.begin(), sections[i].data.end());
  }
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

Bytes attribute(unsigned char number, std::vector<std::uint32_t> words) {
  Bytes out{4, number};
  put(out, static_cast<std::uint16_t>(words.size() * 4));
  for (const std::uint32_t w : words) put(out, w);
  return out;
}

/// A cubin of one kernel "k".
Bytes cubin(std::uint32_t registers, std::size_t shared) {
  Bytes symbols;
  put(symbols, Elf64_Sym{});
  Elf64_Sym kernel{};
  kernel.st_name = 1;
  put(symbols, kernel);
  Bytes info{1, 0x99, 0, 0};  // an attribute without a value comes first
  const Bytes count = attribute(0x2f, {1, registers});
  info.insert(info.end(), count.begin(), count.end());
  return elf({{".strtab", SHT_STRTAB, {0, 'k', 0}, 0},
              {".symtab", SHT_SYMTAB, symbols, 0},
              {".nv.info", SHT_PROGBITS, info, 0},
              {".nv.info.k", SHT_PROGBITS, attribute(0x05, {128, 2, 1}), 0},
              {".nv.shared.k", SHT_PROGBITS, Bytes(shared, 0), 0}});
}

struct Architecture {
  std::uint32_t number;
  Bytes image;
};

Bytes fat_binary(const std::vector<Architecture>& all) {
  Bytes body;
  for (const Architecture& a : all) {
    Bytes entry;
    put(entry, std::uint16_t{2});
    put(entry, std::uint16_t{0});
    put(entry, std::uint32_t{64});
    put(entry, std::uint64_t{a.image.size()});
    entry.resize(28);
    put(entry, a.number);
    entry.resize(64);
    body.insert(body.end(), entry.begin(), entry.end());
    body.insert(body.end(), a.image.begin(), a.image.end());
  }
  Bytes out;
  put(out, std::uint32_t{0xba55ed50});
  put(out, std::uint16_t{1});
  put(out, std::uint16_t{16});
  put(out, std::uint64_t{body.size()});
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

TEST(Fatbin, ReadsOneCubin) {
  const Bytes image = cubin(77, 512);
  const gpusim::FigureTable table = gpusim::read_figures(image.data(), 80);
  ASSERT_EQ(table.count("k"), 1u);
  EXPECT_EQ(table.at("k").registers, 77);
  EXPECT_EQ(table.at("k").static_smem, 512u);
  EXPECT_EQ(table.at("k").max_threads, 256u);
}

TEST(Fatbin, TakesTheDevicesArchitectureElseTheHighestBelow) {
  const Bytes image =
      fat_binary({{80, cubin(30, 0)}, {90, cubin(40, 1024 + 256)}, {120, cubin(50, 0)}});
  EXPECT_EQ(gpusim::read_figures(image.data(), 90).at("k").registers, 40);
  EXPECT_EQ(gpusim::read_figures(image.data(), 90).at("k").static_smem, 256u)
      << "without the reserve";
  EXPECT_EQ(gpusim::read_figures(image.data(), 89).at("k").registers, 30);
  EXPECT_EQ(gpusim::read_figures(image.data(), 100).at("k").registers, 40);
  EXPECT_TRUE(gpusim::read_figures(image.data(), 70).empty());
}

TEST(Fatbin, ReadsThroughTheWrapper) {
  const Bytes image = fat_binary({{90, cubin(40, 0)}});
  const unsigned char* data = image.data();
  Bytes wrapper;
  put(wrapper, std::uint32_t{0x466243b1});
  put(wrapper, std::uint32_t{1});
  put(wrapper, data);
  EXPECT_EQ(gpusim::read_figures(wrapper.data(), 90).at("k").registers, 40);
}

TEST(Fatbin, SurvivesDamage) {
  const Bytes whole = fat_binary({{90, cubin(40, 256)}});
  for (std::size_t at = 16; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 0xff;
    gpusim::read_figures(damaged.data(), 90);
  }
  const Bytes nothing(64, 0);
  EXPECT_TRUE(gpusim::read_figures(nothing.data(), 90).empty());
  EXPECT_TRUE(gpusim::read_figures(nullptr, 90).empty());
}

TEST(Kernels, AreCheckedAgainstTheDevice) {
  const gpusim::DeviceModel& m = gpusim::device_model(gpusim::Model::kH100);
  gpusim::FigureTable figures;
  figures["k"] = {.registers = 128, .static_smem = 1024};
  const gpusim::Function* f = gpusim::create_function(nullptr, "k", &figures);
  EXPECT_EQ(f->max_threads, 512);
  EXPECT_EQ(gpusim::check_launch(*f, m, {{1, 1, 1}, {512, 1, 1}, {}, 0, false}), 0);
  EXPECT_EQ(gpusim::check_launch(*f, m, {{1, 1, 1}, {544, 1, 1}, {}, 0, false}), 701);
  EXPECT_EQ(gpusim::check_launch(*f, m, {{1, 70000, 1}, {32, 1, 1}, {}, 0, false}), 9);
  EXPECT_EQ(gpusim::check_launch(*f, m, {{1, 1, 1}, {32, 1, 128}, {}, 0, false}), 9);
  EXPECT_EQ(gpusim::check_launch(*f, m, {{1, 1, 1}, {32, 1, 1}, {}, 65536, false}), 1);
  EXPECT_EQ(gpusim::check_launch(*f, m, {{529, 1, 1}, {512, 1, 1}, {}, 0, true}), 720);
  const gpusim::Function* unknown = gpusim::create_function(nullptr, "other", &figures);
  EXPECT_EQ(unknown->architecture, 0);
  EXPECT_EQ(unknown->registers, gpusim::create_function(nullptr, "other", nullptr)->registers);
}

}  // namespace
