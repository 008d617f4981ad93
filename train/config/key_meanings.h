#ifndef TESSERA_TRAIN_CONFIG_KEY_MEANINGS_H_
#define TESSERA_TRAIN_CONFIG_KEY_MEANINGS_H_
// The meaning of every key of a training configuration, in words. Which keys there are, with their
// types, bounds and defaults, is not said here: the readers say that (config_reference.h), and a
// key without a meaning, or a meaning without a key, fails the test.
#include <span>

namespace tessera {

struct KeyMeaning {
  // "tables[].rows"; of one kind alone "model.layers@ple"; of every metric "metrics.rec_metrics.*".
  const char* key;
  const char* meaning;
};

std::span<const KeyMeaning> KeyMeanings();

namespace internal {
// Those of the keys under "metrics", which KeyMeanings has, too.
std::span<const KeyMeaning> MeaningsOfMetrics();
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_KEY_MEANINGS_H_
