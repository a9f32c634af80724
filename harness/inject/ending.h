// However this process ends, its last records are handed over first: by exit, _exit, or a signal that kills it. Not by
// SIGKILL, which no process sees.
#pragma once

namespace qkprof::inject {

// Once a process, when it begins to be watched.
void watch_the_end();

}  // namespace qkprof::inject
