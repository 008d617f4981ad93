#include "cli/launch/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

// The variables that Open MPI looks at, the first that is set.
constexpr const char* kVariables[] = {"OMPI_MCA_orte_local_tmpdir_base",
                                      "OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"};

struct Chosen {
  std::string folder = "/tmp", how = "/tmp";
};

Chosen ChosenFolder() {
  for (const char* const variable : kVariables)
    if (const char* const value = std::getenv(variable))
      return {*value == '\0' ? "/" : value, Format("{}={}", variable, value)};
  return {};
}

// Why no folder can be made in it; "" where one can.
std::string WhyUnusable(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return error.message();
  std::string made = (std::filesystem::path(folder) / "tessera-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) return std::strerror(errno);
  rmdir(made.c_str());
  return "";
}

}  // namespace

void CheckTemporaryFolder() {
  const auto [folder, how] = ChosenFolder();
  if (const std::string why = WhyUnusable(folder); !why.empty())
    throw Error(
        Format("{}: Open MPI cannot keep its files there: {}; expected a folder in which one may "
               "write (TMPDIR names another one)",
               how, why));
}

}  // namespace tessera::cli
