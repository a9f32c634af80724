#include "stacks.h"

#include <sys/mman.h>

#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace qkprof::emulator {
namespace {

constexpr std::size_t page = 4096;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t stack_bytes = 64 * page;  // redzones, and the sanitizers' own frames
#else
constexpr std::size_t stack_bytes = 16 * page;
#endif

}  // namespace

Stacks::Stacks(std::size_t count) : pages_(count * stack_bytes) {
    for (std::size_t i = 0; i < count; ++i) {
        if (mprotect(pages_.data() + i * stack_bytes, page, PROT_NONE) != 0) {
            throw std::bad_alloc();
        }
    }
}

Stacks::~Stacks() {
#ifdef __SANITIZE_ADDRESS__
    // Frames that never returned have left their marks, and the next mapping may come to lie here.
    __asan_unpoison_memory_region(pages_.data(), pages_.bytes());
#endif
}

boost::context::stack_context Stacks::at(std::size_t index) const {
    constexpr std::size_t step = 320;  // five cache lines
    boost::context::stack_context stack;
    const std::size_t moved = index % 32 * step;
    stack.size = stack_bytes - page - moved;
    stack.sp = pages_.data() + (index + 1) * stack_bytes - moved;
    return stack;
}

}  // namespace qkprof::emulator
