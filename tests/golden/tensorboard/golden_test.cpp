// SPDX-License-Identifier: Apache-2.0
//
// The scripted session's bytes: a change of the format must show in a diff.
//
// GPUPROF_UPDATE_GOLDENS=1 writes the files anew instead of comparing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "analysis/export/export.hpp"
#include "recording/spool/block.hpp"
#include "tests/golden/tensorboard/scripted_session.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof {
namespace {

namespace fs = std::filesystem;

const fs::path kHere = fs::path(__FILE__).parent_path();

void compare(const fs::path& golden, const std::string& got) {
  if (std::getenv("GPUPROF_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(golden, std::ios::binary | std::ios::trunc) << got;
    GTEST_SKIP() << "wrote " << golden;
  }
  ASSERT_TRUE(fs::exists(golden)) << "run with GPUPROF_UPDATE_GOLDENS=1";
  const std::string wanted = test::read_file(golden);
  std::size_t at = 0;
  while (at < wanted.size() && at < got.size() && wanted[at] == got[at]) ++at;
  EXPECT_TRUE(wanted == got) << golden.filename() << " differs from byte " << at << " on: ..."
                             << got.substr(at > 60 ? at - 60 : 0, 160);
}

/// Two hexadecimal digits a byte, 32 bytes a line.
std::string hex(const std::string& bytes) {
  std::string out;
  char digits[3];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
    out += digits;
    if (i % 32 == 31) out += '\n';
  }
  return out + '\n';
}

class Golden : public test::ExportTest {};

TEST_F(Golden, TraceOfTheScriptedSession) {
  // given
  const auto session = test::write_script(folder_, folder_ + "/out");
  ASSERT_TRUE(session.ok()) << session.error().message;
  // when
  const auto files = exporter::write_window(session.value(), test::script_window(), {4000}, {});
  ASSERT_TRUE(files.ok()) << files.error().message;
  // then
  compare(kHere / "scripted.pt.trace.json",
          test::unpack_one_member(test::read_file(files.value()[0].path)));
}

TEST_F(Golden, TraceOfTheScriptedSessionForHta) {
  auto session = test::write_script(folder_, folder_ + "/out");
  ASSERT_TRUE(session.ok()) << session.error().message;
  session.value().options.formats = {"kineto"};
  const auto files = exporter::write_window(session.value(), test::script_window(), {4000}, {});
  ASSERT_TRUE(files.ok()) << files.error().message;
  compare(kHere / "scripted.kineto.json",
          test::unpack_one_member(test::read_file(files.value()[0].path)));
}

TEST_F(Golden, SpoolOfTheScriptedSession) {
  // One block of definitions, one of events; deflated bytes depend on the library, so what is
  // compared is each event's coding.
  const std::string path = folder_ + "/g.spool";
  {
    auto writer = spool::ProcessWriter::create(path).take();
    test::send_script(4000, 0, *writer);
  }
  const std::string bytes = test::read_file(path);
  std::string all;
  for (std::size_t at = sizeof(spool::FileHeader); at < bytes.size();) {
    spool::BlockHeader header;
    ASSERT_LE(at + sizeof header, bytes.size());
    std::memcpy(&header, bytes.data() + at, sizeof header);
    at += sizeof header;
    std::vector<std::byte> raw;
    const auto* stored = reinterpret_cast<const std::byte*>(bytes.data() + at);
    ASSERT_TRUE(spool::unpack(header, {stored, header.stored_bytes}, raw));
    all += "block " + std::to_string(header.sequence) + ", " + std::to_string(header.events) +
           " events, " + std::to_string(header.definitions) + " definitions\n";
    all += hex({reinterpret_cast<const char*>(raw.data()), raw.size()});
    at += header.stored_bytes;
  }
  compare(kHere / ".." / "spool" / "scripted.hex", all);
}

}  // namespace
}  // namespace gpuprof
