#include "cli/train/rank_reports.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <utility>

#include "comm/rank_process.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using internal::Json;

constexpr int64_t kUnknown = -1;
std::atomic<int64_t> trained = kUnknown;

std::string Folder() {
  const char* const folder = std::getenv(kLaunchFolder);
  return folder == nullptr || !UnderMpirun() ? "" : folder;
}

// Writes a file of this rank.
void Report(const std::string& name, const Json& json) {
  if (const std::string folder = Folder(); !folder.empty())
    ReplaceTextFile(PathIn(folder, Format("{}.{}", MpiRank(), name)), json.dump() + "\n");
}

// A report that does not end the rank where it cannot be written.
void TryReport(const std::string& name, const Json& json) noexcept {
  try {
    Report(name, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: telling tessera launch: %s\n", MpiRank(), error.what());
  }
}

// The name of a file in parts: "3.lost.1" is {"3", "lost", "1"}.
std::vector<std::string> PartsOf(const std::string& name) {
  std::vector<std::string> parts = {""};
  for (const char letter : name)
    if (letter == '.')
      parts.emplace_back();
    else
      parts.back() += letter;
  return parts;
}

// Calls fn(parts of its name, path) for each file of a kind, by name.
template <typename Fn>
void ForEach(const std::string& folder, const std::string& kind, const Fn& fn) {
  std::map<int, std::vector<std::string>> names;  // by rank
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const std::vector<std::string> parts = PartsOf(name);
    const bool is_report = parts.size() == (kind == "lost" ? 3 : 2) && parts[1] == kind;
    if (is_report) names[std::atoi(parts[0].c_str())].push_back(name);
  }
  for (const auto& [rank, of_rank] : names)
    for (const std::string& name : of_rank) fn(PartsOf(name), PathIn(folder, name));
}

// The processes of this host's ranks, or of those that have not ended their training.
std::vector<pid_t> ProcessesOf(const std::string& folder, bool that_train) {
  const std::string here = internal::ThisProcess().host;
  std::vector<pid_t> found;
  ForEach(folder, "process", [&](const std::vector<std::string>& parts, const std::string& path) {
    if (that_train && fs::exists(PathIn(folder, parts[0] + ".ended"))) return;
    const Json json = internal::ParseJson(ReadTextFile(path));
    if (json.at("host") == here) found.push_back(json.at("process").get<pid_t>());
  });
  return found;
}

// The loss of a rank as several have reported it, the one who had trained most last.
void Merge(ReportedLoss&& report, ReportedLoss& into) {
  into.lost.rank = report.lost.rank;
  into.lost.with_host |= report.lost.with_host;
  if (into.lost.what.empty()) into.lost.what = std::move(report.lost.what);
  into.step = std::max(into.step, report.step);
}

}  // namespace

void ReportProcess() {
  const internal::RankProcess process = internal::ThisProcess();
  Report("process", {{"process", process.pid}, {"host", std::string(process.host)}});
}

void ReportStep(int64_t step) { trained = step; }

void ReportEnd(int code) noexcept { TryReport("ended", {{"code", code}}); }

// A rank that was stopped may end by itself later, when mpirun has it go on to end it.
void ReportLoss(const LostRank& lost) noexcept {
  std::error_code none;
  if (fs::exists(fs::path(Folder()) / Format("{}.ended", lost.rank), none)) return;
  TryReport(Format("lost.{}", lost.rank),
            {{"what", lost.what}, {"with_host", lost.with_host}, {"step", trained.load()}});
}

std::vector<ReportedLoss> LossesIn(const std::string& folder) {
  std::map<int, ReportedLoss> losses;
  ForEach(folder, "lost", [&](const std::vector<std::string>& parts, const std::string& path) {
    const int rank = std::atoi(parts[2].c_str());
    const Json json = internal::ParseJson(ReadTextFile(path));
    const int64_t step = json.at("step").get<int64_t>();
    ReportedLoss loss = {.lost = {rank, json.at("what"), json.at("with_host")}, .step = {}};
    if (step != kUnknown) loss.step = step;
    Merge(std::move(loss), losses[rank]);
  });
  std::vector<ReportedLoss> all;
  for (auto& [rank, loss] : losses) all.push_back(std::move(loss));
  return all;
}

std::optional<int> CodeOfRanks(const std::string& folder, int ranks) {
  int ended = 0, code = 0;
  ForEach(folder, "ended", [&](const std::vector<std::string>&, const std::string& path) {
    code = std::max(code, internal::ParseJson(ReadTextFile(path)).at("code").get<int>());
    ++ended;
  });
  return ended == ranks ? std::optional(code) : std::nullopt;
}

pid_t ProcessHere(const std::string& folder) {
  const std::vector<pid_t> train = ProcessesOf(folder, /*that_train=*/true);
  return train.empty() ? 0 : train.front();
}

std::vector<pid_t> ProcessesHere(const std::string& folder) {
  return ProcessesOf(folder, /*that_train=*/false);
}

}  // namespace tessera::cli
