// A program for `qkprof exec` to run: known launches, copies, fills and NVTX ranges, and many ways to end.
//   exec_target HOW     HOW: return, exit7, _exit, quick_exit, abort, terminate, segv,
//   kill, fork, cupti, long
// Each way does: in range "outer" (default domain), 10 calls of range "step" in domain "target": 2 kernels, a fill and
// a copy; inside each "step" a range "inner" (default domain) with 1 more kernel. Beside them a graph of 5 kernels,
// captured in range "capture" and launched 4 times in range "replay"; a launch that fails; and 3 kernels in no range.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cupti.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

__global__ void first_kernel(float* data) { data[threadIdx.x] += 1.0F; }
__global__ void second_kernel(float* data) { data[threadIdx.x] *= 2.0F; }
__global__ void slow_kernel(float* data) {
    const long long begin = clock64();
    while (clock64() - begin < 100000) {
    }
    data[threadIdx.x] += 1.0F;
}

void check(cudaError_t result) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "exec_target: %s\n", cudaGetErrorString(result));
        std::exit(99);
    }
}

constexpr int threads = 64;
constexpr std::size_t bytes = threads * sizeof(float);

void steps(float* data, float* other, cudaStream_t stream) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("target");
    nvtxEventAttributes_t step = {};
    step.version = NVTX_VERSION;
    step.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    step.messageType = NVTX_MESSAGE_TYPE_ASCII;
    step.message.ascii = "step";
    nvtxRangePushA("outer");
    for (int i = 0; i < 10; ++i) {
        nvtxDomainRangePushEx(domain, &step);
        first_kernel<<<1, threads, 0, stream>>>(data);
        second_kernel<<<2, threads, 128, stream>>>(data);
        check(cudaMemsetAsync(other, 0, bytes, stream));
        check(cudaMemcpyAsync(other, data, bytes, cudaMemcpyDeviceToDevice, stream));
        nvtxRangePushA("inner");
        first_kernel<<<1, threads, 0, stream>>>(data);
        nvtxRangePop();
        nvtxDomainRangePop(domain);
    }
    nvtxRangePop();
}

void graph(float* data, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    nvtxRangePushA("capture");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 5; ++i) {
        second_kernel<<<1, threads, 0, stream>>>(data);
    }
    check(cudaStreamEndCapture(stream, &graph));
    nvtxRangePop();
    check(cudaGraphInstantiate(&executable, graph, 0));
    nvtxRangePushA("replay");
    for (int i = 0; i < 4; ++i) {
        check(cudaGraphLaunch(executable, stream));
    }
    nvtxRangePop();
    check(cudaStreamSynchronize(stream));
}

void work() {
    float* data = nullptr;
    float* other = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaMalloc(&data, bytes));
    check(cudaMalloc(&other, bytes));
    check(cudaStreamCreate(&stream));
    steps(data, other, stream);
    graph(data, stream);
    first_kernel<<<1, 4096, 0, stream>>>(data);  // too many threads
    if (cudaGetLastError() == cudaSuccess) {
        std::exit(98);
    }
    for (int i = 0; i < 3; ++i) {
        slow_kernel<<<1, threads, 0, stream>>>(data);
    }
    check(cudaStreamSynchronize(stream));
}

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *size = 1U << 20U;
    *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
    *records = 0;
}
void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); }

// As a profiler of the program's own does.
void use_cupti() {
    CUpti_SubscriberHandle subscriber = nullptr;
    const CUptiResult subscribed = cuptiSubscribe(
        &subscriber, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr);
    const CUptiResult registered = cuptiActivityRegisterCallbacks(give, take);
    const CUptiResult enabled = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    std::printf("cupti: subscribe %d, register %d, enable %d\n", subscribed, registered, enabled);
}

}  // namespace

int main(int count, char** words) {
    const char* how = count > 1 ? words[1] : "return";
    const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
    if (is("fork")) {  // each child uses CUDA, and ends by _exit
        for (int i = 0; i < 2; ++i) {
            if (fork() == 0) {
                work();
                _exit(0);
            }
        }
        while (wait(nullptr) > 0) {
        }
        return 0;
    }
    work();
    if (is("cupti")) {
        use_cupti();
        work();
    } else if (is("long")) {  // for measuring what being watched costs
        float* scratch = nullptr;
        check(cudaMalloc(&scratch, bytes));
        const auto seconds = [] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        };
        const double begin = seconds();
        constexpr int launches = 200000;
        for (int i = 0; i < launches; ++i) {
            first_kernel<<<1, threads>>>(scratch);
        }
        check(cudaDeviceSynchronize());
        std::printf("%.3f us a launch\n", (seconds() - begin) / launches * 1e6);
    } else if (is("exit7")) {
        std::exit(7);
    } else if (is("_exit")) {
        _exit(3);
    } else if (is("quick_exit")) {
        std::quick_exit(4);
    } else if (is("abort")) {
        std::abort();
    } else if (is("terminate")) {
        raise(SIGTERM);
    } else if (is("kill")) {
        raise(SIGKILL);
    } else if (is("segv")) {
        raise(SIGSEGV);
    }
    return 0;
}
