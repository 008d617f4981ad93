#ifndef TESSERA_CLI_LAUNCH_WITHOUT_NULS_H_
#define TESSERA_CLI_LAUNCH_WITHOUT_NULS_H_
// Standard error of a child process, on its way to ours: NULs are left out. The mpirun of Open MPI
// 5 ends texts of its own with one, where the next line then begins.
#include <atomic>
#include <thread>

namespace tessera::cli {

class WithoutNuls {
 public:
  // Throws Error where no pipe can be made or no thread can begin.
  WithoutNuls();
  // Waits until all is written that the child has left.
  ~WithoutNuls();
  WithoutNuls(const WithoutNuls&) = delete;
  WithoutNuls& operator=(const WithoutNuls&) = delete;

  // The descriptor for the child's standard error. This process closes its own once the child runs.
  int child_end() const { return ends_[1]; }
  void CloseChildEnd();

 private:
  void PassOn();

  int ends_[2] = {-1, -1};
  std::atomic<bool> child_has_ended_ = false;
  std::thread thread_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_WITHOUT_NULS_H_
