#include "engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace qkprof::emulator {

constinit thread_local const Lane* running_lane = nullptr;

namespace {

constexpr std::uint32_t all_lanes = 0xffffffffU;

// "kernels/copy.cu:20": a place in the source, by the file's last two names.
std::string place(const Site& site) {
    std::string_view file = site.file_name();
    const auto last = file.rfind('/');
    const auto before = last == std::string_view::npos || last == 0 ? last : file.rfind('/', last - 1);
    if (before != std::string_view::npos) {
        file.remove_prefix(before + 1);
    }
    return fmt::format("{}:{}", file, site.line());
}

bool same(const Site& a, const Site& b) {
    return a.line() == b.line() && a.column() == b.column() &&
           (a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name());
}

std::string describe(const Thread& thread) {
    switch (thread.wait) {
        case Wait::exited:
            return "has exited";
        case Wait::shuffle:
            return "waits at the shuffle at " + place(thread.site);
        case Wait::warp_barrier:
            return "waits at the warp barrier at " + place(thread.site);
        case Wait::block_barrier:
            return "waits at the barrier at " + place(thread.site);
        case Wait::mbarrier:
            return "waits at the mbarrier wait at " + place(thread.site);
        default:
            return "runs";
    }
}

}  // namespace

Engine::Engine(const EmulatorOptions& options)
    : limits_{.multiprocessors = options.multiprocessors,
              .shared_bytes_per_block = static_cast<std::int64_t>(most_shared_bytes),
              .persisting_l2_bytes = options.l2_bytes / 8 * 5,  // the share that an H200 grants
              .l2_bytes = options.l2_bytes},
      caches_(options.l2_bytes, options.multiprocessors),
      shared_(order_),
      asynchronous_(shared_, order_),
      fibers_([this](unsigned index) { run_thread(index); }) {
    fibers_.after = [this](unsigned) { return next_thread(); };
}

Fault Engine::fault(const Thread& thread, const std::string& what) const {
    return Fault(fmt::format("Kernel {}, block {}, thread {}, at {}: {}.", config_.kernel, thread.block, thread.thread,
                             place(thread.site), what));
}

void Engine::check(const LaunchConfig& config) const {
    std::string reason;
    if (config.threads <= 0 || config.threads > static_cast<int>(Fibers::most) || config.threads % 32 != 0) {
        reason = "the threads of a block must be a multiple of 32 and at most 1024";
    } else if (config.blocks < 0 || config.blocks > std::numeric_limits<std::int32_t>::max()) {
        reason = "a grid has at most 2147483647 blocks";
    } else if (config.shared_bytes < 0 || config.shared_bytes > limits_.shared_bytes_per_block) {
        reason = fmt::format("a block has at most {} bytes of shared memory", limits_.shared_bytes_per_block);
    }
    if (!reason.empty()) {
        throw LaunchError(
            fmt::format("The launch of {} ({} blocks of {} threads, {} bytes of shared memory) was refused: {}.",
                        config.kernel, config.blocks, config.threads, config.shared_bytes, reason));
    }
}

void Engine::check_bulk(unsigned bytes) {
    if (bytes == 0 || bytes % 16 != 0) {
        throw Violation{fmt::format("asks for a bulk copy of {} bytes, which is not a multiple of 16", bytes)};
    }
}

void Engine::run_grid(const LaunchConfig& config, const std::function<void()>& body) {
    if (config.blocks == 0) {
        return;
    }
    check(config);
    ++totals_.launches;
    totals_.blocks += config.blocks;
    ++launches_ever_;
    totals_.shared_bytes = std::max(totals_.shared_bytes, config.shared_bytes);
    note(config);
    config_ = config;
    body_ = &body;
    start_caches(config);
    const auto threads = static_cast<unsigned>(config.threads);
    fibers_.require(threads);
    threads_.assign(threads, {});
    warps_.resize(threads / 32);
    for (std::int64_t block = config.blocks - std::min(config.blocks, only_last_); block < config.blocks; ++block) {
        run_block(block);
    }
}

void Engine::note(const LaunchConfig& config) {
    KernelUse use;
    use.name = config.kernel;
    use.grid = {config.blocks, 1, 1};
    use.block = {config.threads, 1, 1};
    use.dynamic_shared = config.shared_bytes;  // the vocabulary has no other
    add_launches(kernels_, std::move(use), 1);
}

