#include "admin/api.h"

#include <fmt/format.h>
#include <strings.h>

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "jobs/job_json.h"
#include "jobs/json_fields.h"
#include "metrics/event_log.h"
#include "shared/garbage_json.h"
#include "shared/servers_json.h"

namespace ers::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTransition = "/v1/transition";
constexpr std::string_view kGarbage = "/v1/garbage";
constexpr std::string_view kReplace = "/v1/replace";
constexpr std::string_view kSuccessors = "/v1/successors";
constexpr std::string_view kServers = "/v1/servers";
constexpr std::string_view kJobs = "/v1/jobs";
constexpr std::string_view kJson = "application/json";

int CodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kInvalidArgument:
    case StatusCode::kTooLarge:
      return kBadRequest;
    case StatusCode::kAlreadyThere:
    case StatusCode::kConflict:
    case StatusCode::kNotManaged:
      return 409;
    case StatusCode::kUnavailable:
    case StatusCode::kOutcomeUnknown:
    case StatusCode::kNoMemory:
      return 503;
    case StatusCode::kOk:
    case StatusCode::kCorruption:
    case StatusCode::kUnsupportedFormat:
    case StatusCode::kIncompatible:
      break;
  }
  return 500;
}

HttpReply Error(const Status& status) {
  return HttpError(CodeOf(status), status.message(),
                   StatusCodeName(status.code()));
}

HttpReply Json(int code, const ordered_json& root) {
  HttpReply reply;
  reply.code = code;
  reply.body = JsonText(root);
  return reply;
}

HttpReply NotAllowed(std::string_view allowed) {
  HttpReply reply =
      HttpError(405, fmt::format("not with this method: use {}", allowed));
  reply.allow = allowed;
  return reply;
}

// What became of a request, and of which client it was.
void NoteAsked(EventKind kind, std::string_view about, std::string_view what,
               const Asker& sender) {
  EventLog::OfProcess().Add(
      kind, LogLevel::kInfo,
      fmt::format("{}, asked for over HTTP: {}", about, what), sender);
}

ordered_json TransitionJson(const std::string& key,
                            const TransitionInfo& info) {
  ordered_json root;
  SetBytes(root, "key", key);
  root["path"] = TransitionPathName(info.path);
  root["scheme"] = FormatScheme(info.object.scheme);
  root["width"] = WidthName(info.object.scheme, info.object.width);
  for (const auto& [name, count] : kBlockTrafficFields) {
    root[std::string(name)] = info.*count;
  }
  root["microseconds"] = info.microseconds;
  return root;
}

// Did a browser send it for another page than that of this port? A browser
// names the page's origin with all but GET and HEAD, and newer ones what that
// is to the port. A page whose name leads here by a trick of its DNS is of that
// name: without a token the gate refuses it, with one it has none.
bool IsOfOtherPage(const HttpRequest& request) {
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin") {
    return true;
  }
  if (request.origin.empty()) return false;
  constexpr std::string_view kBehindScheme = "://";
  const std::size_t scheme = request.origin.find(kBehindScheme);
  return scheme == std::string::npos ||
         strcasecmp(request.origin.c_str() + scheme + kBehindScheme.size(),
                    request.host.c_str()) != 0;
}

// A page of another site could make a browser send anything that has the type
// of a form; not this type, and not without its name.
std::optional<HttpReply> RefuseSender(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  if (IsOfOtherPage(request)) {
    return HttpError(403,
                     "pages of other sites may change nothing here: Origin "
                     "must be that of this port's own page");
  }
  const std::string_view type = std::string_view(request.content_type)
                                    .substr(0, request.content_type.find(';'));
  if (request.method == "POST" && type != kJson) {
    return HttpError(415, "send Content-Type: application/json");
  }
  return std::nullopt;
}

