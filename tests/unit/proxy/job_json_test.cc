// The JSON forms of jobs.
#include "jobs/job_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "jobs/garbage_collector.h"
#include "jobs/replacement.h"

namespace ers::proxy {
namespace {

std::string ErrorOf(std::string_view text) {
  const Result<JobSpec> spec = ParseJobSpec(text);
  return spec ? "" : spec.error().message();
}

JournalEntry Entry() {
  JournalEntry entry;
  Job& job = entry.job;
  job.id = 7;
  job.state = JobState::kPaused;
  job.spec = ParseJobSpec(R"({"to": "rs:3,1", "select": {"prefix": "a",
      "pattern": "a.*", "min_bytes": 1, "max_bytes": 9, "idle_seconds": 2,
      "age_seconds": 3}, "parallel": 5, "bytes_per_second": 6})")
                 .value();
  job.created = 1000;
  job.counts = {1, 2, 3, 4, 5};
  job.bytes_read = 10;
  job.bytes_written = 11;
  job.bytes_left = 12;
  job.active_seconds = 1.5;
  job.last_error = "what \xff it was";
  entry.listed = true;
  entry.saved_us = 1'234'567;
  entry.nonce = 0xffff'ffff'ffff'ffffU;
  entry.under_way = {"a", std::string("\0\xff b", 4)};
  return entry;
}

TEST_CASE("a job's fields are read, and have defaults") {
  const JobSpec spec = ParseJobSpec(R"({"to": "narrow"})").value();
  CHECK(spec.to == "narrow");
  CHECK(spec.target.width == Width::kNarrow);
  CHECK(spec.parallel == kDefaultParallel);
  CHECK(spec.bytes_per_second == 0);
  CHECK(spec.select.TakesKey("anything"));
  CHECK(spec.select.TakesLength(kMaxValueBytes));
  const Selection select = Entry().job.spec.select;
  CHECK(select.TakesKey("abc"));
  CHECK_FALSE(select.TakesKey("b"));
  CHECK(select.TakesLength(1));
  CHECK(select.TakesLength(9));
  CHECK_FALSE(select.TakesLength(0));
  CHECK_FALSE(select.TakesLength(10));
  CHECK(select.idle_seconds == 2);
  CHECK(select.age_seconds == 3);
}

TEST_CASE("a job that deletes has a prefix and a rate, and is kept") {
  const std::string text = R"({"to": "delete", "select": {"prefix": "a:"}, )"
                           R"("objects_per_second": 5})";
  const JobSpec spec = ParseJobSpec(text).value();
  CHECK(spec.deletes);
  CHECK(spec.objects_per_second == 5);
  CHECK_FALSE(ParseJobSpec(R"({"to": "wide"})").value().deletes);
  JournalEntry entry;
  entry.job.id = 1;
  entry.job.spec = spec;
  const JobSpec kept = ParseJournalText(JournalText(entry)).value().job.spec;
  CHECK(kept.deletes);
  CHECK(kept.objects_per_second == 5);
  CHECK(kept.select.prefix == "a:");

  CHECK_THAT(ErrorOf(R"({"to": "delete"})"),
             Catch::StartsWith("select: prefix is missing"));
  CHECK_THAT(ErrorOf(R"({"to": "delete", "select": {"pattern": "a.*"}})"),
             Catch::StartsWith("select: prefix is missing"));
  CHECK_THAT(ErrorOf(R"({"to": "delete", "select": {"prefix": "a", )"
                     R"("age_seconds": 1}})"),
             Catch::StartsWith("select: idle_seconds and age_seconds"));
  CHECK_THAT(ErrorOf(R"({"to": "wide", "objects_per_second": 1})"),
             Catch::StartsWith("objects_per_second: no such field"));
  // It is no target of a transition.
  CHECK_FALSE(ParseOneTransition(R"({"key": "k", "to": "delete"})"));
}

TEST_CASE("a job that packs is known by its target, and kept") {
  JournalEntry entry;
  entry.job.id = 1;
  entry.job.spec =
      ParseJobSpec(R"({"to": "pack", "select": {"idle_seconds": 9}})").value();
  CHECK(entry.job.spec.packs);
  entry.job.counts.changed = 3;
  entry.job.counts.kept = 4;
  const Job again = ParseJournalText(JournalText(entry)).value().job;
  CHECK(again.spec.packs);
  CHECK(again.spec.to == "pack");
  CHECK(again.spec.select.idle_seconds == 9);
  CHECK(again.counts.kept == 4);
  CHECK(again.counts.selected() == 7);
  CHECK_FALSE(JobJson(Entry().job)["objects"].contains("kept"));
  CHECK_FALSE(ParseJobSpec(R"({"to": "wide"})").value().packs);
  // It is no target of a transition.
  CHECK_FALSE(ParseOneTransition(R"({"key": "k", "to": "pack"})"));
}

TEST_CASE("what is wrong with a job is reported by the field's name") {
  CHECK(ErrorOf("").find("no JSON") != std::string::npos);
  CHECK(ErrorOf("\xff").find("no JSON") != std::string::npos);
  CHECK(ErrorOf("[]") == "this must be a JSON object");
  CHECK(ErrorOf("{}") ==
        "to: missing: narrow, wide, the data blocks of a stripe, one of these "
        "or same with the parity blocks behind a comma, or a scheme");
  CHECK(ErrorOf(R"({"to": "wide", "x": 1})") ==
        "x: no such field; there are to, select, parallel, bytes_per_second");
  CHECK(ErrorOf(R"({"to": "wide", "parallel": 1e3})") ==
        "parallel: must be a whole number from 1 to 64");
  CHECK(ErrorOf(R"({"to": "wide", "select": {"idle": 1}})")
            .starts_with("select.idle: no such field; there are "));
  // The first fault is reported.
  CHECK(ErrorOf(R"({"to": 3, "parallel": 0})") == "to: must be text");
}

