#include "cli/error_text.h"

#include <regex>

namespace tessera::cli {

std::string ErrorText(const std::exception& error) {
  static const std::regex place(R"( \([A-Za-z0-9_./-]+\.(h|cc|cuh|cu):[0-9]+\))");
  return std::regex_replace(error.what(), place, "");
}

}  // namespace tessera::cli
