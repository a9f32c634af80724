#include "order.h"

#include "fault.h"

namespace qkprof::emulator {

void learn(Knowledge& knowledge, const Known& news) {
    for (Known& known : knowledge) {
        if (known.who == news.who) {
            known.clock = std::max(known.clock, news.clock);
            return;
        }
    }
    knowledge.push_back(news);
}

void learn(Knowledge& knowledge, const Knowledge& news) {
    for (const Known& known : news) {
        learn(knowledge, known);
    }
}

void Order::start_block(unsigned threads) {
    if (epoch_ >= 1U << (Stamp::epoch_bits - 1)) {
        epoch_ = 0;
        fences_.clear();
    }
    first_epoch_ = ++epoch_;
    warps_.assign(threads / 32, {});
    knowledge_.resize(threads);
    for (Knowledge& knowledge : knowledge_) {
        knowledge.clear();
    }
    fences_.resize(threads);  // those of earlier blocks are of earlier epochs
}

void Order::tick(Warp& warp) {
    if (++warp.clock >= 1U << Stamp::clock_bits) {
        throw Violation{"synchronises more often in one block than the emulator can order (4194303 times)"};
    }
}

void Order::block_barrier() {
    ++epoch_;
    for (unsigned w = 0; w < warps_.size(); ++w) {
        tick(warps_[w]);
        if (warps_[w].knows) {
            for (unsigned i = 0; i < 32; ++i) {
                knowledge_[w * 32 + i].clear();
            }
            warps_[w].knows = false;
        }
    }
}

void Order::warp_barrier(unsigned warp) {
    Warp& own = warps_[warp];
    own.met = own.clock;
    tick(own);
    if (own.knows) {
        Knowledge all;
        for (unsigned i = 0; i < 32; ++i) {
            learn(all, knowledge_[warp * 32 + i]);
        }
        for (unsigned i = 0; i < 32; ++i) {
            knowledge_[warp * 32 + i] = all;
        }
    }
}

void Order::release(unsigned thread, Knowledge& to) {
    Warp& own = warps_[thread / 32];
    learn(to, {thread, own.clock});
    learn(to, {warp_accessor + thread / 32, own.met});
    learn(to, knowledge_[thread]);
    tick(own);
}

void Order::acquire(unsigned thread, const Knowledge& from) {
    learn(knowledge_[thread], from);
    warps_[thread / 32].knows = true;
}

void Order::fence(unsigned thread) {
    Warp& own = warps_[thread / 32];
    tick(own);
    fences_[thread] = {epoch_, own.clock, own.met};
}

bool Order::knows(unsigned thread, unsigned who, std::uint64_t clock) const {
    return std::any_of(knowledge_[thread].begin(), knowledge_[thread].end(),
                       [&](const Known& known) { return known.who == who && clock <= known.clock; });
}

bool Order::known(const Stamp& access, unsigned thread) const {
    const auto who = static_cast<unsigned>(access.who);
    if (who >= copy_accessor) {
        return knows(thread, who, access.clock);
    }
    const unsigned warp = who >= warp_accessor ? who - warp_accessor : who / 32;
    if ((warp == thread / 32 && access.clock <= warps_[warp].met) ||
        knows(thread, warp_accessor + warp, access.clock)) {
        return true;
    }
    if (who < warp_accessor) {
        return knows(thread, who, access.clock);
    }
    for (unsigned i = 0; i < 32; ++i) {  // each lane of the warp by itself
        if (warp * 32 + i != thread && !knows(thread, warp * 32 + i, access.clock)) {
            return false;
        }
    }
    return true;
}

bool Order::fenced(const Stamp& store, unsigned thread) const {
    if (store.who >= copy_accessor) {
        return true;  // the engine sees its own copies
    }
    const Fence& writer = fences_[store.who];
    if (writer.epoch > store.epoch || (writer.epoch == store.epoch && store.clock < writer.clock)) {
        return true;
    }
    const Fence& own = fences_[thread];
    return own.epoch > store.epoch ||
           (own.epoch == store.epoch && store.who / 32 == thread / 32 && store.clock <= own.met);
}

}  // namespace qkprof::emulator
