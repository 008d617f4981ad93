#ifndef TESSERA_TESTS_TESTING_COMMA_LOCALE_H_
#define TESSERA_TESTS_TESTING_COMMA_LOCALE_H_
// The C library's numbers as a German program has them: "1,5" is one and a half.
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/base/check.h"

namespace tessera::testing {

// While one lives, printf writes and strtod reads a comma in place of the point. The locale is a
// file of its own, in the form of glibc (locale/loadlocale.c): machines have any or none.
class CommaLocale {
 public:
  // folder: that of the test.
  explicit CommaLocale(const std::string& folder) {
    std::filesystem::create_directories(folder + "/comma");
    std::ofstream(folder + "/comma/LC_NUMERIC", std::ios::binary) << File();
    setenv("LOCPATH", folder.c_str(), /*overwrite=*/1);
    const char* const name = std::setlocale(LC_NUMERIC, "comma");
    unsetenv("LOCPATH");
    TESSERA_CHECK(name != nullptr && std::strtod("1,5", nullptr) == 1.5,
                  "a locale with a comma was not loaded");
  }
  ~CommaLocale() { std::setlocale(LC_NUMERIC, "C"); }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

 private:
  // A magic number and the places of six values: the comma, the point between thousands, groups of
  // three digits, comma and point as wide characters, and the character set.
  static std::string File() {
    std::string file;
    for (const uint32_t n : {0x20031114u, 6u, 32u, 34u, 36u, 40u, 44u, 48u})
      for (int byte = 0; byte < 4; ++byte) file += static_cast<char>(n >> (8 * byte));
    const auto add = [&](const std::string& value, size_t size) {
      file += value + std::string(size - value.size(), '\0');
    };
    add(",", 2);
    add(".", 2);
    add("\3\3", 4);
    add(",", 4);
    add(".", 4);
    add("ANSI_X3.4-1968", 15);
    return file;
  }
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_COMMA_LOCALE_H_
