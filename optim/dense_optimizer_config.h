#ifndef TESSERA_OPTIM_DENSE_OPTIMIZER_CONFIG_H_
#define TESSERA_OPTIM_DENSE_OPTIMIZER_CONFIG_H_
// Which dense optimizer, with which options: torch.optim's names, meanings and defaults.
#include <string>
#include <vector>

namespace tessera {

struct DenseOptimizerConfig {
  // "sgd", "adagrad", "rowwise_adagrad", "adam", "adamw". Throws Error for another name. Gives the
  // options torch's defaults.
  explicit DenseOptimizerConfig(const std::string& optimizer = "sgd");

  std::string name;
  double lr = 1e-3;         // (rowwise_)adagrad: 1e-2
  double weight_decay = 0;  // L2: added to the gradient; adamw: decoupled, 1e-2
  double momentum = 0;      // sgd
  double dampening = 0;     // sgd
  bool nesterov = false;    // sgd
  double lr_decay = 0;      // (rowwise_)adagrad: step t uses lr/(1 + (t − 1)·lr_decay)
  double initial_accumulator_value = 0;  // (rowwise_)adagrad
  double eps = 1e-8;                     // not sgd; (rowwise_)adagrad: 1e-10
  double beta1 = 0.9, beta2 = 0.999;     // adam, adamw
  bool amsgrad = false;                  // adam, adamw
  bool maximize = false;                 // the gradient is negated before all else

  // Sets an option by its name as above (a bool by 0 or 1). Throws Error if this optimizer has no
  // such option, listing those it has.
  void Set(const std::string& option, double value);
  double Get(const std::string& option) const;
  // The options of this optimizer, in the order above.
  std::vector<std::string> Options() const;
  static std::vector<std::string> AllNames();

  // Throws Error for a value that makes no sense, or an option that the optimizer doesn't have and
  // that isn't at its default.
  void Check() const;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_DENSE_OPTIMIZER_CONFIG_H_
