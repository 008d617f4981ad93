#include "optim/dense_optimizer_config.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using Config = DenseOptimizerConfig;
using Names = std::vector<std::string>;

// An option: its member, the optimizers that have it, and the values that it may take.
struct Option {
  const char* name;
  double Config::*number;
  bool Config::*flag;
  Names optimizers;
  double low = 0, below = 1e30;  // low <= value < below
};

const std::vector<Option>& AllOptions() {
  static const Names adagrads = {"adagrad", "rowwise_adagrad"}, adams = {"adam", "adamw"},
                     sgd = {"sgd"};
  static const Names no_sgd = {"adagrad", "rowwise_adagrad", "adam", "adamw"};
  static const std::vector<Option> options = {
      {"lr", &Config::lr, nullptr, Config::AllNames()},
      {"weight_decay", &Config::weight_decay, nullptr, Config::AllNames()},
      {"momentum", &Config::momentum, nullptr, sgd},
      {"dampening", &Config::dampening, nullptr, sgd, -1e30},
      {"nesterov", nullptr, &Config::nesterov, sgd},
      {"lr_decay", &Config::lr_decay, nullptr, adagrads},
      {"initial_accumulator_value", &Config::initial_accumulator_value, nullptr, adagrads},
      {"eps", &Config::eps, nullptr, no_sgd},
      {"beta1", &Config::beta1, nullptr, adams, 0, 1},
      {"beta2", &Config::beta2, nullptr, adams, 0, 1},
      {"amsgrad", nullptr, &Config::amsgrad, adams},
      {"maximize", nullptr, &Config::maximize, Config::AllNames()},
  };
  return options;
}

bool Has(const std::string& optimizer, const Option& option) {
  return std::find(option.optimizers.begin(), option.optimizers.end(), optimizer) !=
         option.optimizers.end();
}

std::string Joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const Option& FindOption(const Config& config, const std::string& name) {
  for (const Option& option : AllOptions())
    if (option.name == name && Has(config.name, option)) return option;
  TESSERA_FAIL("optimizer {} has no option \"{}\"; it has {}", config.name, name,
               Joined(config.Options()));
}

double Value(const Config& config, const Option& option) {
  return option.number != nullptr ? config.*option.number : config.*option.flag ? 1.0 : 0.0;
}

}  // namespace

DenseOptimizerConfig::DenseOptimizerConfig(const std::string& optimizer) : name(optimizer) {
  const Names names = AllNames();
  TESSERA_CHECK(std::find(names.begin(), names.end(), name) != names.end(),
                "there is no optimizer \"{}\"; there are {}", name, Joined(names));
  if (name == "adagrad" || name == "rowwise_adagrad") {
    lr = 1e-2;
    eps = 1e-10;
  }
  if (name == "adamw") weight_decay = 1e-2;
}

std::vector<std::string> DenseOptimizerConfig::AllNames() {
  return {"sgd", "adagrad", "rowwise_adagrad", "adam", "adamw"};
}

std::vector<std::string> DenseOptimizerConfig::Options() const {
  std::vector<std::string> names;
  for (const Option& option : AllOptions())
    if (Has(name, option)) names.emplace_back(option.name);
  return names;
}

void DenseOptimizerConfig::Set(const std::string& option, double value) {
  const Option& found = FindOption(*this, option);
  if (found.number != nullptr) {
    this->*found.number = value;
    return;
  }
  TESSERA_CHECK(value == 0 || value == 1, "optimizer {}: {}: expected true or false, got {}", name,
                option, value);
  this->*found.flag = value != 0;
}

double DenseOptimizerConfig::Get(const std::string& option) const {
  return Value(*this, FindOption(*this, option));
}

void DenseOptimizerConfig::Check() const {
  const DenseOptimizerConfig defaults(name);  // also refuses an unknown name
  for (const Option& option : AllOptions()) {
    const double value = Value(*this, option);
    TESSERA_CHECK(value >= option.low && value < option.below, "optimizer {}: {} is {}", name,
                  option.name, value);
    TESSERA_CHECK(Has(name, option) || value == Value(defaults, option),
                  "optimizer {} has no option \"{}\"; it has {}", name, option.name,
                  Joined(Options()));
  }
  TESSERA_CHECK(!nesterov || (momentum > 0 && dampening == 0),
                "optimizer sgd: nesterov needs a momentum above 0 and no dampening, got momentum "
                "{}, dampening {}",
                momentum, dampening);
}

}  // namespace tessera
