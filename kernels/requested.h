// What warps request from global memory, counted for the declarations: each warp-wide access is coalesced on its own
// into sectors of 32 bytes.
//
// A kernel is described by its instructions: which elements of a row (a head vector, a gamma, a row of a table) one
// access asks for; and by how many consecutive rows a warp's access serves.
#pragma once

#include "problem.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace qkprof {

inline constexpr std::int64_t bytes_of_sector = 32;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// Of the sectors that `bytes` contiguous bytes touch, which begin so many bytes after a sector's beginning.
constexpr std::int64_t sector_bytes(std::int64_t begin, std::int64_t bytes) {
    return (divide_up(begin + bytes, bytes_of_sector) - begin / bytes_of_sector) * bytes_of_sector;
}

struct Elements {
    std::int64_t first;
    std::int64_t count;
};
using Instruction = std::vector<Elements>;

// Bytes that the instructions request of one row that begins so many bytes after a sector's beginning.
std::int64_t requested_bytes(std::span<const Instruction> instructions, std::int64_t begin, std::int64_t element_bytes);

// How many head vectors of q and k begin 0, 1, ... 31 bytes after a sector's beginning.
std::array<std::int64_t, bytes_of_sector> rows_by_begin(const Problem& problem);

// One pass over all head vectors, where no access asks two head vectors for the same sector.
std::int64_t tensor_bytes_requested(const Problem& problem, std::span<const Instruction> instructions);

// Warp-wide accesses that serve so many rows, from `first` on, and `times - 1` more that are alike: they serve as many
// tokens' query and key heads and ask for as many sectors, of the tables and of the ids too.
struct Access {
    std::int64_t first = 0;
    std::int64_t rows = 0;
    std::int64_t times = 0;
};

// Calls f for all accesses of a kernel whose warps serve `rows_per_access` consecutive rows each, with those that are
// alike taken together: few calls, but where a list says the positions, or where neighbouring rows of a table share
// sectors and positions are out of order.
void for_each_access(const Problem& problem, std::int64_t rows_per_access, const std::function<void(const Access&)>& f);

// How many gammas the access needs: that of q, that of k or both.
std::int64_t gammas_of(const Problem& problem, const Access& access);
// Whether all rows of the access are of one token.
bool of_one_token(const Problem& problem, const Access& access);

// The rows of both tables, and the ids that say which.
class TableRequests {
  public:
    // By the instructions that each of the two tables is asked with.
    TableRequests(const Problem& problem, std::vector<Instruction> instructions);
    // Of one access: lanes at the same position ask for the same sectors, which are requested once.
    std::int64_t bytes(const Access& access);
    // Of all accesses.
    std::int64_t bytes(std::int64_t rows_per_access);
    // Of both tables' rows of one position.
    std::int64_t position_bytes(std::int64_t position);

  private:
    std::int64_t bytes_of(std::span<const std::int64_t> positions) const;

    const Problem& problem_;
    std::vector<Instruction> instructions_;
    bool whole_sectors_;                                    // every row of the tables begins and ends with a sector
    std::array<std::int64_t, bytes_of_sector> known_ = {};  // of one position, by where its row begins; 0: not yet
};

// Gamma, for all accesses.
std::int64_t gamma_bytes_requested(const Problem& problem, std::span<const Instruction> instructions,
                                   std::int64_t rows_per_access);

// The sum over all accesses of the distinct positions of each.
std::int64_t positions_touched(const Problem& problem, std::int64_t rows_per_access);

}  // namespace qkprof
