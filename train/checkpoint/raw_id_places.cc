#include "train/checkpoint/raw_id_places.h"

#include <map>
#include <variant>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// Values by their keys.
using Options = std::map<std::string, std::string>;

Options PlacesOf(const GrowingIndexOptions&) { return {}; }

Options PlacesOf(const MchConfig& config) {
  return {{"input_hash_size", std::to_string(config.input_hash_size)}};
}

Options PlacesOf(const HashZchOptions& options) {
  Options places = {{"total_num_buckets", std::to_string(options.total_num_buckets)},
                    {"max_probe", std::to_string(options.max_probe)}};
  if (options.total_num_buckets > 1)  // it chooses the bucket
    places["input_hash_size"] = std::to_string(options.input_hash_size);
  if (options.opt_in_prob != -1)
    places["percent_reserved_slots"] = Format("{}", options.percent_reserved_slots);
  return places;
}

Options PlacesOf(const ManagedCollisionConfig& config) {
  return std::visit([](const auto& options) { return PlacesOf(options); }, config);
}

}  // namespace

void CheckFindsRawIds(const std::string& path, const TrainConfig& saved, const TrainConfig& given) {
  for (const auto& [table, is] : given.managed_collision) {
    const auto was = saved.managed_collision.find(table);
    if (was == saved.managed_collision.end() || was->second.module.index() != is.module.index())
      continue;
    const Options now = PlacesOf(is.module);
    for (const auto& [key, value] : PlacesOf(was->second.module))
      if (const auto found = now.find(key); found != now.end() && found->second != value)
        throw Error(Format(
            "{}: table '{}': managed_collision.{} was {} when it was saved, and is {} now: its raw "
            "ids would be looked for in other rows; expected the saved value",
            path, table, key, value, found->second));
  }
}

}  // namespace tessera