void Transition(Jobs& jobs, const HttpRequest& request, ApiAnswer answer) {
  if (request.method != "POST") return answer(NotAllowed("POST"));
  const Result<OneTransition> one = ParseOneTransition(request.body);
  if (!one) return answer(Error(one.error()));
  jobs.Transition(
      one->key, one->target,
      [key = one->key, sender = request.sender,
       answer = std::move(answer)](const Result<TransitionInfo>& info) {
        NoteAsked(EventKind::kJob, fmt::format("transition of '{}'", key),
                  info ? "done" : info.error().message(), sender);
        if (!info) return answer(Error(info.error()));
        answer(Json(200, TransitionJson(key, *info)));
      });
}

void CollectGarbage(Jobs& jobs, const HttpRequest& request, ApiAnswer answer) {
  if (request.method != "POST") return answer(NotAllowed("POST"));
  const Result<GarbageRequest> asked = ParseGarbageRequest(request.body);
  if (!asked) return answer(Error(asked.error()));
  jobs.CollectGarbage(
      *asked, [answer = std::move(answer), sender = request.sender,
               dry_run = asked->dry_run](const Result<GarbageReport>& report) {
        NoteAsked(EventKind::kGarbage, "garbage",
                  report ? fmt::format("{} of {} blocks {}", report->dropped,
                                       report->listed,
                                       dry_run ? "found, and left" : "dropped")
                         : report.error().message(),
                  sender);
        if (!report) return answer(Error(report.error()));
        answer(Json(200, GarbageJson(*report, dry_run)));
      });
}

void Replace(Jobs& jobs, const HttpRequest& request, ApiAnswer answer) {
  if (request.method != "POST") return answer(NotAllowed("POST"));
  const Result<Replacement> asked = ParseReplacement(request.body);
  if (!asked) return answer(Error(asked.error()));
  jobs.Replace(*asked, [answer = std::move(answer), sender = request.sender,
                        asked = *asked](const Status& status) {
    NoteAsked(
        EventKind::kServer,
        fmt::format("replacing {} by {}", asked.old_server, asked.new_server),
        status.ok() ? "done" : status.message(), sender);
    if (!status.ok()) return answer(Error(status));
    const ordered_json root = {{"old", asked.old_server},
                               {"new", asked.new_server}};
    answer(Json(200, root));
  });
}

// A server that is no server of the daemon's yet, and one whose place it is to
// have: from now on there are tunnels to it.
void NameSuccessor(Tunnels& tunnels, const HttpRequest& request,
                   ApiAnswer answer) {
  if (request.method != "POST") return answer(NotAllowed("POST"));
  const Result<Replacement> named = ParseReplacement(request.body);
  if (!named) return answer(Error(named.error()));
  tunnels.Admit(*named, [answer = std::move(answer), sender = request.sender,
                         named = *named](const Status& status) {
    NoteAsked(EventKind::kServer,
              fmt::format("tunnels to {}, as the successor of {}",
                          named.new_server, named.old_server),
              status.ok() ? "admitted" : status.message(), sender);
    if (!status.ok()) return answer(Error(status));
    const ordered_json root = {{"old", named.old_server},
                               {"new", named.new_server}};
    answer(Json(200, root));
  });
}

void Servers(Jobs& jobs, const HttpRequest& request, ApiAnswer answer) {
  if (request.method != "GET" && request.method != "HEAD") {
    return answer(NotAllowed("GET, HEAD"));
  }
  jobs.AskServers(
      [answer = std::move(answer)](const Result<ClusterInfo>& info) {
        if (!info) return answer(Error(info.error()));
        answer(Json(200, ServersJson(*info)));
      });
}

// Answers a command with the job.
Jobs::Callback AnswerJob(ApiAnswer answer, int code, std::string_view what,
                         const Asker& sender) {
  return [answer = std::move(answer), code, what = std::string(what),
          sender](const Result<Job>& job) {
    if (!job) return answer(Error(job.error()));
    NoteAsked(EventKind::kJob,
              fmt::format("job {}, to {}", job->id, job->spec.to), what,
              sender);
    answer(Json(code, JobJson(*job)));
  };
}

