#include "fibers.h"

#include <utility>

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

}  // namespace qkprof::emulator
