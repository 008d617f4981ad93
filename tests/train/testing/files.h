#ifndef TESSERA_TESTS_TRAIN_TESTING_FILES_H_
#define TESSERA_TESTS_TRAIN_TESTING_FILES_H_
// Files and rows for tests of the readers.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/testing/error_of.h"

namespace tessera::testing {

// A path in the test's own folder.
inline std::string TempPath(const std::string& name) { return ::testing::TempDir() + "/" + name; }

inline std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = TempPath(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

inline std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::string WriteGzFile(const std::string& name, const std::string& text) {
  const std::string path = TempPath(name);
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

// A good line: label n mod 2, integer 1 is n, category 1 is n in hexadecimal, everything else is
// missing.
inline std::string NumberedLine(int n) {
  std::ostringstream line;
  line << n % 2 << '\t' << n << std::string(12, '\t') << '\t' << std::hex << n
       << std::string(25, '\t');
  return line.str();
}

inline std::string NumberedLines(int begin, int end, const std::string& line_end = "\n") {
  std::string text;
  for (int n = begin; n < end; ++n) text += NumberedLine(n) + line_end;
  return text;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_FILES_H_
