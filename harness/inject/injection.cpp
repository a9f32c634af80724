// libqkprof_exec.so: what `qkprof exec` puts into every process of the program that it runs. The CUDA driver loads it
// (CUDA_INJECTION64_PATH) and calls this when a process first uses CUDA; NVTX loads it too (NVTX_INJECTION64_PATH,
// ranges.cpp); and it is preloaded (LD_PRELOAD), so that it sees a process end (ending.cpp). In a process that uses
// neither CUDA nor NVTX it does nothing.
#include "ending.h"
#include "watch.h"

// CUDA's own name.  NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    qkprof::inject::watch();
    qkprof::inject::watch_the_end();
    return 1;
}
