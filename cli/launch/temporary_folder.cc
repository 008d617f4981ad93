#include "cli/launch/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/files.h"
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

// Why Open MPI can make nothing in it; "" where it can.
std::string WhyUnusable(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? error.message() : WhyNoFileIn(folder);
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
