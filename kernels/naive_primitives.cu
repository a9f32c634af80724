// naive_primitives: one kernel for each primitive operation, as a framework runs the formula when nothing is fused.
//
// Hypothesis: every intermediate goes to memory and comes back, so that the time is that of the traffic (eight times
// the floor's bytes) when the data streams, and that of fourteen launches when it is small.
//
// The jaxpr of the operation has 20 equations. Its two slices and four broadcasts are views, which move nothing; the
// fourteen that are left are these kernels:
//    1 e = square(q)      5 j = rsqrt(i)       9 s = hi * sin      13 w = u + v
//    2 f = sum(e)         6 k = q * j         10 t = r - s         14 out = concatenate(t, w)
//    3 h = f / head_dim   7 m = k * gamma     11 u = hi * cos
//    4 i = h + eps        8 r = lo * cos      12 v = lo * sin
// where lo and hi are the halves of m. What has an element for each of q's, or for each of half of them, is stored in
// the storage type (an f16 square above 65504 overflows, as it does there), what has one for each row in f32. An
// intermediate's memory is used again once it has been read for the last time, as a caching allocator would.
//
// A warp takes a row, a lane one element at a time: any even head dim, any alignment.

#include "scalar_rows.h"

namespace qkprof::inline QK_BUILD {
namespace {

// Operands, by how they are broadcast. row(r) gives what one row of the result needs of it, by column.
template <class T>
struct Tensor {  // a row for each row of the result, `stride` elements apart
    const T* data;
    unsigned stride;

    struct Row {
        const T* data;
        QK_DEVICE float at(unsigned column) const { return to_float(load<Cache::read_only>(data + column)); }
    };
    QK_DEVICE Row row(unsigned r) const { return {data + static_cast<std::size_t>(r) * stride}; }
};

struct Scale {  // one number a row
    const float* data;

    struct Row {
        float value;
        QK_DEVICE float at(unsigned) const { return value; }
    };
    QK_DEVICE Row row(unsigned r) const { return {load<Cache::read_only>(data + r)}; }
};

struct Gamma {  // the same row for all
    const float* data;

    QK_DEVICE Gamma row(unsigned) const { return *this; }
    QK_DEVICE float at(unsigned column) const { return load<Cache::read_only>(data + column); }
};

struct Table {  // a row for each position
    const float* data;
    unsigned columns;
    unsigned heads;
    unsigned sequence;

    QK_DEVICE Gamma row(unsigned r) const { return {data + static_cast<std::size_t>(r / heads % sequence) * columns}; }
};

struct Square {
    QK_DEVICE float operator()(float x) const { return x * x; }
};
struct Multiply {
    QK_DEVICE float operator()(float x, float y) const { return x * y; }
};
struct Subtract {
    QK_DEVICE float operator()(float x, float y) const { return x - y; }
};
struct Add {
    QK_DEVICE float operator()(float x, float y) const { return x + y; }
};

template <class T, class Operation, class... Row>
QK_DEVICE void compute_row(T* to, unsigned columns, Operation operation, Row... operands) {
    for_each_column<Form::plain>(
        columns, [&](unsigned column) { store(to + column, from_float<T>(operation(operands.at(column)...))); });
}

// to[row, column] = operation(operands[row, column]...), for a dense result.
template <class T, class Operation, class... Operands>
QK_KERNEL void pointwise_kernel(T* to, unsigned rows, unsigned columns, Operands... operands) {
    const unsigned row = row_of_warp();
    if (row < rows) {
        compute_row(to + static_cast<std::size_t>(row) * columns, columns, Operation{}, operands.row(row)...);
    }
}

template <class T>
QK_KERNEL void sum_kernel(Tensor<T> from, float* to, unsigned rows, unsigned columns) {
    const unsigned row = row_of_warp();
    if (row >= rows) {
        return;  // the whole warp
    }
    const auto values = from.row(row);
    float sum = 0.0F;
    for_each_column<Form::plain>(columns, [&](unsigned column) { sum += values.at(column); });
    sum = sum_lanes<32>(sum);
    if (lane() == 0) {
        store(to + row, sum);
    }
}

template <class T>
QK_KERNEL void concatenate_kernel(Tensor<T> lower, Tensor<T> upper, T* out, unsigned rows, unsigned half) {
    const unsigned row = row_of_warp();
    if (row < rows) {
        T* to = out + static_cast<std::size_t>(row) * 2 * half;
        for_each_column<Form::plain>(half, [&](unsigned column) {
            store(to + column, load<Cache::read_only>(lower.row(row).data + column));
            store(to + half + column, load<Cache::read_only>(upper.row(row).data + column));
        });
    }
}

struct Divide {
    QK_DEVICE float operator()(float x, float y) const { return x / y; }
};
struct ReciprocalSquareRoot {
    QK_DEVICE float operator()(float x, float) const { return reciprocal_square_root(x); }
};

// One number a row, a row a thread; `constant` is the operation's second operand.
template <class Operation>
QK_KERNEL void row_numbers_kernel(const float* from, float* to, unsigned rows, float constant) {
    const unsigned row = block() * threads() + thread();
    if (row < rows) {
        store(to + row, Operation{}(load<Cache::read_only>(from + row), constant));
    }
}

// The scratch memory: two buffers of q's size and one of half of it (all in the storage type), then two of a number a
// row. The halves of the first two are buffers too.
struct Scratch {
    std::int64_t half;  // bytes, rounded up to 256
    std::int64_t numbers;

