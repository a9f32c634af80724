// However this process ends, its last records are handed over first: by exit, _exit, or a signal that kills it. Not by
// SIGKILL, which no process sees.
#pragma once

namespace qkprof::inject {

// When a process first uses CUDA or NVTX; again does nothing.
void watch_the_end();

}  // namespace qkprof::inject
