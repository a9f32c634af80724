#include "fibers.h"

#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace qkprof::emulator {

Fibers::Fibers(std::function<void(unsigned)> run) : run_(std::move(run)), stacks_(most) {}

Fibers::~Fibers() {
    ending_ = true;
    for (const auto& context : contexts_) {
        jump(host_, *context);
    }
}

void Fibers::require(unsigned count) {
    while (contexts_.size() < count) {
        start(static_cast<unsigned>(contexts_.size()));
    }
}

void Fibers::start(unsigned index) {
    contexts_.push_back(std::make_unique<Context>());
    Context& context = *contexts_.back();
    const boost::context::stack_context stack = stacks_.at(index);
    context.bottom = static_cast<const std::byte*>(stack.sp) - stack.size;
    context.bytes = stack.size;
    context.fiber = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                          BorrowedStack{}, [this, index, &context](boost::context::fiber&& previous) {
                                              arrive(context, std::move(previous));
                                              while (!ending_) {
                                                  run_(index);
                                                  jump(index, after(index));
                                              }
#ifdef __SANITIZE_ADDRESS__
                                              __sanitizer_start_switch_fiber(nullptr, host_.bottom, host_.bytes);
#endif
                                              leaving_ = &context;
                                              return std::move(host_.fiber);
                                          });
}

void Fibers::jump(Context& from, Context& to) {
    leaving_ = &from;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
    boost::context::fiber previous = std::move(to.fiber).resume();
    arrive(from, std::move(previous));
}

void Fibers::arrive([[maybe_unused]] Context& at, boost::context::fiber&& previous) {
#ifdef __SANITIZE_ADDRESS__
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(at.fake_stack, &bottom, &bytes);
    if (leaving_ == &host_) {  // the host's stack is not ours: learn where it is
        host_.bottom = bottom;
        host_.bytes = bytes;
    }
#endif
    leaving_->fiber = std::move(previous);
}

}  // namespace qkprof::emulator