    explicit Scratch(const Problem& p)
        : half(divide_up(p.tensor_bytes() / 2, 256) * 256), numbers(divide_up(p.rows() * 4, 256) * 256) {}
    std::int64_t bytes() const { return 5 * half + 2 * numbers; }
};

// Launches the kernels of one call.
template <class T>
class Primitives {
  public:
    explicit Primitives(const Call& call) : call_(call), a_(arguments_of(call)), scratch_(call.request.problem) {}

    void run() const {
        const unsigned d = a_.head_dim;
        const unsigned half = d / 2;
        const Tensor<T> q = {static_cast<const T*>(a_.q), d};
        T* const first = buffer(0);
        T* const second = buffer(2);
        pointwise<Square>("square", first, d, q);
        sum("sum", first);
        row_numbers<Divide>("divide", numbers(0), numbers(1), static_cast<float>(d));
        row_numbers<Add>("add eps", numbers(1), numbers(0), a_.eps);
        row_numbers<ReciprocalSquareRoot>("rsqrt", numbers(0), numbers(1), 0.0F);
        pointwise<Multiply>("scale", first, d, q, Scale{numbers(1)});
        pointwise<Multiply>("gamma", second, d, Tensor<T>{first, d}, Gamma{static_cast<const float*>(a_.gamma_q)});

        const Tensor<T> lo = {second, d};
        const Tensor<T> hi = {second + half, d};
        const Table cosine = {static_cast<const float*>(a_.cos), half, a_.heads, a_.sequence};
        const Table sine = {static_cast<const float*>(a_.sin), half, a_.heads, a_.sequence};
        T* const left = buffer(0);
        T* const right = buffer(1);
        T* const lower = buffer(4);
        T* const upper = buffer(2);  // lo and hi are read before it is written
        pointwise<Multiply>("lo cos", left, half, lo, cosine);
        pointwise<Multiply>("hi sin", right, half, hi, sine);
        pointwise<Subtract>("subtract", lower, half, Tensor<T>{left, half}, Tensor<T>{right, half});
        pointwise<Multiply>("hi cos", left, half, hi, cosine);
        pointwise<Multiply>("lo sin", right, half, lo, sine);
        pointwise<Add>("add", upper, half, Tensor<T>{left, half}, Tensor<T>{right, half});
        launch(call_.stream, a_warp_a_row("concatenate"), concatenate_kernel<T>, Tensor<T>{lower, half},
               Tensor<T>{upper, half}, static_cast<T*>(a_.q_out), a_.rows, half);
    }

