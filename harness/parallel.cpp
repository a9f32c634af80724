#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace qkprof {

void for_each_chunk(std::int64_t count, std::int64_t size,
                    const std::function<void(std::int64_t chunk, std::int64_t first, std::int64_t last)>& f) {
    const std::int64_t chunks = count / size + (count % size != 0 ? 1 : 0);
    std::atomic<std::int64_t> next = 0;
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto work = [&] {
        try {
            for (std::int64_t chunk = next++; chunk < chunks; chunk = next++) {
                f(chunk, chunk * size, std::min(count, chunk * size + size));
            }
        } catch (...) {
            next = chunks;
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
        }
    };
    {
        const std::int64_t threads = std::min<std::int64_t>(std::thread::hardware_concurrency(), chunks);
        std::vector<std::jthread> others;
        for (std::int64_t i = 1; i < threads; ++i) {
            others.emplace_back(work);
        }
        work();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace qkprof
