// The words of the vocabulary, as the running thread executes them.

#include "engine.h"

#include <cstring>

namespace qkprof::emulator {
namespace {

// What tells two accesses of a lane apart: the place, the width and the kind.
std::uint64_t place_of(const Site& site, unsigned bytes, Access kind) {
    const std::uint64_t in_file =
        std::uint64_t{site.line()} << 32U | site.column() << 16U | bytes << 8U | static_cast<unsigned>(kind);
    return in_file ^ reinterpret_cast<std::uintptr_t>(site.file_name()) * 0x9e3779b97f4a7c15U;
}

void copy(void* to, const void* from, unsigned bytes) {
    switch (bytes) {
        case 16:
            std::memcpy(to, from, 16);
            break;
        case 8:
            std::memcpy(to, from, 8);
            break;
        case 4:
            std::memcpy(to, from, 4);
            break;
        default:
            std::memcpy(to, from, bytes);
    }
}

Path path_of(Cache hint) {
    return hint == Cache::streaming ? Path::streaming : hint == Cache::keep ? Path::keep : Path::normal;
}

}  // namespace

void Engine::global_load(void* to, const void* from, unsigned bytes, Cache hint, const Site& site) {
    const Thread& thread = at(site);
    const std::uint64_t address = memory_.load_address(from, bytes, bytes, thread.before_wait);
    copy(to, from, bytes);
    warp_->log.record(thread.thread % 32, place_of(site, bytes, Access::global_load), Access::global_load,
                      path_of(hint), bytes, address);
}

void Engine::global_store(void* to, const void* from, unsigned bytes, Cache hint, const Site& site) {
    const Thread& thread = at(site);
    const std::uint64_t address = memory_.store_address(to, bytes, bytes, thread.before_wait);
    copy(to, from, bytes);
    warp_->log.record(thread.thread % 32, place_of(site, bytes, Access::global_store), Access::global_store,
                      path_of(hint), bytes, address);
}

void Engine::shared_load(void* to, const void* from, unsigned bytes, const Site& site) {
    const Thread& thread = at(site);
    const std::size_t offset = shared_.offset(from, bytes, bytes, "loads");
    shared_.load(thread.thread, offset, bytes);
    copy(to, from, bytes);
    warp_->log.record(thread.thread % 32, place_of(site, bytes, Access::shared_load), Access::shared_load, Path::normal,
                      bytes, offset);
}

void Engine::shared_store(void* to, const void* from, unsigned bytes, const Site& site) {
    const Thread& thread = at(site);
    const std::size_t offset = shared_.offset(to, bytes, bytes, "stores");
    shared_.store(thread.thread, offset, bytes);
    copy(to, from, bytes);
    warp_->log.record(thread.thread % 32, place_of(site, bytes, Access::shared_store), Access::shared_store,
                      Path::normal, bytes, offset);
}

float Engine::shuffle(float value, unsigned source, const Site& site) {
    Thread& thread = at(site);
    thread.value = value;
    thread.source = source % 32;  // as the hardware takes it
    wait(Wait::shuffle, &Warp::at_warp);
    return thread.value;
}

void Engine::block_barrier(const Site& site) {
    at(site);
    wait(Wait::block_barrier, &Warp::at_block);
}

void Engine::warp_barrier(const Site& site) {
    at(site);
    wait(Wait::warp_barrier, &Warp::at_warp);
}

void Engine::async_copy(void* shared, const void* global, const Site& site) {
    const Thread& thread = at(site);
    const std::uint64_t address = memory_.load_address(global, 16, 16, running_->before_wait);
    const std::size_t offset = shared_.offset(shared, 16, 16, "copies");
    asynchronous_.copy(thread.thread, offset, global);
    warp_->log.record(thread.thread % 32, place_of(site, 16, Access::global_load), Access::global_load, Path::bypass,
                      16, address);
}

void Engine::async_commit(const Site& site) { asynchronous_.commit_copies(at(site).thread); }

void Engine::async_wait(int pending, const Site& site) { asynchronous_.wait_copies(at(site).thread, pending); }

void Engine::mbarrier_initialise(void* barrier, unsigned arrivals, const Site& site) {
    const Thread& thread = at(site);
    asynchronous_.initialise(thread.thread, shared_.offset(barrier, 8, 8, "initialises"), arrivals);
}

void Engine::mbarrier_expect(void* barrier, unsigned bytes, const Site& site) {
    const Thread& thread = at(site);
    asynchronous_.expect(thread.thread, shared_.offset(barrier, 8, 8, "uses"), bytes);
}

void Engine::mbarrier_wait(void* barrier, unsigned parity, const Site& site) {
    Thread& thread = at(site);
    thread.mbarrier = shared_.offset(barrier, 8, 8, "uses");
    thread.parity = parity;
    if (!asynchronous_.finished(thread.thread, thread.mbarrier, parity)) {
        wait(Wait::mbarrier, &Warp::at_mbarrier);
    }
}

void Engine::bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, const Site& site) {
    const Thread& thread = at(site);
    check_bulk(bytes);
    const std::uint64_t address = memory_.load_address(global, bytes, 16, running_->before_wait);
    const std::size_t offset = shared_.offset(shared, bytes, 16, "copies");
    asynchronous_.bulk_load(thread.thread, offset, global, bytes, shared_.offset(barrier, 8, 8, "uses"));
    count_bulk(address, bytes, Access::global_load);
}

