// One QK-Norm+RoPE problem: its extents, its storage type, and the bytes that follow from them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qkprof {

enum class DataType : std::uint8_t { f32, bf16, f16 };

constexpr int bytes_of(DataType dtype) { return dtype == DataType::f32 ? 4 : 2; }

constexpr const char* name_of(DataType dtype) {
    return dtype == DataType::f32 ? "f32" : dtype == DataType::bf16 ? "bf16" : "f16";
}

// q[batch, sequence, heads, head_dim] row-major in `dtype`; gamma[head_dim], cos and sin[sequence, head_dim/2] in f32.
// A "row" is one head vector q[b, s, h, :]; row r belongs to position (r / heads) % sequence.
struct Problem {
    std::int64_t batch = 1;
    std::int64_t sequence = 1;
    std::int64_t heads = 1;
    std::int64_t head_dim = 128;
    DataType dtype = DataType::f32;
    float eps = 1e-6F;
    double rotary_base = 10000.0;
    std::uint64_t seed = 1;
    // q and out begin this many elements after a 256-byte boundary: 0 is what an allocator gives.
    std::int64_t offset = 0;

    constexpr std::int64_t rows() const { return batch * sequence * heads; }
    constexpr std::int64_t elements() const { return rows() * head_dim; }
    constexpr std::int64_t element_bytes() const { return bytes_of(dtype); }
    constexpr std::int64_t tensor_bytes() const { return elements() * element_bytes(); }
    constexpr std::int64_t gamma_bytes() const { return head_dim * 4; }
    // Bytes of one table; there are two, cos and sin.
    constexpr std::int64_t table_bytes() const { return sequence * (head_dim / 2) * 4; }

    // The floor of the operation: q read once, out written once, gamma and both tables read once. An empty problem
    // moves nothing.
    constexpr std::int64_t compulsory_bytes() const {
        return rows() == 0 ? 0 : 2 * tensor_bytes() + gamma_bytes() + 2 * table_bytes();
    }

    // What stays resident when the call is repeated on the same buffers.
    constexpr std::int64_t working_set_bytes() const { return compulsory_bytes(); }

    // The largest power of two, at most 256, that divides the byte address of q and of out.
    constexpr std::int64_t alignment() const {
        std::int64_t bytes = 256;
        while ((offset * element_bytes()) % bytes != 0) {
            bytes /= 2;
        }
        return bytes;
    }

    friend bool operator==(const Problem&, const Problem&) = default;
};

// Rows are counted in 32 bits inside the kernels (a 64-bit division a row costs more than the row); offsets of
// elements are 64 bits wide everywhere.
inline constexpr std::int64_t max_rows = 2147483647;

}  // namespace qkprof
