#include "jobs/job_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/json_fields.h"
#include "shared/base64.h"

namespace ers::proxy {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kMaxPattern = 4096;
constexpr std::uint64_t kMaxSeconds = std::uint64_t{100} * 365 * 86400;
// Whole numbers up to here are the same for every reader of JSON.
constexpr std::uint64_t kMaxWhole = std::uint64_t{1} << 53;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

void TakeTarget(JsonFields& fields, std::string& to, TransitionTarget& target) {
  if (!fields.Has("to")) {
    fields.Take("to");
    fields.Refuse(
        "to",
        "missing: narrow, wide, the data blocks of a stripe, one of these or "
        "same with the parity blocks behind a comma, or a scheme");
    return;
  }
  fields.Text("to", to);
  const Result<TransitionTarget> parsed = ParseTransitionTarget(to);
  Status status = parsed ? Status() : parsed.error();
  if (status.ok() && parsed->scheme) {
    status = ValidateStoredScheme(*parsed->scheme);
  }
  if (!status.ok()) {
    fields.Refuse("to", status.message());
    return;
  }
  target = *parsed;
}

void TakeSeconds(JsonFields& fields, std::string_view name,
                 std::int64_t& into) {
  std::uint64_t seconds = 0;
  fields.Number(name, 0, kMaxSeconds, seconds);
  into = static_cast<std::int64_t>(seconds);
}

void TakePattern(JsonFields& fields, Selection& select) {
  fields.Text("pattern", select.pattern);
  if (select.pattern.size() > kMaxPattern) {
    fields.Refuse("pattern",
                  fmt::format("it has {} bytes: at most {} are allowed",
                              select.pattern.size(), kMaxPattern));
    return;
  }
  Result<KeyPattern> compiled = KeyPattern::Regex(select.pattern);
  if (!compiled) {
    fields.Refuse("pattern", compiled.error().message());
    return;
  }
  select.compiled = std::move(*compiled);
}

Status TakeSelection(const json& value, Selection& select) {
  JsonFields fields(value, "select.");
  fields.Bytes("prefix", select.prefix);
  if (select.prefix.size() > kMaxKeyBytes) {
    fields.Refuse("prefix",
                  fmt::format("it has {} bytes: no key has more than {}",
                              select.prefix.size(), kMaxKeyBytes));
  }
  TakePattern(fields, select);
  fields.Number("min_bytes", 0, kMaxValueBytes, select.min_bytes);
  fields.Number("max_bytes", 0, kMaxValueBytes, select.max_bytes);
  TakeSeconds(fields, "idle_seconds", select.idle_seconds);
  TakeSeconds(fields, "age_seconds", select.age_seconds);
  if (select.min_bytes > select.max_bytes) {
    fields.Refuse("min_bytes", fmt::format("{} is over max_bytes {}",
                                           select.min_bytes, select.max_bytes));
  }
  return fields.Finish();
}

// Of a job that deletes: a mistake must not take everything.
void TakeDelete(JsonFields& fields, JobSpec& spec) {
  fields.Text("to", spec.to);
  fields.Number("objects_per_second", 0, kMaxWhole, spec.objects_per_second);
  if (spec.select.prefix.empty()) {
    fields.Refuse("select",
                  "prefix is missing: which keys are to be deleted? "
                  "(flush_all takes every one)");
  }
  if (spec.select.idle_seconds > 0 || spec.select.age_seconds > 0) {
    fields.Refuse("select",
                  "idle_seconds and age_seconds are not for a job that "
                  "deletes: an object may be used by the time of its turn");
  }
}

void TakeSpec(JsonFields& fields, const json& value, JobSpec& spec) {
  spec.deletes = fields.Has("to") && value["to"] == kDeleteTarget;
  spec.packs = fields.Has("to") && value["to"] == kPackTarget;
  if (spec.packs) fields.Text("to", spec.to);
  if (!spec.deletes && !spec.packs) TakeTarget(fields, spec.to, spec.target);
  if (const json* select = fields.Take("select"); select != nullptr) {
    fields.Refuse(TakeSelection(*select, spec.select));
  }
  if (spec.deletes) TakeDelete(fields, spec);
  auto parallel = static_cast<std::uint64_t>(spec.parallel);
  fields.Number("parallel", 1, kMaxParallel, parallel);
  spec.parallel = static_cast<int>(parallel);
  fields.Number("bytes_per_second", 0, kMaxWhole, spec.bytes_per_second);
}

Status TakeCounts(const json& value, JobCounts& counts) {
  JsonFields fields(value, "objects.");
  fields.Take("selected");  // the sum of the others
  fields.Number("changed", 0, kMaxWhole, counts.changed);
  fields.Number("already", 0, kMaxWhole, counts.already);
  fields.Number("gone", 0, kMaxWhole, counts.gone);
  fields.Number("failed", 0, kMaxWhole, counts.failed);
  fields.Number("left", 0, kMaxWhole, counts.left);
  fields.Number("kept", 0, kMaxWhole, counts.kept);
  return fields.Finish();
}

void TakeTime(JsonFields& fields, std::string_view name, std::int64_t& into) {
  std::uint64_t time = 0;
  fields.Number(name, 0, kMaxWhole, time);
  into = static_cast<std::int64_t>(time);
}

std::uint64_t IdOf(const std::string& text) {
  std::uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, id);
  return parsed.ptr == end && parsed.ec == std::errc() ? id : 0;
}

