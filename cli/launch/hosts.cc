#include "cli/launch/hosts.h"

#include <algorithm>
#include <sstream>

#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

constexpr char kSlots[] = "slots=";

// The host of a line; one without slots for a line that has nothing but a comment.
HostSlots HostOf(const std::string& line, const std::string& where) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string host, slots, more;
  words >> host >> slots >> more;
  if (host.empty()) return {};
  const std::string number = slots.starts_with(kSlots) ? slots.substr(sizeof kSlots - 1) : "";
  const bool is_number = !number.empty() && number.size() < 6 &&
                         number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || !more.empty() || std::stoi(number) == 0)
    throw Error(Format("{}: expected HOST slots=N, N being 1 to 99999, got '{}'", where, line));
  return {host, std::stoi(number)};
}

// The host in whose slots a rank runs.
size_t HostOfRank(const std::vector<HostSlots>& hosts, int rank) {
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (rank < hosts[h].slots) return h;
    rank -= hosts[h].slots;
  }
  return hosts.size() - 1;
}

}  // namespace

std::vector<HostSlots> ReadHostfile(const std::string& path) {
  std::istringstream text(ReadTextFile(path));
  std::vector<HostSlots> hosts;
  int64_t number = 0;
  for (std::string line; std::getline(text, line);) {
    const std::string where = Format("{}: line {}", path, ++number);
    const HostSlots host = HostOf(line, where);
    if (host.host.empty()) continue;
    if (std::ranges::count(hosts, host.host, &HostSlots::host) > 0)
      throw Error(
          Format("{}: {} is there twice: give all of its slots in one line", where, host.host));
    hosts.push_back(host);
  }
  if (hosts.empty()) throw Error(Format("{}: expected lines HOST slots=N, got none", path));
  return hosts;
}

std::string HostfileText(const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& host : hosts) text += Format("{} {}{}\n", host.host, kSlots, host.slots);
  return text;
}

int RanksOf(const std::vector<HostSlots>& hosts) {
  int ranks = 0;
  for (const HostSlots& host : hosts) ranks += host.slots;
  return ranks;
}

std::vector<HostSlots> WithoutLost(const std::vector<HostSlots>& hosts,
                                   const std::vector<LostRank>& lost) {
  std::vector<HostSlots> left = hosts;
  for (const LostRank& rank : lost) {
    int& slots = left[HostOfRank(hosts, rank.rank)].slots;
    slots = rank.with_host ? 0 : std::max(0, slots - 1);
  }
  std::erase_if(left, [](const HostSlots& host) { return host.slots == 0; });
  return left;
}

}  // namespace tessera::cli
