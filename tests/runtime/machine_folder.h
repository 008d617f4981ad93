#ifndef TESSERA_TESTS_RUNTIME_MACHINE_FOLDER_H_
#define TESSERA_TESTS_RUNTIME_MACHINE_FOLDER_H_
// A machine's /proc and /sys in a folder, empty at first.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tessera::testing {

class MachineFolder : public ::testing::Test {
 protected:
  MachineFolder() : root_(::testing::TempDir() + "machine") { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_RUNTIME_MACHINE_FOLDER_H_
