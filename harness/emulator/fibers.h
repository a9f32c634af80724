// The fibers on which the threads of a block run: one host thread, switched by hand, kept from block to block.
#pragma once

#include "stacks.h"

#include <boost/context/fiber.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace qkprof::emulator {

class Fibers {
  public:
    // Each fiber calls run(its index) again and again; run must not throw. In between it leaves to the host.
    explicit Fibers(std::function<void(unsigned)> run);
    ~Fibers();
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    static constexpr unsigned host = ~0U;
    static constexpr unsigned most = 1024;

    // Makes fibers 0 .. count - 1 exist.
    void require(unsigned count);
    // Suspends `from` (the host, or the fiber that calls) and continues `to`.
    [[gnu::always_inline]] void jump(unsigned from, unsigned to) { jump(context(from), context(to)); }
    // What a fiber does next when run() returned: continues the index that this gives.
    std::function<unsigned(unsigned)> after;

  private:
    struct Context {
        boost::context::fiber fiber;  // empty while it runs
        void* fake_stack = nullptr;   // AddressSanitizer's
        const void* bottom = nullptr;
        std::size_t bytes = 0;
    };

    Context& context(unsigned index) { return index == host ? host_ : *contexts_[index]; }
    // Inline, as all between a word of the vocabulary and the switch should be: the host predicts no return right after
    // a switch of stacks.
    [[gnu::always_inline]] void jump(Context& from, Context& to) {
        leaving_ = &from;
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
        boost::context::fiber previous = std::move(to.fiber).resume();
        arrive(from, std::move(previous));
    }
    [[gnu::always_inline]] void arrive([[maybe_unused]] Context& at, boost::context::fiber&& previous) {
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
    void start(unsigned index);

    std::function<void(unsigned)> run_;
    Stacks stacks_;
    Context host_;
    std::vector<std::unique_ptr<Context>> contexts_;
    Context* leaving_ = nullptr;  // the context that jumped last
    bool ending_ = false;
};

}  // namespace qkprof::emulator