void Engine::start_caches(const LaunchConfig& config) {
    if (config.persisting_bytes == 0) {
        caches_.start_launch({config.threads, config.shared_bytes, 0, 0});
        return;
    }
    // The window may span neighbouring buffers.
    const auto bytes = static_cast<std::uint64_t>(config.persisting_bytes);
    const auto* first = static_cast<const std::byte*>(config.persisting);
    try {
        const std::uint64_t window = memory_.load_address(first, 1, 1, false);
        if (memory_.load_address(first + bytes - 1, 1, 1, false) != window + bytes - 1) {
            throw Violation{"spans buffers that are not neighbours"};
        }
        caches_.start_launch({config.threads, config.shared_bytes, window, bytes});
    } catch (const Violation&) {
        throw LaunchError(fmt::format(
            "The launch of {} was refused: the {} bytes that the L2 is asked to keep are not in the call's buffers.",
            config.kernel, bytes));
    }
}

void Engine::run_block(std::int64_t block) {
    block_ = block;
    order_.start_block(static_cast<unsigned>(threads_.size()));
    shared_.start_block(static_cast<std::size_t>(config_.shared_bytes));
    asynchronous_.start_block(static_cast<unsigned>(threads_.size()));
    for (unsigned i = 0; i < threads_.size(); ++i) {
        Thread& thread = threads_[i];
        thread.thread = i;
        thread.threads = static_cast<unsigned>(threads_.size());
        thread.block = static_cast<unsigned>(block);
        thread.blocks = static_cast<unsigned>(config_.blocks);
        thread.wait = Wait::nothing;
    }
    for (unsigned w = 0; w < warps_.size(); ++w) {
        Warp& warp = warps_[w];
        warp.first = w * 32;
        warp.runnable = all_lanes;
        warp.exited = warp.at_warp = warp.at_block = warp.at_mbarrier = 0;
    }
    try {
        for (;;) {
            bool progress = false;
            bool all_exited = true;
            bool all_at_barrier = true;
            for (Warp& warp : warps_) {
                progress |= run_warp(warp);
                all_exited &= warp.exited == all_lanes;
                all_at_barrier &= warp.at_block == all_lanes;
            }
            if (all_exited) {
                return;
            }
            if (all_at_barrier) {
                release_block();
            } else if (!progress) {
                explain_deadlock();
            }
        }
    } catch (const Violation& violation) {  // found when a barrier was released
        abandon_block();
        throw fault(threads_[0], violation.what);
    } catch (...) {
        abandon_block();
        throw;
    }
}

// Runs the warp until none of its lanes can go on by itself; false when none could at the start.
bool Engine::run_warp(Warp& warp) {
    bool progress = false;
    do {
        if (warp.runnable != 0) {
            run_lanes(warp);
            progress = true;
        }
    } while (release_warp(warp) || release_mbarriers(warp));
    if (warp.exited == all_lanes) {
        flush(warp);
    }
    return progress;
}

// Gives every runnable lane one turn, up to where it waits. A lane jumps to the next by itself.
void Engine::run_lanes(Warp& warp) {
    warp_ = &warp;
    to_run_ = warp.runnable;
    fibers_.jump(Fibers::host, next_thread());
    if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
}

void Engine::run_thread(unsigned index) {
    Thread& thread = threads_[index];
    thread.begun = true;
    thread.before_wait = config_.programmatic;
    try {
        (*body_)();
        asynchronous_.check_exit(index);
    } catch (const Unwind&) {
    } catch (const Violation& violation) {
        failure_ = std::make_exception_ptr(fault(thread, violation.what));
    } catch (...) {
        failure_ = std::current_exception();
    }
    thread.begun = false;
    thread.wait = Wait::exited;
    const std::uint32_t lane = 1U << (index % 32);
    warp_->runnable &= ~lane;
    warp_->exited |= lane;
    if (failure_ && !unwinding_) {
        to_run_ = 0;  // the first fault wins
    }
}

// Lets a warp go on whose lanes all wait at the same shuffle or warp barrier.
bool Engine::release_warp(Warp& warp) {
    if (warp.at_warp != all_lanes) {
        return false;
    }
    Thread* lanes = &threads_[warp.first];
    for (unsigned i = 1; i < 32; ++i) {
        if (lanes[i].wait != lanes[0].wait || !same(lanes[i].site, lanes[0].site)) {
            return false;
        }
    }
    flush(warp);
    if (lanes[0].wait == Wait::shuffle) {
        std::array<float, 32> values;  // NOLINT: filled here
        for (unsigned i = 0; i < 32; ++i) {
            values[i] = lanes[i].value;
        }
        for (unsigned i = 0; i < 32; ++i) {
            lanes[i].value = values[lanes[i].source];
        }
    }
    if (lanes[0].wait == Wait::warp_barrier) {
        order_.warp_barrier(warp.first / 32);
    }
    for (unsigned i = 0; i < 32; ++i) {
        lanes[i].wait = Wait::nothing;
    }
    warp.at_warp = 0;
    warp.runnable = all_lanes;
    return true;
}