void AllJobs(Jobs& jobs, const HttpRequest& request, ApiAnswer answer) {
  if (request.method == "POST") {
    Result<JobSpec> spec = ParseJobSpec(request.body);
    if (!spec) return answer(Error(spec.error()));
    return jobs.Create(std::move(*spec), AnswerJob(std::move(answer), 201,
                                                   "start", request.sender));
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return answer(NotAllowed("GET, HEAD, POST"));
  }
  ordered_json root;
  root["jobs"] = ordered_json::array();
  for (const Job& job : jobs.List()) root["jobs"].push_back(JobJson(job));
  answer(Json(200, root));
}

void OneJob(Jobs& jobs, const HttpRequest& request, std::uint64_t id,
            ApiAnswer answer) {
  if (request.method == "DELETE") {
    return jobs.Forget(id, [answer = std::move(answer), id,
                            sender =
                                request.sender](const Result<Job>& forgotten) {
      if (!forgotten) return answer(Error(forgotten.error()));
      EventLog::OfProcess().Add(EventKind::kJob, LogLevel::kInfo,
                                fmt::format("job {} is forgotten", id), sender);
      answer(Json(200, ordered_json::object()));
    });
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return answer(NotAllowed("GET, HEAD, DELETE"));
  }
  const std::optional<Job> job = jobs.Find(id);
  if (!job)
    return answer(HttpError(404, fmt::format("there is no job {}", id)));
  answer(Json(200, JobJson(*job)));
}

void CommandJob(Jobs& jobs, const HttpRequest& request, std::uint64_t id,
                std::string_view command, ApiAnswer answer) {
  if (request.method != "POST") return answer(NotAllowed("POST"));
  if (!request.body.empty() && request.body != "{}") {
    return answer(HttpError(kBadRequest, "send no body, or {}"));
  }
  Jobs::Callback done =
      AnswerJob(std::move(answer), 200, command, request.sender);
  if (command == "pause") return jobs.Pause(id, std::move(done));
  if (command == "resume") return jobs.Resume(id, std::move(done));
  jobs.Cancel(id, std::move(done));
}

// "/v1/jobs/7" or "/v1/jobs/7/pause".
struct JobPath {
  std::uint64_t id = 0;
  std::string_view command;
};

std::optional<JobPath> ParseJobPath(std::string_view path) {
  if (!path.starts_with(kJobs)) return std::nullopt;
  path.remove_prefix(kJobs.size());
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  JobPath parsed;
  const char* end = path.data() + path.size();
  const auto number = std::from_chars(path.data(), end, parsed.id);
  if (number.ec != std::errc()) return std::nullopt;
  if (number.ptr == end) return parsed;
  path.remove_prefix(static_cast<std::size_t>(number.ptr - path.data()));
  for (const std::string_view command : {"pause", "resume", "cancel"}) {
    if (path.front() != '/' || path.substr(1) != command) continue;
    parsed.command = command;
    return parsed;
  }
  return std::nullopt;
}

}  // namespace

void ServeApi(Jobs& jobs, Tunnels& tunnels, const HttpRequest& request,
              ApiAnswer answer) {
  if (std::optional<HttpReply> refused = RefuseSender(request); refused) {
    return answer(std::move(*refused));
  }
  if (request.path == kTransition) {
    return Transition(jobs, request, std::move(answer));
  }
  if (request.path == kGarbage) {
    return CollectGarbage(jobs, request, std::move(answer));
  }
  if (request.path == kReplace) {
    return Replace(jobs, request, std::move(answer));
  }
  if (request.path == kSuccessors) {
    return NameSuccessor(tunnels, request, std::move(answer));
  }
  if (request.path == kServers) {
    return Servers(jobs, request, std::move(answer));
  }
  if (request.path == kJobs) return AllJobs(jobs, request, std::move(answer));
  const std::optional<JobPath> path = ParseJobPath(request.path);
  if (path && path->command.empty()) {
    return OneJob(jobs, request, path->id, std::move(answer));
  }
  if (path) {
    return CommandJob(jobs, request, path->id, path->command,
                      std::move(answer));
  }
  answer(HttpError(
      404,
      "nothing is here: there are /v1/transition, /v1/garbage, "
      "/v1/replace, /v1/successors, /v1/servers, /v1/jobs, /v1/jobs/ID and "
      "/v1/jobs/ID/pause, /resume and /cancel"));
}

}  // namespace ers::proxy
