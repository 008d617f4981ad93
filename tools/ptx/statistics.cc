#include "tools/ptx/statistics.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptx {
namespace {

constexpr uint64_t kSectorBytes = 32, kWordBytes = 4, kBanks = 32;

double Ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

// The bytes of a lane's loads that touch most sectors: those that bring rows.
size_t MainWidth(const Counts& c) {
  const auto& of = c.sectors_of_width;
  return static_cast<size_t>(std::max_element(of.begin(), of.end()) - of.begin());
}

constexpr char kHead[] =
    " launches    requests    lanes  sectors     used    least bytes    x least      shared  "
    "conflicts   bits threads  dynamic  kernel\n";

std::string Line(const std::string& name, const Counts& c) {
  char numbers[200];
  std::snprintf(
      numbers, sizeof numbers,
      "%9llu %11llu %8.2f %8.2f %7.0f%% %14llu %10.2f %11llu %10.2f %6llu %7llu %8llu  ",
      static_cast<unsigned long long>(c.launches),
      static_cast<unsigned long long>(c.global_requests), Ratio(c.global_lanes, c.global_requests),
      Ratio(c.global_sectors, c.global_requests),
      100 * Ratio(c.global_bytes, c.global_sectors * kSectorBytes),
      static_cast<unsigned long long>(c.distinct_sectors * kSectorBytes),
      Ratio(c.global_sectors, c.distinct_sectors),
      static_cast<unsigned long long>(c.shared_requests), Ratio(c.shared_turns, c.least_turns),
      static_cast<unsigned long long>(8 * MainWidth(c)), static_cast<unsigned long long>(c.threads),
      static_cast<unsigned long long>(c.dynamic_shared));
  return numbers + Demangled(name) + "\n";
}

// A line each, those that touch most sectors first.
std::string AccessLines(const Counts& c) {
  std::vector<std::pair<AccessPlace, Requests>> sorted(c.accesses.begin(), c.accesses.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.sectors > b.second.sectors;
  });
  std::string text;
  for (const auto& [access, r] : sorted) {
    const auto& [kind, bytes, where] = access;
    char numbers[200];
    std::snprintf(numbers, sizeof numbers, "  | %11llu %8.2f %8.2f %7.0f%% %14llu %6d  %-6s at ",
                  static_cast<unsigned long long>(r.requests), Ratio(r.lanes, r.requests),
                  Ratio(r.sectors, r.requests), 100 * Ratio(r.bytes, r.sectors * kSectorBytes),
                  static_cast<unsigned long long>(r.sectors * kSectorBytes), 8 * bytes,
                  kind.c_str());
    text += numbers + where + "\n";
  }
  return text;
}

}  // namespace

Statistics* Statistics::Asked() {
  static Statistics* const asked = [] {
    if (std::getenv("TESSERA_PTX_STATISTICS") == nullptr) return static_cast<Statistics*>(nullptr);
    std::atexit([] { std::fputs(Asked()->Text().c_str(), stderr); });
    return new Statistics;
  }();
  return asked;
}

void Statistics::BeginLaunch(const std::string& kernel, uint32_t threads, uint64_t dynamic_shared) {
  current_ = &kernels_[kernel];
  ++current_->launches;
  current_->threads = threads;
  current_->dynamic_shared = dynamic_shared;
  touched_.clear();
}

void Statistics::EndLaunch(const Function* function) {
  current_->distinct_sectors += touched_.size();
  for (const auto& [access, counted] : accesses_) {
    const auto& [kind, bytes, source] = access;
    const std::string where = function == nullptr ? "" : function->Where(source);
    Requests& all = current_->accesses[{std::string(kind), bytes, where}];
    all.requests += counted.requests;
    all.lanes += counted.lanes;
    all.bytes += counted.bytes;
    all.sectors += counted.sectors;
  }
  accesses_.clear();
}

void Statistics::CountGlobal(LaneMask lanes, const uint64_t (&addresses)[kLanes], int bytes,
                             std::string_view kind, const SourceLine& source) {
  std::set<uint64_t> sectors, distinct;
  const auto n = static_cast<uint64_t>(bytes);
  for (int l = 0; l < kLanes; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    distinct.insert(addresses[l]);
    sectors.insert(addresses[l] / kSectorBytes);  // aligned: never two
  }
  ++current_->global_requests;
  current_->global_lanes += static_cast<uint64_t>(std::popcount(lanes));
  current_->global_bytes += n * static_cast<uint64_t>(std::popcount(lanes));
  current_->global_sectors += sectors.size();
  if (kind == "load" || kind == "copy") current_->sectors_of_width[n] += sectors.size();
  Requests& at = accesses_[{kind, bytes, source}];
  ++at.requests;
  at.lanes += static_cast<uint64_t>(std::popcount(lanes));
  at.bytes += n * static_cast<uint64_t>(std::popcount(lanes));
  at.sectors += sectors.size();
  current_->least_sectors += (distinct.size() * n + kSectorBytes - 1) / kSectorBytes;
  touched_.insert(sectors.begin(), sectors.end());
}

// Accesses of 8 and 16 bytes go by halves and quarters of the warp.
void Statistics::CountShared(LaneMask lanes, const uint64_t (&offsets)[kLanes], int bytes) {
  const uint64_t words_each = std::max<uint64_t>(static_cast<uint64_t>(bytes) / kWordBytes, 1);
  const int together = kLanes / static_cast<int>(words_each);
  ++current_->shared_requests;
  for (int first = 0; first < kLanes; first += together) {
    std::set<uint64_t> words;
    for (int l = first; l < first + together; ++l)
      for (uint64_t k = 0; (lanes >> l & 1) && k < words_each; ++k)
        words.insert(offsets[l] / kWordBytes + k);
    if (words.empty()) continue;
    uint64_t turns[kBanks] = {};
    for (const uint64_t word : words) ++turns[word % kBanks];
    current_->shared_turns += *std::max_element(turns, turns + kBanks);
    ++current_->least_turns;
  }
}

std::string Statistics::Text() const {
  std::vector<std::pair<std::string, Counts>> sorted(kernels_.begin(), kernels_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.global_sectors > b.second.global_sectors;
  });
  std::string text = kHead;
  for (const auto& [name, counts] : sorted) text += Line(name, counts) + AccessLines(counts);
  return text;
}

}  // namespace ptx