bool Engine::release_mbarriers(Warp& warp) {
    for (std::uint32_t lanes = warp.at_mbarrier; lanes != 0; lanes &= lanes - 1) {
        Thread& thread = threads_[warp.first + static_cast<unsigned>(std::countr_zero(lanes))];
        if (asynchronous_.finished(thread.thread, thread.mbarrier, thread.parity)) {
            const std::uint32_t lane = lanes & -lanes;
            thread.wait = Wait::nothing;
            warp.at_mbarrier &= ~lane;
            warp.runnable |= lane;
        }
    }
    return warp.runnable != 0;
}

// Lets the block go on, whose threads all wait at a barrier.
void Engine::release_block() {
    for (const Thread& thread : threads_) {
        if (!same(thread.site, threads_[0].site)) {
            explain_deadlock();
        }
    }
    order_.block_barrier();
    for (Warp& warp : warps_) {
        flush(warp);
        warp.at_block = 0;
        warp.runnable = all_lanes;
    }
    for (Thread& thread : threads_) {
        thread.wait = Wait::nothing;
    }
}

void Engine::explain_deadlock() const {
    // A warp whose lanes differ says most; otherwise two warps differ.
    const auto differ = [](const Thread& a, const Thread& b) {
        return a.wait != b.wait || (a.wait != Wait::exited && !same(a.site, b.site));
    };
    const auto complain = [&](const Thread& a, const Thread& b) {
        const Thread& waiting = a.wait != Wait::exited ? a : b;
        const Thread& other = a.wait != Wait::exited ? b : a;
        throw fault(waiting, fmt::format("{} while thread {} {}, so neither can go on", describe(waiting), other.thread,
                                         describe(other)));
    };
    for (const Thread& thread : threads_) {
        if (thread.wait == Wait::mbarrier) {
            throw fault(thread, "waits forever at an mbarrier: " + asynchronous_.describe(thread.mbarrier));
        }
    }
    for (const Thread& thread : threads_) {
        const Thread& first = threads_[thread.thread - thread.thread % 32];
        if (differ(first, thread)) {
            complain(first, thread);
        }
    }
    for (const Thread& thread : threads_) {
        if (differ(threads_[0], thread)) {
            complain(threads_[0], thread);
        }
    }
    throw fault(threads_[0], describe(threads_[0]) + " and cannot go on");
}

// Unwinds the fibers that have not finished the block, so that the next launch finds them idle.
void Engine::abandon_block() {
    unwinding_ = true;
    for (Warp& warp : warps_) {
        std::uint32_t begun = 0;
        for (unsigned i = 0; i < 32; ++i) {
            begun |= threads_[warp.first + i].begun ? 1U << i : 0U;
        }
        warp.log.clear();
        to_run_ = begun;
        warp_ = &warp;
        while (to_run_ != 0) {
            fibers_.jump(Fibers::host, next_thread());
        }
    }
    unwinding_ = false;
    failure_ = nullptr;
}

void Engine::flush(Warp& warp) {
    warp.log.flush([this](const WarpAccess& access) { count(access); });
}

void Engine::count(const WarpAccess& access) {
    if (access.kind == Access::shared_load || access.kind == Access::shared_store) {
        const Wavefronts wavefronts = wavefronts_of(access);
        totals_.shared_wavefronts += wavefronts.needed;
        totals_.bank_conflicts += wavefronts.needed - wavefronts.ideal;
        return;
    }
    std::array<LinePart, 32> parts;  // NOLINT: lines_of fills what is read
    const unsigned lines = lines_of(access, parts);
    unsigned sectors = 0;
    for (unsigned i = 0; i < lines; ++i) {
        sectors += count_line(parts[i], access.kind, access.path);
    }
    if (access.path == Path::bypass) {
        sectors = sectors_of_copies(access);
    }
    ask(access.kind, sectors);
}

void Engine::ask(Access kind, unsigned sectors) {
    (kind == Access::global_load ? totals_.load_sectors : totals_.store_sectors) += sectors;
}

// A bulk copy asks for each sector of its piece once.
void Engine::count_bulk(std::uint64_t device, unsigned bytes, Access kind) {
    const std::uint64_t end = device + bytes;
    for (std::uint64_t line = device / line_bytes; line * line_bytes < end; ++line) {
        const std::uint64_t first = std::max(device, line * line_bytes) % line_bytes / 2;
        const std::uint64_t pairs = (std::min(end, (line + 1) * line_bytes) - line * line_bytes) / 2 - first;
        ask(kind, count_line({line, ~std::uint64_t{0} >> (64 - pairs) << first}, kind, Path::bypass));
    }
}

// Through the caches; returns how many sectors it touches.
unsigned Engine::count_line(const LinePart& part, Access kind, Path path) {
    if (kind == Access::global_load) {
        caches_.load(block_, part, path);
    } else {
        caches_.store(block_, part, path);
    }
    return static_cast<unsigned>(std::popcount(part.sectors()));
}

}  // namespace qkprof::emulator
