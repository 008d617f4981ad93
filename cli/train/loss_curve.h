#ifndef TESSERA_CLI_TRAIN_LOSS_CURVE_H_
#define TESSERA_CLI_TRAIN_LOSS_CURVE_H_
// The loss of a training as a picture of characters.
//
//   0.58 |*
//   0.54 | *
//   0.50 |  ***
//   0.46 |     *******************
//   0.42 |- - - - - - - - - - - - -  0.4184 = best possible
//        +-------------------------
//         0               200,000 rows
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

class LossCurve {
 public:
  static constexpr int kColumns = 60, kRows = 12;

  // The mean loss of some examples.
  void Add(int64_t examples, double loss);
  // "" before two columns can be filled. `optimum`, if given, is drawn as a line.
  std::string Draw(std::optional<double> optimum) const;

 private:
  struct Point {
    int64_t examples;
    double loss;
  };
  std::vector<double> Columns() const;

  std::vector<Point> points_;
  int64_t examples_ = 0;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_LOSS_CURVE_H_
