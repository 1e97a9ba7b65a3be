#include "net/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/un.h>

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "net/errno_text.h"

namespace ers::net {
namespace {

using Clock = std::chrono::steady_clock;

// More names than this at a time wait for each other.
constexpr int kMaxThreads = 16;

Address UnixAddress(const std::string& path) {
  Address address;
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  assert(path.size() < sizeof local.sun_path);
  std::memcpy(local.sun_path, path.data(), path.size());
  std::memcpy(&address.storage, &local, sizeof local);
  address.size = sizeof local;
  return address;
}

Resolved AskSystem(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(),
                  &hints, &list);
  Resolved found;
  if (error != 0) {
    found.error = error == EAI_SYSTEM ? ErrnoText(errno) : gai_strerror(error);
    found.answered = error == EAI_NONAME || error == EAI_NODATA;
    return found;
  }
  for (const addrinfo* i = list; i != nullptr; i = i->ai_next) {
    Address address;
    std::memcpy(&address.storage, i->ai_addr, i->ai_addrlen);
    address.size = i->ai_addrlen;
    found.addresses.push_back(address);
  }
  freeaddrinfo(list);
  return found;
}

Resolved AskSystemForName(const Endpoint& endpoint) {
  return AskSystem(endpoint, 0);
}

// Signals are for the threads of the program that uses the library.
bool StartThread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(std::move(body)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// `fresh`, but those that were known before in the order that they had: one
// that did not answer then is still the last to be tried.
std::vector<Address> InOldOrder(const std::vector<Address>& old,
                                const std::vector<Address>& fresh) {
  std::vector<Address> ordered;
  const auto add_if_in = [&ordered](const Address& address,
                                    const std::vector<Address>& list) {
    const auto in = [&address](const std::vector<Address>& all) {
      return std::find(all.begin(), all.end(), address) != all.end();
    };
    if (in(list) && !in(ordered)) ordered.push_back(address);
  };
  for (const Address& address : old) add_if_in(address, fresh);
  for (const Address& address : fresh) add_if_in(address, fresh);
  return ordered;
}

}  // namespace

bool Address::operator==(const Address& other) const {
  return size == other.size && std::memcmp(&storage, &other.storage, size) == 0;
}

std::vector<Address> PlainAddresses(const Endpoint& endpoint) {
  if (endpoint.is_unix()) return {UnixAddress(endpoint.path)};
  return AskSystem(endpoint, AI_NUMERICHOST).addresses;
}

// What waits for a name. Its loop's thread alone calls `done`, and ends it.
struct Wait {
  Runtime& runtime;
  std::function<void(const Resolved&)> done;
  bool ended = false;  // only on the loop's thread
};

struct Resolver::State : std::enable_shared_from_this<State> {
  struct Name {
    Endpoint endpoint;
    Resolved found;
    bool known = false;  // an answer came, be it that there is none
    Clock::time_point found_at;
    std::optional<Clock::time_point> asked_since;
    std::vector<std::weak_ptr<Wait>> waiting;
  };

  Resolve resolve;
  Mutex mutex;
  std::map<std::string, Name> names ERS_GUARDED_BY(mutex);
  std::deque<Name*> queue ERS_GUARDED_BY(mutex);
  int threads ERS_GUARDED_BY(mutex) = 0;
  std::condition_variable concluded;

