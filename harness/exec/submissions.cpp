#include "submissions.h"

namespace qkprof::exec {

bool Submissions::waits(std::uint32_t correlation) const {
    const auto found = all_.find(correlation);
    return found != all_.end() && !found->second.recorded && found->second.submission.kind != SubmissionKind::graph;
}

void Submissions::add(const Submission& submission) {
    all_.insert_or_assign(submission.correlation, Entry{submission});
    if (submission.kind == SubmissionKind::graph) {
        graphs_.push_back(submission.correlation);
        if (graphs_.size() > limits_.graphs) {
            all_.erase(graphs_.front());
            graphs_.pop_front();
        }
        return;
    }
    waiting_.push_back(submission.correlation);
    while (!waiting_.empty() && !waits(waiting_.front())) {
        waiting_.pop_front();
    }
    if (waiting_.size() > limits_.waiting) {
        all_.erase(waiting_.front());
        waiting_.pop_front();
        ++forgotten_;
    }
}

const Submission* Submissions::recorded(std::uint32_t correlation) {
    const auto found = all_.find(correlation);
    if (found == all_.end()) {
        return nullptr;
    }
    Entry& entry = found->second;
    if (!entry.recorded && entry.submission.kind != SubmissionKind::graph) {
        recorded_.push_back(correlation);
        if (recorded_.size() > limits_.recorded) {
            if (recorded_.front() != correlation) {  // as it would be where a number comes twice
                all_.erase(recorded_.front());
            }
            recorded_.pop_front();
        }
    }
    entry.recorded = true;
    return &entry.submission;
}

std::optional<Submission> Submissions::cancel(std::uint32_t correlation) {
    const auto found = all_.find(correlation);
    if (found == all_.end() || found->second.recorded) {
        return {};
    }
    const Submission submission = found->second.submission;
    all_.erase(found);
    return submission;
}

void Submissions::each_without_record(const std::function<void(const Submission&)>& lost) const {
    for (const auto& [correlation, entry] : all_) {
        if (!entry.recorded && entry.submission.kind != SubmissionKind::graph) {
            lost(entry.submission);
        }
    }
}

}  // namespace qkprof::exec
