// A small exec profile with something in each field.
#pragma once

#include "exec/exec_profile.h"

namespace qkprof::exec {

inline ExecProfile sample_exec_profile() {
    const Spread spread = {.total = 3e-5,
                           .least = 1e-6,
                           .p10 = 1.5e-6,
                           .median = 2.25e-6,
                           .p90 = 4e-6,
                           .p99 = 4.5e-6,
                           .most = 5.000000001e-6};
    KernelRow kernel = {.name = "norm<float>(float const*, \"int\")",
                        .count = 12,
                        .without_time = 1,
                        .seconds = spread,
                        .forms = {{.device = 0,
                                   .stream = 7,
                                   .graph = true,
                                   .grid = {128, 2, 1},
                                   .block = {256, 1, 1},
                                   .registers = 40,
                                   .static_shared = 1024,
                                   .dynamic_shared = 49152,
                                   .count = 8},
                                  {.device = 1, .stream = 13, .grid = {1, 1, 1}, .block = {32, 1, 1}, .count = 3}},
                        .in_other_forms = 1};
    KernelRow timeless = {.name = "timeless", .count = 2, .without_time = 2, .seconds = {}, .forms = {}};
    ExecProfile profile;
    profile.date = "2026-11-30T09:00:00+00:00";
    profile.host_name = "node";
    profile.version = "0.1.0";
    profile.commit = "abc";
    profile.command = {"python", "train.py", "--name", "two words"};
    profile.exit_code = 3;
    profile.wall_seconds = 12.5;
    profile.complete = true;
    profile.work = {
        .launches = 14,
        .transfers = 2,
        .submissions = 9,
        .busy_seconds = 2.5e-5,
        .span_seconds = 1e-3,
        .kernels = {kernel, timeless},
        .copies = {{.kind = TransferKind::host_to_device, .count = 1, .bytes = 4096, .seconds = spread},
                   {.kind = TransferKind::fill, .count = 1, .bytes = 64, .without_time = 1, .seconds = {}}}};
    profile.processes = {{.process = 100,
                          .parent = 1,
                          .command = "python train.py",
                          .cupti = 26,
                          .devices = {"", "NVIDIA H200"},
                          .failure = "CUPTI is too old",
                          .remarks = {"A remark."},
                          .all_sent = true,
                          .dropped = 1,
                          .without_submission = 2,
                          .without_record = 3,
                          .launches = 14},
                         {.process = 101, .parent = 100, .command = "sh", .devices = {}, .failure = {}, .remarks = {}}};
    RangeRow outer;
    outer.domain = "model";
    outer.name = "layer";
    outer.calls = 3;
    outer.open = 1;
    outer.work = profile.work;
    outer.first_calls = {{.launches = 4,
                          .transfers = 1,
                          .submissions = 2,
                          .busy_seconds = 1e-5,
                          .span_seconds = 2e-5,
                          .host_seconds = 1e-4},
                         {.launches = 5, .submissions = 2, .busy_seconds = 1e-5, .host_seconds = 1e-4},
                         {.launches = 5, .submissions = 3, .host_seconds = {}}};
    outer.least_launches = 4;
    outer.most_launches = 5;
    outer.without_record = 3;
    outer.late_records = 1;
    RangeRow inner;
    inner.name = "norm";
    inner.inside = {"model@layer"};
    inner.calls = 200;
    inner.work.launches = 600;
    inner.work.kernels = {{.name = "norm", .count = 600, .seconds = spread, .forms = {}}};
    inner.least_launches = inner.most_launches = 3;
    for (int i = 0; i < 200; ++i) {
        inner.first_calls.push_back({.launches = 3, .submissions = 3, .busy_seconds = 1e-6, .host_seconds = 2e-5});
    }
    profile.ranges = {outer, inner};
    profile.remarks = {"A remark on all."};
    return profile;
}

}  // namespace qkprof::exec