// A job as JobJson gives it.
Status TakeJob(const json& value, Job& job) {
  JsonFields fields(value, "job.");
  TakeSpec(fields, value, job.spec);
  std::string id;
  fields.Text("id", id);
  job.id = IdOf(id);
  if (job.id == 0) fields.Refuse("id", "must be a number, as text");
  std::string state;
  fields.Text("state", state);
  const std::optional<JobState> known = ParseJobState(state);
  if (!known) fields.Refuse("state", "no such state");
  job.state = known.value_or(JobState::kFailed);
  TakeTime(fields, "created", job.created);
  if (fields.Has("ended") && value["ended"].is_null()) {
    fields.Take("ended");
  } else {
    TakeTime(fields, "ended", job.ended);
  }
  if (const json* counts = fields.Take("objects"); counts != nullptr) {
    fields.Refuse(TakeCounts(*counts, job.counts));
  } else {
    fields.Refuse("objects", "missing");
  }
  fields.Number("bytes_read", 0, kMaxWhole, job.bytes_read);
  fields.Number("bytes_written", 0, kMaxWhole, job.bytes_written);
  fields.Number("bytes_left", 0, kMaxWhole, job.bytes_left);
  fields.Real("active_seconds", job.active_seconds);
  fields.Take("seconds_left");
  fields.Text("last_error", job.last_error);
  return fields.Finish();
}

void TakeKeys(JsonFields& fields, std::vector<std::string>& keys) {
  const json* list = fields.Take("under_way");
  if (list == nullptr) return;
  if (!list->is_array()) return fields.Refuse("under_way", "must be a list");
  for (const json& encoded : *list) {
    std::string& key = keys.emplace_back();
    if (!encoded.is_string() ||
        !DecodeBase64(encoded.get<std::string>(), key)) {
      return fields.Refuse("under_way", "must be keys in base64");
    }
  }
}

ordered_json SelectionJson(const Selection& select) {
  ordered_json root = ordered_json::object();
  if (!select.prefix.empty()) SetBytes(root, "prefix", select.prefix);
  if (!select.pattern.empty()) root["pattern"] = select.pattern;
  if (select.min_bytes > 0) root["min_bytes"] = select.min_bytes;
  if (select.max_bytes < kMaxValueBytes) root["max_bytes"] = select.max_bytes;
  if (select.idle_seconds > 0) root["idle_seconds"] = select.idle_seconds;
  if (select.age_seconds > 0) root["age_seconds"] = select.age_seconds;
  return root;
}

// To milliseconds: more digits mean nothing.
double Rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

}  // namespace

