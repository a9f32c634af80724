// The promises of HLO that was compiled for an H200, against what XLA made of each instruction: its thunks, dumped
// beside the text.
#include "error.h"
#include "hlo_data.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace qkprof::hlo {
namespace {

// By kind, of one instruction: "kCustomKernel" ...
using Thunks = std::map<std::string, std::uint64_t>;

std::string quoted_in(const std::string& line) {
    const std::size_t start = line.find('"') + 1;
    return line.substr(start, line.find('"', start) - start);
}

std::map<std::string, Thunks> thunks_of(const std::string& text) {
    std::map<std::string, Thunks> all;
    std::istringstream lines(text);
    std::string instruction;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("thunk_metadata {") != std::string::npos) {
            instruction.clear();
        } else if (line.find("profile_annotation:") != std::string::npos) {
            instruction = quoted_in(line);
        } else if (line.find("thunk_kind:") != std::string::npos) {
            ++all[instruction][quoted_in(line)];
        }
    }
    return all;
}

std::uint64_t count(const Thunks& thunks, const std::set<std::string>& kinds) {
    std::uint64_t sum = 0;
    for (const auto& [kind, number] : thunks) {
        sum += kinds.contains(kind) ? number : 0;
    }
    return sum;
}

// What a module's thunks and promise say of one another; the number of instructions that were compared.
std::size_t compare(const Promised& promised, const std::map<std::string, Thunks>& thunks) {
    std::set<std::string> seen;
    std::size_t compared = 0;
    for (const Row& row : promised.promise.rows) {
        const std::string& name = row.instruction->name;
        SCOPED_TRACE(name);
        const auto found = thunks.find(name);
        const Thunks made = found == thunks.end() ? Thunks() : found->second;
        seen.insert(name);
        const std::uint64_t all = count(made, {"kCustomKernel", "kKernel"});
        const std::uint64_t copies = count(made, {"kCopy", "kDeviceToDeviceCopy"});
        std::uint64_t known = all + copies;
        switch (row.verdict.kind) {
            case Class::fusion:
            case Class::unfused:
            case Class::transfer:
                EXPECT_TRUE(row.verdict.kernels.holds(static_cast<double>(all))) << all;
                EXPECT_TRUE(row.verdict.transfers.holds(static_cast<double>(copies))) << copies;
                break;
            case Class::library:
                known += count(made, {"kCublasLtMatmul", "kGemm", "kConvolution", "kFft", "kCustomCall"});
                EXPECT_EQ(known, 1U);
                break;
            case Class::collective:
                known += count(made, {"kAllGather", "kAllReduce", "kAllToAll", "kCollectivePermute", "kReduceScatter"});
                EXPECT_EQ(known, 1U);
                break;
            case Class::custom_call:
                ADD_FAILURE() << "none of these modules has one";
                break;
            case Class::control:
                known += count(made, {"kWhile", "kConditional"});
                EXPECT_EQ(known, 1U);
                break;
            case Class::nothing:
                break;
        }
        std::uint64_t every = 0;
        for (const auto& [kind, number] : made) {
            every += number;
        }
        EXPECT_EQ(known, every) << "some thunk is of a kind that was not counted";
        compared += every > 0 ? 1 : 0;
    }
    for (const auto& [name, made] : thunks) {
        const bool whole = name.empty() || name.starts_with("command_buffer");  // XLA's own, of several instructions
        EXPECT_TRUE(whole || seen.contains(name)) << name << " is no instruction of the promise";
    }
    return compared;
}

TEST(HloThunks, EveryPromiseHolds) {
    std::size_t modules = 0;
    std::size_t instructions = 0;
    for (const auto& entry : std::filesystem::directory_iterator(data_path("h200"))) {
        const std::string name = entry.path().filename().string();
        constexpr std::string_view suffix = ".thunk_metadata.txt";
        if (!name.ends_with(suffix)) {
            continue;
        }
        const std::string module = name.substr(0, name.size() - suffix.size());
        SCOPED_TRACE(module);
        const Promised promised(data_text("h200/" + module + ".hlo"));
        EXPECT_EQ(promised.promise.platform, Platform::gpu);
        instructions += compare(promised, thunks_of(data_text("h200/" + name)));
        ++modules;
    }
    EXPECT_EQ(modules, 19U);
    EXPECT_GE(instructions, 60U);
}

TEST(HloThunks, AFusionMoreOrLessWouldBeSeen) {
    const Promised promised(data_text("h200/gather.hlo"));
    std::map<std::string, Thunks> thunks = thunks_of(data_text("h200/gather.thunk_metadata.txt"));
    EXPECT_EQ(thunks.at("copy").at("kCopy"), 1U);
    EXPECT_EQ(thunks.at("loop_gather_fusion").at("kCustomKernel"), 1U);
    EXPECT_FALSE(promised.row("loop_gather_fusion").verdict.kernels.holds(2));
    EXPECT_FALSE(promised.row("loop_gather_fusion").verdict.kernels.holds(0));
    EXPECT_FALSE(promised.row("copy").verdict.kernels.holds(1));
}

}  // namespace
}  // namespace qkprof::hlo
