#include "cli/show/reports.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr size_t kHead = 256;

// The first bytes of a file without spaces and line ends.
std::string HeadOf(std::istream& file) {
  std::string head;
  for (char c; head.size() < kHead && file.get(c);)
    if (std::isspace(static_cast<unsigned char>(c)) == 0) head += c;
  return head;
}

bool BeginsAs(const std::string& head, const Report& report) {
  return head.starts_with(report.begins) ||
         (report.or_begins != nullptr && head.starts_with(report.or_begins));
}

// Whether the first line is a heading of scores: "score", or names of tasks with tabs between.
bool BeginsWithScores(std::istream& file) {
  std::string line, name;
  std::getline(file, line);
  if (line == kScore) return true;
  std::istringstream names(line);
  bool all = !line.empty();
  while (std::getline(names, name, '\t')) all = all && name.starts_with(kScoresOfTasks);
  return all;
}

}  // namespace

void CheckReplaced(const std::string& path, const Report& report) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) == 0)
    return;
  std::ifstream file(path);
  const bool earlier =
      report.begins == nullptr ? BeginsWithScores(file) : BeginsAs(HeadOf(file), report);
  if (!earlier)
    throw Error(Format("{}: a file is there that is not {}: name another path, or remove it first",
                       path, report.what));
}

}  // namespace tessera::cli
