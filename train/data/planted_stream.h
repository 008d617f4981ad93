#ifndef TESSERA_TRAIN_DATA_PLANTED_STREAM_H_
#define TESSERA_TRAIN_DATA_PLANTED_STREAM_H_
// The rows of a ClickModel. It has no end of its own: the range says how many.
#include <memory>

#include "train/data/click_model.h"
#include "train/data/click_row_stream.h"

namespace tessera {

class PlantedStream final : public ClickRowStream {
 public:
  PlantedStream(std::shared_ptr<const ClickModel> model, RowRange range)
      : model_(std::move(model)), range_(range), next_row_(range.first) {}

  bool Next(ClickRow& row) override {
    if (next_row_ >= range_.last) return false;
    row = model_->Row(next_row_++);
    return true;
  }
  int64_t next_row() const override { return next_row_; }
  double fraction() const override {
    return static_cast<double>(next_row_ - range_.first) /
           static_cast<double>(range_.last - range_.first);
  }

 private:
  std::shared_ptr<const ClickModel> model_;
  const RowRange range_;
  int64_t next_row_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_DATA_PLANTED_STREAM_H_
