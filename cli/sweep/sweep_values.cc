#include "cli/sweep/sweep_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/base/size_limits.h"
#include "runtime/numbers/random.h"

namespace tessera::cli {
namespace {

constexpr size_t kMaxSettings = 10'000;

struct GridKey {
  std::string path;
  std::vector<std::string> values;
};

struct DrawnKey {
  std::string path;
  double low = 0, high = 0;
  bool log = false;
};

ConfigSetting PartsOf(const std::string& flag, const std::string& text) {
  try {
    ConfigSetting parts = SplitSetting(text);
    if (parts.path.empty() || parts.value.empty()) throw Error("expected a key and its values");
    return parts;
  } catch (const Error&) {
    throw Error(Format("{} {}: expected KEY={}", flag, text,
                       flag == "--grid" ? "V1,V2,…, as optimizer.sparse.lr=0.01,0.1"
                                        : "LOW:HIGH, as optimizer.sparse.lr=0.001:1:log"));
  }
}

// Splits at separators that are outside of brackets, braces and quotes.
std::vector<std::string> SplitOutside(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == separator && depth == 0 && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

GridKey ParseGrid(const std::string& text) {
  const auto [path, values] = PartsOf("--grid", text);
  GridKey key{path, SplitOutside(values, ',')};
  for (const std::string& value : key.values) {
    if (value.empty()) throw Error(Format("--grid {}: a value is missing beside a comma", text));
    if (std::ranges::count(key.values, value) > 1)
      throw Error(Format("--grid {}: {} is given twice", text, value));
  }
  return key;
}

DrawnKey ParseRange(const std::string& text) {
  const auto [path, values] = PartsOf("--range", text);
  const std::vector<std::string> parts = SplitOutside(values, ':');
  DrawnKey key{.path = path, .log = parts.size() == 3 && parts[2] == "log"};
  const bool formed = parts.size() == (key.log ? 3 : 2) && ParseNumber(parts[0], key.low) &&
                      ParseNumber(parts[1], key.high) && std::isfinite(key.low) &&
                      std::isfinite(key.high) && key.low < key.high;
  if (!formed || (key.log && key.low <= 0))
    throw Error(
        Format("--range {}: expected KEY=LOW:HIGH or KEY=LOW:HIGH:log, of numbers with LOW below "
               "HIGH, and above 0 beside log",
               text));
  return key;
}

// Rounded to 6 digits, which every machine's logarithm agrees on.
std::string Draw(const DrawnKey& key, uint64_t seed, uint64_t place, uint64_t draw) {
  const PhiloxBits bits = Philox(seed, place, draw);
  const double u = UniformDouble(bits.v[0], bits.v[1]);
  const double value = key.log ? key.low * std::exp(u * std::log(key.high / key.low))
                               : key.low + u * (key.high - key.low);
  return Format("{:.6g}", value);
}

void CheckApart(const std::vector<std::string>& paths) {
  for (size_t a = 0; a < paths.size(); ++a)
    for (size_t b = 0; b < paths.size(); ++b) {
      if (a == b || !SetsAllOf(paths[a], paths[b])) continue;
      throw Error(paths[a] == paths[b]
                      ? Format("{} is given twice by --grid and --range: name it once", paths[a])
                      : Format("{} beside {}, which it sets, too: sweep over one of them", paths[a],
                               paths[b]));
    }
}

// Each setting with each of the extensions.
std::vector<SweepSetting> Crossed(const std::vector<SweepSetting>& settings,
                                  const std::vector<SweepSetting>& extensions) {
  if (settings.size() * extensions.size() > kMaxSettings)
    throw Error(
        Format("--grid and --random: expected at most {} settings, got more", kMaxSettings));
  std::vector<SweepSetting> crossed;
  for (const SweepSetting& setting : settings)
    for (const SweepSetting& extension : extensions) {
      crossed.push_back(setting);
      crossed.back().insert(crossed.back().end(), extension.begin(), extension.end());
    }
  return crossed;
}

std::vector<SweepSetting> Draws(const SweepFlags& flags, const std::vector<DrawnKey>& keys) {
  std::vector<SweepSetting> draws(static_cast<size_t>(flags.random));
  for (size_t d = 0; d < draws.size(); ++d)
    for (size_t k = 0; k < keys.size(); ++k)
      draws[d].push_back(
          {keys[k].path, Draw(keys[k], static_cast<uint64_t>(flags.sweep_seed), k, d)});
  return draws;
}

}  // namespace

std::vector<SweepSetting> SettingsOf(const SweepFlags& flags) {
  if (flags.ranges.empty() != (flags.random == 0))
    throw Error("--random says how often each --range is drawn from: give both or none");
  std::vector<std::string> paths;
  std::vector<SweepSetting> settings(1);
  for (const std::string& text : flags.grid) {
    const GridKey key = ParseGrid(text);
    paths.push_back(key.path);
    std::vector<SweepSetting> values;
    for (const std::string& value : key.values) values.push_back({{key.path, value}});
    settings = Crossed(settings, values);
  }
  std::vector<DrawnKey> drawn;
  for (const std::string& text : flags.ranges) drawn.push_back(ParseRange(text));
  for (const DrawnKey& key : drawn) paths.push_back(key.path);
  CheckApart(paths);
  return drawn.empty() ? settings : Crossed(settings, Draws(flags, drawn));
}

std::optional<Halving> ParseHalving(const SweepFlags& flags) {
  if (flags.halving.has_value() == flags.epochs.empty())
    throw Error(
        "--halving says how many settings go on, and --epochs until when: give both or "
        "none");
  if (!flags.halving) return {};
  Halving halving{.eta = *flags.halving};
  const std::vector<std::string> parts = SplitOutside(flags.epochs, ':');
  if (parts.size() != 2 || !ParseNumber(parts[0], halving.first) ||
      !ParseNumber(parts[1], halving.last) || halving.first < 1 || halving.last <= halving.first ||
      halving.last > SizeLimits::kSteps)
    throw Error(
        Format("--epochs {}: expected FIRST:LAST, as 1:9, with LAST above FIRST", flags.epochs));
  return halving;
}

std::vector<int64_t> ParseSeeds(const std::string& text) {
  if (text.empty()) return {};
  const std::vector<std::string> parts = SplitOutside(text, ',');
  std::vector<int64_t> seeds;
  for (const std::string& part : parts) {
    int64_t seed = -1;
    if (!ParseNumber(part, seed) || seed < 0)
      throw Error(Format("--seeds {}: expected seeds, as 3,5,9, or their number, as 3", text));
    if (std::ranges::count(seeds, seed) > 0)
      throw Error(Format("--seeds {}: seed {} is given twice", text, seed));
    seeds.push_back(seed);
  }
  if (seeds.size() > 1) return seeds;
  const int64_t count = seeds[0];
  if (count < 1 || count > static_cast<int64_t>(kMaxSettings))
    throw Error(Format("--seeds {}: expected a number of seeds from 1 to {}", text, kMaxSettings));
  seeds.clear();
  for (int64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  return seeds;
}

bool SetsAllOf(const std::string& path, const std::string& other) {
  if (!other.starts_with(path)) return false;
  return other.size() == path.size() || other[path.size()] == '.' || other[path.size()] == '[';
}

}  // namespace tessera::cli
