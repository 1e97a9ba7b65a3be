// Any text as the body of a request to /v1/ or as a job's file. What is read is
// written again as it was; a job that was begun is read back from its file.
//
// The first byte of an input says what the others are.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "jobs/job_json.h"
#include "nlohmann/json.hpp"

namespace ers::proxy {
namespace {

using fuzz::Require;

void CheckRefusal(const Status& status) {
  Require(!status.message().empty(), "a refusal says why");
  // It is sent as JSON, whatever the client wrote.
  const nlohmann::ordered_json reply = {{"error", status.message()}};
  Require(nlohmann::json::accept(JsonText(reply)), "a refusal can be sent");
}

void CheckJournal(std::string_view text) {
  const Result<JournalEntry> read = ParseJournalText(text);
  if (!read) return CheckRefusal(read.error());
  const std::string written = JournalText(*read);
  const Result<JournalEntry> again = ParseJournalText(written);
  Require(again.has_value(), "a job's file is read again");
  Require(JournalText(*again) == written,
          "a job's file is written again as it was read");
  Require(again->job.id == read->job.id &&
              again->under_way == read->under_way &&
              again->job.spec.select.prefix == read->job.spec.select.prefix,
          "a job's file is read again as it was");
}

void CheckSpec(std::string_view text) {
  const Result<JobSpec> spec = ParseJobSpec(text);
  if (!spec) return CheckRefusal(spec.error());
  Require(spec->parallel >= 1 && spec->parallel <= kMaxParallel,
          "a job has its limits");
  Require(!spec->deletes || !spec->select.prefix.empty(),
          "a job that deletes has a prefix");
  JournalEntry entry;
  entry.job.id = 1;
  entry.job.spec = *spec;
  const Result<JournalEntry> kept = ParseJournalText(JournalText(entry));
  Require(kept.has_value(), "what a client asks for can be kept");
  const JobSpec& again = kept->job.spec;
  const Selection& asked = spec->select;
  Require(again.to == spec->to && again.parallel == spec->parallel &&
              again.bytes_per_second == spec->bytes_per_second &&
              again.deletes == spec->deletes &&
              again.objects_per_second == spec->objects_per_second &&
              again.select.prefix == asked.prefix &&
              again.select.pattern == asked.pattern &&
              again.select.min_bytes == asked.min_bytes &&
              again.select.max_bytes == asked.max_bytes &&
              again.select.idle_seconds == asked.idle_seconds &&
              again.select.age_seconds == asked.age_seconds,
          "what a client asks for is kept");
}

void CheckTransition(std::string_view text) {
  const Result<OneTransition> one = ParseOneTransition(text);
  if (!one) return CheckRefusal(one.error());
  Require(!one->key.empty() && one->key.size() <= kMaxKeyBytes,
          "a key has its limits");
  Require(one->target.width.has_value() != one->target.scheme.has_value(),
          "there is one target");
}

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using Check = void (*)(std::string_view);
  constexpr std::array<Check, 3> kChecks = {ers::proxy::CheckSpec,
                                            ers::proxy::CheckTransition,
                                            ers::proxy::CheckJournal};
  if (size == 0) return 0;
  kChecks[data[0] % kChecks.size()](
      {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
