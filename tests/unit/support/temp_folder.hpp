// SPDX-License-Identifier: Apache-2.0
//
// A folder for one test, removed with what is in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gpuprof::test {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpuprof-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& text, bool executable = false) {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    if (executable) {
      std::filesystem::permissions(file, std::filesystem::perms(0755));
    }
    return file;
  }

 private:
  std::string path_;
};

}  // namespace gpuprof::test