  private:
    T* buffer(int index) const {
        return reinterpret_cast<T*>(static_cast<std::byte*>(a_.scratch) + index * scratch_.half);
    }
    float* numbers(int index) const {
        return reinterpret_cast<float*>(static_cast<std::byte*>(a_.scratch) + 5 * scratch_.half +
                                        index * scratch_.numbers);
    }
    int threads() const { return call_.request.parameter("threads"); }
    LaunchConfig a_warp_a_row(const char* kernel) const {
        return {.kernel = kernel, .blocks = divide_up(a_.rows, threads() / 32), .threads = threads()};
    }

    template <class Operation, class... Operands>
    void pointwise(const char* kernel, T* to, unsigned columns, Operands... operands) const {
        launch(call_.stream, a_warp_a_row(kernel), pointwise_kernel<T, Operation, Operands...>, to, a_.rows, columns,
               operands...);
    }
    void sum(const char* kernel, const T* from) const {
        launch(call_.stream, a_warp_a_row(kernel), sum_kernel<T>, Tensor<T>{from, a_.head_dim}, numbers(0), a_.rows,
               a_.head_dim);
    }
    template <class Operation>
    void row_numbers(const char* kernel, const float* from, float* to, float constant) const {
        launch(call_.stream, {.kernel = kernel, .blocks = divide_up(a_.rows, threads()), .threads = threads()},
               row_numbers_kernel<Operation>, from, to, a_.rows, constant);
    }

    const Call& call_;
    Arguments a_;
    Scratch scratch_;
};

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const std::int64_t columns = p.head_dim / 2;
    const auto all = scalar_pass(0, p.head_dim);
    const auto lower = scalar_pass(0, columns);
    const auto upper = scalar_pass(columns, columns);
    Problem halves = p;  // an intermediate of half of q's size
    halves.head_dim = columns;
    const std::int64_t q = tensor_bytes_requested(p, all);
    const std::int64_t whole = dense_bytes_requested(p, all);  // an intermediate of q's size
    const std::int64_t half = dense_bytes_requested(halves, lower);
    const std::int64_t lo = dense_bytes_requested(p, lower);
    const std::int64_t hi = dense_bytes_requested(p, upper);
    const std::int64_t out = tensor_bytes_requested(p, lower) + tensor_bytes_requested(p, upper);
    const std::int64_t numbers = sector_bytes(0, p.rows() * 4);  // a thread a row
    const std::int64_t scales = p.rows() * bytes_of_sector;      // a warp a row
    return {.launches = p.rows() > 0 ? 14 : 0,
            .load_bytes = q + whole + 3 * numbers +                     // square, sum, divide, add, rsqrt
                          q + scales + whole + scalar_gamma_bytes(p) +  // scale, gamma
                          2 * (lo + hi) + 2 * scalar_table_bytes(p) +   // the four products
                          4 * half + 2 * half,                          // subtract, add, concatenate
            .store_bytes = whole + scales + 3 * numbers + 2 * whole + 6 * half + out,
            .shared_bytes = 0};
}

// Squares are kept in the storage type, as a chain of primitives keeps them: of 16 bits, they leave its range.
std::string refuse_values(const Problem& p) {
    const bool extreme = p.values == Values::largest || p.values == Values::smallest;
    return extreme && bytes_of(p.dtype) == 2 ? std::string("it keeps squares in ") + name_of(p.dtype) +
                                                   ", whose range those of the " + name_of(p.values) + " values leave"
                                             : std::string();
}

const Registration registration(
    this_backend, {.name = "naive_primitives",
                   .family = Family::naive,
                   .hypothesis = "a kernel a primitive: every intermediate goes to memory, fourteen launches a call",
                   .parameters = {{"threads", "threads a block", 256, {64, 128, 256, 512}}},
                   .features = {Feature::in_place},
                   .refuses =
                       [](const Request& request) {
                           return first_reason({refuse_odd_rotary(request.problem), refuse_values(request.problem)});
                       },
                   .declare = declare,
                   .scratch_bytes = [](const Request& request) { return Scratch(request.problem).bytes(); },
                   .persisting_bytes = {},
                   .run =
                       [](const Call& call) {
                           for_type(call.request.problem.dtype,
                                    [&](auto type) { Primitives<decltype(type)>(call).run(); });
                       }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
