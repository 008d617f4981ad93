#ifndef TESSERA_DATA_SCHEMA_NAME_RANGES_H_
#define TESSERA_DATA_SCHEMA_NAME_RANGES_H_
// Names with a range: "cat_{0..25}" stands for the 26 names cat_0 to cat_25. A name without a range
// stands for itself.
#include <string>
#include <vector>

namespace tessera {

// Throws Error, which begins with `where`, for a range that falls, or that has more than a million
// names.
std::vector<std::string> ExpandNames(const std::string& name, const std::string& where);

}  // namespace tessera
#endif  // TESSERA_DATA_SCHEMA_NAME_RANGES_H_
