#ifndef TESSERA_CLI_SWEEP_SWEEP_VALUES_H_
#define TESSERA_CLI_SWEEP_SWEEP_VALUES_H_
// The values that a sweep tries, from the texts of its flags:
//
//   --grid KEY=V1,V2            each value of the list; commas inside of brackets and quotes part
//                               nothing: model.over_arch=[16,1],[32,1]
//   --range KEY=LOW:HIGH[:log]  numbers in [LOW, HIGH), uniform, or uniform in their logarithm
//   --seeds 3,5,9 or N          these seeds, or 1 to N
//   --epochs FIRST:LAST         with --halving
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config_settings.h"

namespace tessera::cli {

struct SweepFlags {
  std::vector<std::string> grid, ranges;
  std::string seeds;   // "": the configuration's
  int64_t random = 0;  // draws of all ranges
  int64_t sweep_seed = 1;
  std::optional<int64_t> halving;
  std::string epochs;
};

// One value of each key.
using SweepSetting = std::vector<ConfigSetting>;

// Each combination of the grid's values, each with all draws. A draw's number and its key's place
// give the same value in every sweep of this seed. Throws Error, which names the flag, for a
// text of another form, a value or key that is given twice, and too many combinations.
std::vector<SweepSetting> SettingsOf(const SweepFlags& flags);

// Successive halving: rung r trains until epoch min(first·eta^r, last).
struct Halving {
  int64_t eta = 2, first = 1, last = 1;
};
// Throws Error for --epochs of another form, and for one of the two flags alone.
std::optional<Halving> ParseHalving(const SweepFlags& flags);

// The seeds, each once; none for "". Throws Error likewise.
std::vector<int64_t> ParseSeeds(const std::string& text);

// Whether to set `path` sets all of `other`: it is the same path, or the beginning of it.
bool SetsAllOf(const std::string& path, const std::string& other);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SWEEP_SWEEP_VALUES_H_