  Name& NameOf(const Endpoint& endpoint) ERS_REQUIRES(mutex) {
    Name& name = names[endpoint.name()];
    name.endpoint = endpoint;
    return name;
  }
  void Start(Name& name) ERS_REQUIRES(mutex);
  void Work();
  void Conclude(Name& name, Resolved found) ERS_REQUIRES(mutex);
};

namespace {

// REQUIRES: the loop of `wait` is there.
void Post(const std::weak_ptr<Wait>& wait, Runtime& runtime, Resolved found) {
  runtime.Post([wait, found = std::move(found)] {
    const std::shared_ptr<Wait> still = wait.lock();
    if (!still || std::exchange(still->ended, true)) return;
    // Held here: the call may end the query.
    const auto done = std::move(still->done);
    done(found);
  });
}

}  // namespace

void Resolver::State::Start(Name& name) {
  if (name.asked_since) return;
  name.asked_since = Clock::now();
  queue.push_back(&name);
  if (threads == kMaxThreads) return;
  if (StartThread([self = shared_from_this()] { self->Work(); })) {
    ++threads;
  } else if (threads == 0) {
    queue.clear();
    Resolved none;
    none.error = "no thread can be started for it";
    none.answered = false;
    Conclude(name, std::move(none));
  }
}

void Resolver::State::Work() {
  MutexLock lock(mutex);
  while (!queue.empty()) {
    Name& name = *queue.front();
    queue.pop_front();
    const Endpoint endpoint = name.endpoint;
    lock.Unlock();
    Resolved found = resolve(endpoint);
    lock.Lock();
    Conclude(name, std::move(found));
  }
  --threads;
}

void Resolver::State::Conclude(Name& name, Resolved found) {
  name.asked_since.reset();
  name.known = true;
  const bool silent = !found.answered && !name.found.addresses.empty();
  if (!silent) {
    found.addresses = InOldOrder(name.found.addresses, found.addresses);
    name.found = std::move(found);
    name.found_at = Clock::now();
  }
  for (const std::weak_ptr<Wait>& wait : std::exchange(name.waiting, {})) {
    // A query leaves under the lock, and its loop ends later.
    const std::shared_ptr<Wait> still = wait.lock();
    if (still) Post(wait, still->runtime, name.found);
  }
  concluded.notify_all();
}

Resolver::Resolver(Resolve resolve) : state_(std::make_shared<State>()) {
  state_->resolve = std::move(resolve);
}

Resolver::~Resolver() = default;

// Never destroyed: threads of the user's may outlive the statics.
Resolver& Resolver::OfProcess() {
  static Resolver* resolver = [] {
    // What threads were at when it forked, the child would wait for in vain.
    pthread_atfork(nullptr, nullptr,
                   [] { resolver = new Resolver(AskSystemForName); });
    return new Resolver(AskSystemForName);
  }();
  return *resolver;
}

class Resolver::Asked final : public Query {
 public:
  Asked(std::shared_ptr<State> state, Runtime& runtime,
        std::function<void(const Resolved&)> done)
      : state_(std::move(state)),
        wait_(std::make_shared<Wait>(runtime, std::move(done))) {}
  ~Asked() override {
    // A thread that is just posting to it is waited for.
    const MutexLock lock(state_->mutex);
    wait_.reset();
  }

  void Begin(const Endpoint& endpoint) {
    const MutexLock lock(state_->mutex);
    State::Name& name = state_->NameOf(endpoint);
    const Clock::time_point now = Clock::now();
    const bool usable = !name.found.addresses.empty();
    const bool fresh = usable && now - name.found_at < kFresh;
    const bool silent =
        usable && name.asked_since && now - *name.asked_since >= kPatience;
    if (fresh || silent) {
      Post(wait_, wait_->runtime, name.found);
    } else {
      name.waiting.push_back(wait_);
      if (usable) UseAfterPatience(name.found);
    }
    state_->Start(name);
  }

 private:
  void UseAfterPatience(const Resolved& before) {
    timer_ = wait_->runtime.NewTimer(
        [this, before] { Post(wait_, wait_->runtime, before); });
    timer_->Start(kPatience);
  }

  const std::shared_ptr<State> state_;
  std::shared_ptr<Wait> wait_;
  std::unique_ptr<Timer> timer_;
};

std::unique_ptr<Resolver::Query> Resolver::Ask(
    Runtime& runtime, const Endpoint& endpoint,
    std::function<void(const Resolved&)> done) {
  auto asked = std::make_unique<Asked>(state_, runtime, std::move(done));
  asked->Begin(endpoint);
  return asked;
}

void Resolver::PutLast(const Endpoint& endpoint, const Address& address) {
  const MutexLock lock(state_->mutex);
  std::vector<Address>& list = state_->NameOf(endpoint).found.addresses;
  const auto at = std::find(list.begin(), list.end(), address);
  if (at != list.end()) std::rotate(at, at + 1, list.end());
}

void Resolver::Prepare(const std::vector<Endpoint>& endpoints, Duration limit) {
  MutexLock lock(state_->mutex);
  std::vector<const State::Name*> names;
  for (const Endpoint& endpoint : endpoints) {
    if (!PlainAddresses(endpoint).empty()) continue;
    State::Name& name = state_->NameOf(endpoint);
    if (!name.known) state_->Start(name);
    names.push_back(&name);
  }
  const auto all_known = [&names] {
    return std::all_of(names.begin(), names.end(),
                       [](const State::Name* name) { return name->known; });
  };
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!all_known() && lock.WaitUntil(state_->concluded, end)) {
  }
}

}  // namespace ers::net