void Engine::bulk_store(void* global, const void* shared, unsigned bytes, const Site& site) {
    const Thread& thread = at(site);
    check_bulk(bytes);
    const std::uint64_t address = memory_.store_address(global, bytes, 16, running_->before_wait);
    const std::size_t offset = shared_.offset(shared, bytes, 16, "copies");
    asynchronous_.bulk_store(thread.thread, global, offset, bytes);
    count_bulk(address, bytes, Access::global_store);
}

void Engine::bulk_commit(const Site& site) { asynchronous_.commit_stores(at(site).thread); }

void Engine::bulk_wait(int pending, const Site& site) { asynchronous_.wait_stores(at(site).thread, pending); }

void Engine::async_fence(const Site& site) { order_.fence(at(site).thread); }

void Engine::wait_for_dependency(const Site& site) { at(site).before_wait = false; }

// The vocabulary's functions: those of the engine that runs a grid.

namespace {
constinit thread_local Engine* running = nullptr;
}

void global_load(void* to, const void* from, unsigned bytes, Cache hint, const Site& site) {
    running->global_load(to, from, bytes, hint, site);
}
void global_store(void* to, const void* from, unsigned bytes, Cache hint, const Site& site) {
    running->global_store(to, from, bytes, hint, site);
}
std::byte* shared_base() { return running->shared_base(); }
void shared_load(void* to, const void* from, unsigned bytes, const Site& site) {
    running->shared_load(to, from, bytes, site);
}
void shared_store(void* to, const void* from, unsigned bytes, const Site& site) {
    running->shared_store(to, from, bytes, site);
}
float shuffle(float value, unsigned source, const Site& site) { return running->shuffle(value, source, site); }
void block_barrier(const Site& site) { running->block_barrier(site); }
void warp_barrier(const Site& site) { running->warp_barrier(site); }
void async_copy(void* shared, const void* global, const Site& site) { running->async_copy(shared, global, site); }
void async_commit(const Site& site) { running->async_commit(site); }
void async_wait(int pending, const Site& site) { running->async_wait(pending, site); }
void mbarrier_initialise(void* barrier, unsigned arrivals, const Site& site) {
    running->mbarrier_initialise(barrier, arrivals, site);
}
void mbarrier_expect(void* barrier, unsigned bytes, const Site& site) {
    running->mbarrier_expect(barrier, bytes, site);
}
void mbarrier_wait(void* barrier, unsigned parity, const Site& site) { running->mbarrier_wait(barrier, parity, site); }
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, const Site& site) {
    running->bulk_load(shared, global, bytes, barrier, site);
}
void bulk_store(void* global, const void* shared, unsigned bytes, const Site& site) {
    running->bulk_store(global, shared, bytes, site);
}
void bulk_commit(const Site& site) { running->bulk_commit(site); }
void bulk_wait(int pending, const Site& site) { running->bulk_wait(pending, site); }
void async_fence(const Site& site) { running->async_fence(site); }
void wait_for_dependency(const Site& site) { running->wait_for_dependency(site); }

void run_grid(Stream stream, const LaunchConfig& config, const std::function<void()>& body) {
    auto* engine = static_cast<Engine*>(stream.handle);
    Engine* outer = std::exchange(running, engine);
    try {
        engine->run_grid(config, body);
    } catch (...) {
        running = outer;
        throw;
    }
    running = outer;
}

}  // namespace qkprof::emulator
