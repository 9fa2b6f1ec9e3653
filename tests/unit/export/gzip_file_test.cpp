// SPDX-License-Identifier: Apache-2.0
#include "analysis/export/encoding/gzip_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "tests/unit/export/export_fixture.hpp"
#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::exporter {
namespace {

constexpr int kChunks = 30, kLimitIsNone = 77;

std::string text_of(int chunk) {
  return std::string(10'000 + static_cast<std::size_t>(chunk), static_cast<char>('a' + chunk % 26));
}

void write_chunks(GzipFile& file) {
  for (int i = 0; i < kChunks; ++i) {
    std::vector<char> chunk = file.take_chunk();
    const std::string text = text_of(i);
    std::copy(text.begin(), text.end(), chunk.begin());
    file.put_chunk(std::move(chunk), text.size());
  }
}

/// In a child: where no thread can be made. The exit status says how far it came.
int written_alone(const std::string& path) {
  constexpr ::rlimit kNone{0, 0};
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return kLimitIsNone;
  if (setrlimit(RLIMIT_NPROC, &kNone) != 0) return kLimitIsNone;
  try {
    std::thread([] {}).join();
    return kLimitIsNone;
  } catch (const std::system_error&) {
  }
  auto made = GzipFile::create(path);
  if (!made) return 1;
  const auto file = made.take();
  write_chunks(*file);
  return file->finish() ? 0 : 2;
}

TEST(GzipFile, NeedsNoThreadOfItsOwn) {
  const test::TempFolder folder;
  ASSERT_EQ(0, chmod(folder.path().c_str(), 0777));
  const std::string path = folder / "alone.gz";
  const pid_t child = fork();
  if (child == 0) _exit(written_alone(path));
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  ASSERT_TRUE(WIFEXITED(status)) << "by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kLimitIsNone) GTEST_SKIP() << "no limit on threads can be set here";
  ASSERT_EQ(0, WEXITSTATUS(status));
  std::string whole;
  for (int i = 0; i < kChunks; ++i) whole += text_of(i);
  EXPECT_EQ(whole, test::unpack_one_member(test::read_file(path)));
}

}  // namespace
}  // namespace gpuprof::exporter
