#ifndef TESSERA_TRAIN_CONFIG_CONFIG_SETTINGS_H_
#define TESSERA_TRAIN_CONFIG_CONFIG_SETTINGS_H_
// Keys of a configuration that are set by their paths, before it is read: what --set says.
//
//   optimizer.sparse.lr=0.01    tables[0].rows=1000    tables[name=t_user].dtype=f16
//
// The value is JSON; what is no JSON is a string. Objects that the path needs and the document
// lacks are made. An element of a list is named by its number or by one of its own keys, and must
// be there. Another name of an optimizer keeps its rate alone: its other options are of that one.
// A table's own optimizer or managed_collision that is the shared one follows it. A checkpoint's
// configuration has raw ids at its tables alone: managed_collision names those where they are
// alike.
#include <span>
#include <string>

namespace tessera {

// "PATH=VALUE" in its two parts.
struct ConfigSetting {
  std::string path, value;
};
// Splits at the first '=' outside of brackets. Throws Error where there is none.
ConfigSetting SplitSetting(const std::string& setting);

// The document with each of `settings` ("PATH=VALUE") set, in this order, but names of optimizers
// first. Throws Error that begins with `source` for text that is no JSON, and with "--set PATH" for
// a path that the document has no place for.
std::string WithSettings(const std::string& text, const std::string& source,
                         std::span<const std::string> settings);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_CONFIG_SETTINGS_H_
