// The fibers on which the threads of a block run: one host thread, switched by hand, kept from block to block.
#pragma once

#include "stacks.h"

#include <boost/context/fiber.hpp>

#include <functional>
#include <memory>
#include <vector>

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
    void jump(unsigned from, unsigned to) { jump(context(from), context(to)); }
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
    void jump(Context& from, Context& to);
    void arrive(Context& at, boost::context::fiber&& previous);
    void start(unsigned index);

    std::function<void(unsigned)> run_;
    Stacks stacks_;
    Context host_;
    std::vector<std::unique_ptr<Context>> contexts_;
    Context* leaving_ = nullptr;  // the context that jumped last
    bool ending_ = false;
};

}  // namespace qkprof::emulator
