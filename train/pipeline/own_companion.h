#ifndef TESSERA_TRAIN_PIPELINE_OWN_COMPANION_H_
#define TESSERA_TRAIN_PIPELINE_OWN_COMPANION_H_
// A companion of a communicator for one thread that works ahead. While it lives no other has it, so
// the calls of two such threads never meet; then it is used again, since groups are few and dear.
//
// Every rank makes and ends them in one order. The first with a number makes its group.
#include "comm/communicator.h"

namespace tessera::internal {

class OwnCompanion {
 public:
  // REQUIRES: comm outlives this.
  explicit OwnCompanion(Communicator& comm);
  ~OwnCompanion();
  OwnCompanion(const OwnCompanion&) = delete;
  OwnCompanion& operator=(const OwnCompanion&) = delete;

  Communicator& comm() const { return *companion_; }

 private:
  Communicator& parent_;
  int number_;  // the lowest that is free
  Communicator* companion_ = nullptr;
};

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_PIPELINE_OWN_COMPANION_H_
