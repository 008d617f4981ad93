#include "train/config/dense_json.h"

#include <algorithm>

#include "runtime/base/nearest.h"
#include "runtime/json/json_kinds.h"
#include "train/config/number_json.h"

namespace tessera::internal {
namespace {

bool IsFlag(const std::string& option) {
  return option == "nesterov" || option == "amsgrad" || option == "maximize";
}

void CheckOptimizerName(const std::string& name, const std::string& where) {
  const std::vector<std::string> names = DenseOptimizerConfig::AllNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw Error(Format("{}: {}", where, NoneIsCalled("dense optimizer", name, names)));
}

double ReadOption(const Json& value, const std::string& option, const std::string& where) {
  if (!IsFlag(option)) {
    double number = 0;
    ReadJson(value, where, number);
    return number;
  }
  bool flag = false;
  ReadJson(value, where, flag);
  return flag ? 1 : 0;
}

Json OptionSchema(const DenseOptimizerConfig& config, const std::string& option) {
  if (IsFlag(option)) return SchemaOf(config.Get(option) != 0);
  Json schema = SchemaOf(config.Get(option));
  schema.update(NumberFieldBounds(option));
  return schema;
}

DenseOptimizerConfig ReadDenseOptimizer(const Json& value, const std::string& where,
                                        JsonProblems* problems) {
  JsonObject object(value, where, problems);
  std::string name;
  object.Required("name", name);
  CheckOptimizerName(name, object.at("name"));
  DenseOptimizerConfig config(name);
  for (const std::string& option : config.Options()) {
    const Json* given = object.Find(option, OptionSchema(config, option));
    if (given == nullptr) continue;
    object.Try([&] {
      const double number = ReadOption(*given, option, object.at(option));
      CheckNumberField(option, number, object.at(option));
      config.Set(option, number);
    });
  }
  object.Finish();
  config.Check();
  return config;
}

}  // namespace

DenseOptimizerConfig DenseOptimizerFromJson(const Json& value, const std::string& where,
                                            JsonProblems* problems) {
  return ReadKinds(value, problems, {"name", DenseOptimizerConfig::AllNames()},
                   [&](const Json& optimizer, JsonProblems* of) {
                     return ReadDenseOptimizer(optimizer, where, of);
                   });
}

Json DenseOptimizerToJson(const DenseOptimizerConfig& config) {
  Json json = {{"name", config.name}};
  for (const std::string& option : config.Options()) {
    if (IsFlag(option))
      json[option] = config.Get(option) != 0;
    else
      json[option] = config.Get(option);
  }
  return json;
}

}  // namespace tessera::internal