Result<JobSpec> ParseJobSpec(std::string_view text) {
  const Result<json> value = ParseJson(text);
  if (!value) return Fail(value.error());
  JsonFields fields(*value, "");
  JobSpec spec;
  TakeSpec(fields, *value, spec);
  Status status = fields.Finish();
  if (!status.ok()) return Fail(std::move(status));
  return spec;
}

Result<OneTransition> ParseOneTransition(std::string_view text) {
  const Result<json> value = ParseJson(text);
  if (!value) return Fail(value.error());
  JsonFields fields(*value, "");
  OneTransition one;
  fields.Bytes("key", one.key);
  if (!fields.Has("key") && !fields.Has("key_base64")) {
    fields.Refuse("key", "missing: which object?");
  }
  if (one.key.empty() || one.key.size() > kMaxKeyBytes) {
    fields.Refuse("key", fmt::format("it has {} bytes: give it 1 to {}",
                                     one.key.size(), kMaxKeyBytes));
  }
  TakeTarget(fields, one.to, one.target);
  Status status = fields.Finish();
  if (!status.ok()) return Fail(std::move(status));
  return one;
}

ordered_json JobJson(const Job& job) {
  ordered_json root;
  root["id"] = fmt::format("{}", job.id);
  root["state"] = JobStateName(job.state);
  root["to"] = job.spec.to;
  root["select"] = SelectionJson(job.spec.select);
  root["parallel"] = job.spec.parallel;
  root["bytes_per_second"] = job.spec.bytes_per_second;
  if (job.spec.deletes) {
    root["objects_per_second"] = job.spec.objects_per_second;
  }
  root["created"] = job.created;
  root["ended"] = job.ended != 0 ? ordered_json(job.ended) : ordered_json();
  root["objects"] = {
      {"selected", job.counts.selected()}, {"changed", job.counts.changed},
      {"already", job.counts.already},     {"gone", job.counts.gone},
      {"failed", job.counts.failed},       {"left", job.counts.left}};
  if (job.spec.packs) root["objects"]["kept"] = job.counts.kept;
  root["bytes_read"] = job.bytes_read;
  root["bytes_written"] = job.bytes_written;
  root["bytes_left"] = job.bytes_left;
  root["active_seconds"] = Rounded(job.active_seconds);
  root["seconds_left"] = job.seconds_left
                             ? ordered_json(Rounded(*job.seconds_left))
                             : ordered_json();
  root["last_error"] = job.last_error;
  return root;
}

std::string JsonText(const ordered_json& root) {
  return root.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string JournalText(const JournalEntry& entry) {
  ordered_json root;
  root["format"] = kFormat;
  root["job"] = JobJson(entry.job);
  root["listed"] = entry.listed;
  root["saved_us"] = entry.saved_us;
  root["nonce"] = entry.nonce;
  root["under_way"] = ordered_json::array();
  for (const std::string& key : entry.under_way) {
    std::string encoded;
    AppendBase64(key, encoded);
    root["under_way"].push_back(std::move(encoded));
  }
  return JsonText(root);
}

Result<JournalEntry> ParseJournalText(std::string_view text) {
  const Result<json> value = ParseJson(text);
  if (!value) return Fail(StatusCode::kInvalidArgument, "it is no JSON");
  JsonFields fields(*value, "");
  std::uint64_t format = 0;
  fields.Number("format", 0, kAny, format);
  if (format > kFormat) {
    return Fail(StatusCode::kUnsupportedFormat,
                fmt::format("its format {} is of a newer version", format));
  }
  if (format != kFormat) fields.Refuse("format", "missing");
  JournalEntry entry;
  if (const json* job = fields.Take("job"); job != nullptr) {
    fields.Refuse(TakeJob(*job, entry.job));
  } else {
    fields.Refuse("job", "missing");
  }
  fields.Flag("listed", entry.listed);
  TakeTime(fields, "saved_us", entry.saved_us);
  fields.Number("nonce", 0, kAny, entry.nonce);
  TakeKeys(fields, entry.under_way);
  Status status = fields.Finish();
  if (!status.ok()) return Fail(std::move(status));
  return entry;
}

}  // namespace ers::proxy
