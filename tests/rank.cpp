// What a launcher's environment says of a process, which GPU it takes, and the lock of a GPU.
#include "rank.h"

#include "error.h"
#include "gpu_lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>

namespace qkprof {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

std::optional<Rank> rank_of(const Variables& variables) {
    return rank_from([&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    });
}

// The text of the exception of this type; "none" where there is none.
template <class Error, class Function>
std::string error_of(const Function& function) {
    try {
        function();
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

std::string fault_of(const Variables& variables) {
    return error_of<InputError>([&] { rank_of(variables); });
}

// The names of each launcher's variables: of the local rank, the rank, and how many there are.
constexpr std::array<std::array<const char*, 4>, 7> launchers = {{
    {"Open MPI", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MVAPICH", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"MVAPICH", "MVP_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE"},
    {"Hydra (MPICH, Intel MPI)", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE"},
    {"PALS", "PALS_LOCAL_RANKID", "PALS_RANKID", "PMI_SIZE"},
    {"Flux", "FLUX_TASK_LOCAL_ID", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"Slurm", "SLURM_LOCALID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}};

TEST(Rank, EachLauncherSaysIt) {
    for (const auto& [launcher, local, number, count] : launchers) {
        SCOPED_TRACE(launcher);
        const std::optional<Rank> rank = rank_of({{local, "3"}, {number, "11"}, {count, "16"}});
        ASSERT_TRUE(rank);
        EXPECT_EQ(rank->local, 3);
        EXPECT_EQ(rank->number, 11);
        EXPECT_EQ(rank->count, 16);
        EXPECT_EQ(rank->launcher, launcher);
    }
}

TEST(Rank, WithoutALauncherThereIsNone) {
    EXPECT_FALSE(rank_of({}));
    EXPECT_FALSE(rank_of({{"PATH", "/bin"}, {"RANK", "1"}}));
}

TEST(Rank, OneProcessAloneIsNone) {
    for (const auto& [launcher, local, number, count] : launchers) {
        EXPECT_FALSE(rank_of({{local, "0"}, {number, "0"}, {count, "1"}})) << launcher;
    }
}

TEST(Rank, TheScriptOfABatchJobIsNone) {
    const Variables batch = {{"SLURM_JOB_ID", "7"},
                             {"SLURM_PROCID", "0"},
                             {"SLURM_LOCALID", "0"},
                             {"SLURM_NTASKS", "16"},
                             {"SLURM_TASKS_PER_NODE", "8"}};
    EXPECT_FALSE(rank_of(batch));
    Variables step = batch;
    step["SLURM_STEP_NUM_TASKS"] = "16";
    EXPECT_TRUE(rank_of(step));
}

// mpirun starts a daemon a machine by srun, and that one the processes: the daemon's place says nothing of theirs.
TEST(Rank, MpirunInAJobOfSlurmCountsAndNotTheStepOfItsDaemons) {
    const Variables both = {{"SLURM_LOCALID", "0"},         {"SLURM_PROCID", "1"},
                            {"SLURM_STEP_NUM_TASKS", "2"},  {"OMPI_COMM_WORLD_LOCAL_RANK", "5"},
                            {"OMPI_COMM_WORLD_RANK", "13"}, {"OMPI_COMM_WORLD_SIZE", "16"}};
    ASSERT_TRUE(rank_of(both));
    EXPECT_EQ(rank_of(both)->number, 13);
    EXPECT_EQ(rank_of(both)->launcher, "Open MPI");
}

TEST(Rank, AFurtherRunOfARankIsNone) {
    Variables variables = {
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
    EXPECT_TRUE(rank_of(variables));
    variables[further_run_variable] = "1";
    EXPECT_FALSE(rank_of(variables));
}

TEST(Rank, ALauncherThatSaysHalfIsNone) {
    EXPECT_FALSE(rank_of({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}));
    EXPECT_FALSE(rank_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}));
}

TEST(Rank, WhatIsNoNumberOrContradictsItselfIsASentence) {
    const auto open_mpi = [](const char* local, const char* number, const char* count) {
        return fault_of(
            {{"OMPI_COMM_WORLD_LOCAL_RANK", local}, {"OMPI_COMM_WORLD_RANK", number}, {"OMPI_COMM_WORLD_SIZE", count}});
    };
    EXPECT_EQ(open_mpi("x", "1", "2"),
              "The environment says that Open MPI started this process, and its OMPI_COMM_WORLD_LOCAL_RANK 'x' is not "
              "a whole number.");
    EXPECT_THAT(open_mpi("1", "", "2"), HasSubstr("OMPI_COMM_WORLD_RANK '' is not a whole number."));
    EXPECT_THAT(open_mpi("1", "-1", "2"), HasSubstr("out of range"));
    EXPECT_THAT(open_mpi("0", "0", "0"), HasSubstr("out of range"));
    EXPECT_THAT(open_mpi("0", "0", "99999999999999999999"), HasSubstr("out of range"));
    EXPECT_THAT(open_mpi("0", "2", "2"),
                HasSubstr("contradicts itself: OMPI_COMM_WORLD_RANK is 2 and OMPI_COMM_WORLD_SIZE is 2"));
    EXPECT_THAT(open_mpi("5", "1", "2"),
                HasSubstr("contradicts itself: OMPI_COMM_WORLD_LOCAL_RANK is 5 and OMPI_COMM_WORLD_SIZE is 2"));
    EXPECT_EQ(open_mpi("1", "1", "2"), "none");
}

TEST(Rank, EachHasAFileOfItsOwnAsWideAsTheLargest) {
    const auto path = [](const char* out, int number, int count) {
        return path_of(out, {.local = 0, .number = number, .count = count, .launcher = "Slurm"}).string();
    };
    EXPECT_EQ(path("profile.json", 3, 8), "profile.rank3.json");
    EXPECT_EQ(path("profile.json", 3, 10), "profile.rank3.json");
    EXPECT_EQ(path("profile.json", 3, 11), "profile.rank03.json");
    EXPECT_EQ(path("/a.b/profile.json", 1023, 1024), "/a.b/profile.rank1023.json");
    EXPECT_EQ(path("folder/profile", 0, 2), "folder/profile.rank0");
    EXPECT_EQ(path("run.2.json", 0, 2), "run.2.rank0.json");
}

TEST(Rank, TheContextHoldsIt) {
    const Rank rank = {.local = 3, .number = 11, .count = 16, .launcher = "Slurm"};
    EXPECT_THAT(rank.facts(), testing::ElementsAre(testing::Pair("rank", "11"), testing::Pair("ranks", "16"),
                                                   testing::Pair("launcher", "Slurm")));
}

TEST(Rank, TakesItsLocalGpu) {
    const auto gpu = [](int local, std::size_t gpus, const char* visible) {
        return gpu_of({.local = local, .number = local + 8, .count = 16, .launcher = "Slurm"}, gpus, visible);
    };
    EXPECT_EQ(gpu(0, 8, nullptr), 0);
    EXPECT_EQ(gpu(7, 8, nullptr), 7);
    EXPECT_EQ(gpu(1, 2, "4,5"), 1);
    EXPECT_EQ(gpu(7, 1, "0"), 0);  // a GPU of its own each, which each calls the first
    EXPECT_EQ(gpu(7, 1, "GPU-6d50832c"), 0);
}

TEST(Rank, NeverSharesAGpuSilently) {
    const auto refusal = [](int local, std::size_t gpus, const char* visible) {
        return error_of<CannotMeasure>(
            [&] { gpu_of({.local = local, .number = local + 8, .count = 16, .launcher = "Slurm"}, gpus, visible); });
    };
    EXPECT_THAT(refusal(2, 2, nullptr), HasSubstr("rank 10 of 16, local rank 2 on this machine, and 2 GPUs are to be "
                                                  "seen here: start as many ranks"));
    EXPECT_THAT(refusal(1, 1, nullptr), HasSubstr("1 GPU is to be seen here: "));
    EXPECT_THAT(refusal(2, 2, "4,5"), HasSubstr("(CUDA_VISIBLE_DEVICES is 4,5)"));
    EXPECT_THAT(refusal(2, 1, "4,5"), HasSubstr("1 GPU is"));  // one of the two is not there
    EXPECT_THAT(refusal(0, 0, "9"), HasSubstr("0 GPUs are to be seen here (CUDA_VISIBLE_DEVICES is 9)"));
}

// Called so by nobody else.
std::string uuid() { return fmt::format("GPU-test-{}", getpid()); }

std::string refused_lock(const std::string& of) {
    return error_of<CannotMeasure>([&] { const GpuLock lock(of, "cuda:0"); });
}

// In a process of its own, that this one did not start: its child does.
int in_a_stranger(const std::function<bool()>& holds) {
    const pid_t child = fork();
    if (child == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            _exit(holds() ? 0 : 1);
        }
        int status = 0;
        waitpid(grandchild, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST(GpuLock, IsHeldByOneProcessAlone) {
    const std::string gpu = uuid();
    const pid_t self = getpid();
    const GpuLock lock(gpu, "cuda:0");
    EXPECT_EQ(in_a_stranger([&] {
                  const std::string refusal = refused_lock(gpu);
                  return refusal.find(fmt::format("The GPU {} (cuda:0) is being measured by another qkprof, process "
                                                  "{}, and two at once",
                                                  gpu, self)) == 0;
              }),
              0);
    EXPECT_EQ(in_a_stranger([&] { return refused_lock(gpu + "-other") == "none"; }), 0);
}

TEST(GpuLock, ManyThatAskAreAllRefused) {
    const std::string gpu = uuid();
    const GpuLock lock(gpu, "cuda:0");
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(in_a_stranger([&] { return refused_lock(gpu).find(", process ") != std::string::npos; }), 0);
    }
}

TEST(GpuLock, IsLentToTheProcessesThatItsHolderStarts) {
    const std::string gpu = uuid();
    const GpuLock lock(gpu, "cuda:0");
    const pid_t child = fork();
    if (child == 0) {
        _exit(refused_lock(gpu) == "none" ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(GpuLock, EndsWithItsHolderHoweverThatEnds) {
    const std::string gpu = uuid();
    { const GpuLock lock(gpu, "cuda:0"); }
    EXPECT_EQ(refused_lock(gpu), "none");
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t holder = fork();
    if (holder == 0) {
        const GpuLock lock(gpu, "cuda:0");
        (void)!write(pipe_ends[1], "x", 1);
        pause();
        _exit(0);
    }
    char ready = 0;
    ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
    EXPECT_NE(refused_lock(gpu), "none");
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
    EXPECT_EQ(refused_lock(gpu), "none");
}

}  // namespace
}  // namespace qkprof
