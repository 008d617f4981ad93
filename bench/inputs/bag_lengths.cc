#include "bench/inputs/bag_lengths.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <string_view>

#include "bench/inputs/id_file.h"
#include "bench/inputs/reuse_counts.h"
#include "bench/inputs/trace.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr double kMaxLength = 1e9;

// Shares of bags with at most so many ids: 52,643 users of Amazon books (the "amazon-book" set of
// He et al., LightGCN, SIGIR 2020). Between two lengths that are not neighbours: flat.
struct Share {
  double length, up_to;
};
constexpr Share kAmazon[] = {
    {0, .00008},   {1, .00032},   {2, .00184},   {3, .00872},   {4, .08476},    {5, .30846},
    {6, .45199},   {7, .54864},   {8, .61940},   {9, .67236},   {10, .71430},   {11, .74760},
    {12, .77477},  {13, .79722},  {14, .81732},  {15, .83358},  {16, .84839},   {17, .86122},
    {18, .87197},  {19, .88291},  {20, .89146},  {21, .89949},  {22, .90652},   {23, .91258},
    {24, .91792},  {25, .92290},  {26, .92761},  {27, .93207},  {28, .93617},   {29, .93975},
    {30, .94339},  {31, .94712},  {32, .95021},  {36, .95942},  {40, .96642},   {45, .97382},
    {50, .97802},  {56, .98296},  {64, .98729},  {72, .99043},  {80, .99233},   {90, .99436},
    {102, .99605}, {115, .99700}, {128, .99785}, {145, .99861}, {165, .99899},  {190, .99947},
    {230, .99972}, {300, .99987}, {450, .99991}, {800, .99996}, {1500, .99998}, {2631, 1}};
constexpr double kAmazonMean = 11.46;

// A length whose whole part, counted upward, has Amazon's law: from 0 to 2,631.
double AmazonLength(double u) {
  const Share* at = std::upper_bound(std::begin(kAmazon), std::end(kAmazon), u,
                                     [](double value, const Share& s) { return value < s.up_to; });
  if (at == std::begin(kAmazon)) return 0;
  const Share& below = at[-1];
  return below.length + (at->length - below.length) * (u - below.up_to) / (at->up_to - below.up_to);
}

[[noreturn]] void Refuse(const std::string& text) {
  throw Error(Format("bag lengths: expected {}, got \"{}\"", kBagLengthsHelp, text));
}

double Number(std::string_view number, const std::string& text) {
  double value = -1;
  const char* const end = number.data() + number.size();
  const auto [read, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || read != end || !(value >= 0 && value <= kMaxLength)) Refuse(text);
  return value;
}

int64_t Whole(std::string_view number, const std::string& text) {
  const double value = Number(number, text);
  if (value != std::floor(value)) Refuse(text);
  return static_cast<int64_t>(value);
}

std::vector<int64_t> LengthsOfBags(const std::string& ids) {
  std::vector<int64_t> lengths;
  for (const IdTable& table : ReadIdFile(ids).tables)
    for (size_t bag = 1; bag < table.offsets.size(); ++bag)
      lengths.push_back(table.offsets[bag] - table.offsets[bag - 1]);
  if (lengths.empty()) throw Error(Format("{}: expected a file with bags, got ids alone", ids));
  return lengths;
}

BagLengths Traced(const std::string& file) {
  const std::vector<int64_t> lengths = NamesIdFile(file)        ? LengthsOfBags(file)
                                       : file.ends_with(".npy") ? ReadWholeNpy(file, "lengths")
                                                                : ReadNumberLines(file, "length");
  double sum = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || static_cast<double>(lengths[i]) > kMaxLength)
      throw Error(Format("{}: place {}: expected a length from 0 to {:.0f}, got {}", file, i,
                         kMaxLength, lengths[i]));
    sum += static_cast<double>(lengths[i]);
  }
  if (sum == 0) throw Error(Format("{}: expected lengths above 0, got none", file));
  BagLengths traced{BagLengths::Kind::kTrace, sum / static_cast<double>(lengths.size())};
  traced.trace = std::make_shared<const std::vector<int64_t>>(lengths);
  return traced;
}

}  // namespace

BagLengths ParseBagLengths(const std::string& text) {
  using Kind = BagLengths::Kind;
  const size_t colon = text.find(':');
  const std::string_view all = text, name = all.substr(0, colon);
  if (text == "amazon") return {Kind::kAmazon, kAmazonMean};
  if (text == "meta2021") return {Kind::kAmazon, Meta2021().ids_a_bag};
  if (text == "meta2022") return {Kind::kAmazon, Meta2022().ids_a_bag};
  if (colon == std::string::npos) return {Kind::kFixed, static_cast<double>(Whole(all, text))};
  const std::string_view value = all.substr(colon + 1);
  if (name == "trace" && !value.empty()) return Traced(std::string(value));
  if (name == "poisson") return {Kind::kPoisson, Number(value, text)};
  if (name == "amazon") return {Kind::kAmazon, Number(value, text)};
  const size_t dash = value.find('-');
  if (name != "range" || dash == std::string_view::npos) Refuse(text);
  const int64_t first = Whole(value.substr(0, dash), text);
  const int64_t last = Whole(value.substr(dash + 1), text);
  if (first > last) Refuse(text);
  return {Kind::kRange, static_cast<double>(first + last) / 2, first, last};
}

std::vector<int64_t> DrawLengths(const BagLengths& lengths, int64_t bags, Draws& draws,
                                 int64_t first_bag) {
  std::vector<int64_t> drawn(static_cast<size_t>(bags), static_cast<int64_t>(lengths.mean));
  std::poisson_distribution<int64_t> poisson(std::max(lengths.mean, 1e-9));
  for (int64_t& length : drawn) switch (lengths.kind) {
      case BagLengths::Kind::kFixed:
        break;
      case BagLengths::Kind::kPoisson:
        length = poisson(draws);
        break;
      case BagLengths::Kind::kRange:
        length = lengths.first + draws.Below(lengths.last - lengths.first + 1);
        break;
      case BagLengths::Kind::kAmazon:
        length = static_cast<int64_t>(
            std::ceil(AmazonLength(draws.Uniform()) * lengths.mean / kAmazonMean));
        break;
      case BagLengths::Kind::kTrace:
        length = (*lengths.trace)[static_cast<size_t>(first_bag++) % lengths.trace->size()];
    }
  return drawn;
}

double AmazonBagsUpTo(double length) {
  if (length < 0) return 0;
  const Share* at =
      std::upper_bound(std::begin(kAmazon), std::end(kAmazon), length,
                       [](double value, const Share& share) { return value < share.length; });
  if (at == std::end(kAmazon)) return 1;
  const Share& below = at[-1];
  return below.up_to +
         (at->up_to - below.up_to) * (length - below.length) / (at->length - below.length);
}

}  // namespace tessera::bench
