#ifndef TESSERA_TRAIN_CONFIG_CONFIG_REFERENCE_H_
#define TESSERA_TRAIN_CONFIG_CONFIG_REFERENCE_H_
// Every key of a training configuration: type, bounds, default, meaning, and which type of model,
// optimizer, data, … has it. The readers of configurations write it themselves, but for the
// meanings (key_meanings.h), so it cannot differ from what is read.
#include <string>

namespace tessera {

// JSON Schema, draft 2020-12. Each object is one of
//
//   {"type": "object", "properties": {…}, "required": [...], "additionalProperties": false}
//   the same without additionalProperties, and "allOf": [{"if": …, "then": object}, …], one for each
//     word of a key that decides over the other keys, such as model.type
//   {"propertyNames": {"enum": [...]}, "properties": {…}}, an object of each name
//   {"$ref": …}, where it has the keys of another part
//
// Throws Error for a key without a meaning, and for a meaning without a key.
std::string ConfigSchema();

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_CONFIG_REFERENCE_H_