TEST_CASE("what is wrong with other requests names the field, too") {
  CHECK(ParseOneTransition(R"({"to": "wide"})").error().message() ==
        "key: missing: which object?");
  CHECK(ParseOneTransition(R"({"key": "k", "to": "x"})")
            .error()
            .message()
            .starts_with(
                "to: neither narrow nor wide nor a number of data blocks, nor "
                "one of these or same with the parity blocks behind a comma, "
                "and 'x' is no scheme"));
  CHECK(ParseGarbageRequest(R"({"x": 1})").error().message() ==
        "x: no such field; there are grace_s, objects_per_second, dry_run");
  CHECK(ParseReplacement("{}").error().message() ==
        "old: missing: the address of a server");
  CHECK(ParseReplacement(R"({"old": "a:1"})").error().message() ==
        "new: missing: the address of a server");
  CHECK(ParseReplacement(R"({"old": "a:1", "new": "b"})").error().message() ==
        "new: server \"b\": the port is missing, as in b:11211");
  CHECK(ParseReplacement(R"({"old": "a:1", "new": "b:1"})")->new_server ==
        "b:1");
}

TEST_CASE("a target may name a width and m at once") {
  const auto one = ParseOneTransition(R"({"key": "k", "to": "wide,2"})");
  CHECK(one->target.width == Width::kWide);
  CHECK(one->target.parity_blocks == 2);
  const JobSpec spec = ParseJobSpec(R"({"to": "same,1"})").value();
  CHECK(spec.target.parity_blocks == 1);
  CHECK(spec.to == "same,1");
  CHECK(ErrorOf(R"({"to": "wide,0"})").starts_with("to: 'wide,0': "));
}

TEST_CASE("one transition: a key as text or as base64") {
  CHECK(ParseOneTransition(R"({"key": "k", "to": "wide"})")->key == "k");
  CHECK(ParseOneTransition(R"({"key_base64": "/w==", "to": "wide"})")->key ==
        "\xff");
  CHECK_FALSE(ParseOneTransition(R"({"key_base64": "", "to": "wide"})"));
  CHECK_FALSE(ParseOneTransition(R"({"key": "", "to": "wide"})"));
}

TEST_CASE("a job as clients see it") {
  const Job job = Entry().job;
  nlohmann::ordered_json json = JobJson(job);
  CHECK(json["id"] == "7");
  CHECK(json["state"] == "paused");
  CHECK(json["ended"].is_null());
  CHECK(json["seconds_left"].is_null());
  CHECK(json["objects"]["selected"] == 15);
  Job binary;
  binary.spec.select.prefix = "\xff";
  binary.seconds_left = 1.23456;
  json = JobJson(binary);
  CHECK(json["select"]["prefix_base64"] == "/w==");
  CHECK(json["seconds_left"] == 1.235);
}

TEST_CASE("what the journal has is what was put there") {
  const JournalEntry entry = Entry();
  const std::string text = JournalText(entry);
  const JournalEntry back = ParseJournalText(text).value();
  CHECK(back.listed);
  CHECK(back.saved_us == entry.saved_us);
  CHECK(back.nonce == entry.nonce);
  CHECK(back.under_way == entry.under_way);
  CHECK(back.job.state == JobState::kPaused);
  CHECK(back.job.spec.target.scheme == entry.job.spec.target.scheme);
  CHECK(back.job.spec.select.TakesKey("ab"));
  CHECK_FALSE(back.job.spec.select.TakesKey("ba"));
  // The bytes that were no UTF-8 are replaced, once.
  CHECK(back.job.last_error == "what \xef\xbf\xbd it was");
  CHECK(JournalText(back) == text);
}

TEST_CASE("a journal entry that is cut or wrong anywhere is refused") {
  const std::string text = JournalText(Entry());
  for (std::size_t end = 0; end + 2 < text.size(); ++end) {
    CAPTURE(end);
    CHECK_FALSE(ParseJournalText(std::string_view(text).substr(0, end)));
  }
  for (const auto& [from, to] :
       {std::pair{"\"format\":1", "\"format\":0"},
        {"\"id\":\"7\"", "\"id\":\"x\""},
        {"\"id\":\"7\"", "\"id\":\"0\""},
        {"\"paused\"", "\"pausing\""},
        {"\"changed\":1", "\"changed\":-1"},
        {"\"objects\"", "\"things\""},
        {"\"listed\":true", "\"listed\":1"},
        {"\"YQ==\"", "5"},
        {"\"YQ==\"", "\"Y\""},
        {"\"active_seconds\":1.5", "\"active_seconds\":-1.5"}}) {
    std::string changed = text;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), std::string_view(from).size(), to);
    CAPTURE(from, to);
    CHECK(ParseJournalText(changed).error().code() ==
          StatusCode::kInvalidArgument);
  }
  CHECK(ParseJournalText(R"({"format": 2})").error().code() ==
        StatusCode::kUnsupportedFormat);
}

}  // namespace
}  // namespace ers::proxy
