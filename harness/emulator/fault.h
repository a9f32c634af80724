// What a kernel did wrong on the emulated device, as exceptions.
#pragma once

#include <stdexcept>
#include <string>

namespace qkprof::emulator {

// A kernel broke a rule of the machine. The text is a full sentence: kernel, block, thread, place in the source, what.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Thrown inside a lane by whatever part of the engine found the fault; the engine adds who and where and makes it a
// Fault. The text is a predicate of the thread: "loads 16 bytes at ...".
struct Violation {
    std::string what;
};

}  // namespace qkprof::emulator
