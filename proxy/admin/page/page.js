"use strict";
// Asks this port for what it shows, again and again. Names and keys are of
// other people: they go into the page as text, never as HTML.

const POLL_MS = 2000, GIVE_UP_MS = 5000;
const byId = (id) => document.getElementById(id);
let token = sessionStorage.getItem("token") || "";
let lastSeen = 0; // by this browser's clock
let lost = "";    // why the last answer is not there
let eventsOf = ""; // the daemon, and the last of its events, that are shown

// What the JSON has under "a.b"; a test reads these names here.
function get(from, path) {
  return path.split(".").reduce((value, name) => value?.[name], from);
}

// --- Words -------------------------------------------------------------------

const NONE = "–";
function count(number) {
  return number === undefined || number === null ? NONE
    : number.toLocaleString("en", { maximumFractionDigits: number < 10 ? 1 : 0 });
}
function bytes(number) {
  if (number === undefined || number === null) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; ++unit; }
  return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
}
function micros(us) {
  if (us === undefined || us === null) return NONE;
  if (us < 1000) return `${us} µs`;
  return us < 1e6 ? `${(us / 1000).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
}
function span(seconds) {
  if (seconds < 1) return "under 1 s";
  for (const [name, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${name}`;
  }
  return `${Math.round(seconds)} s`;
}
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

// --- The page ----------------------------------------------------------------

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
// Rows stay the same elements, so that a reader's place and the focus do.
function fillRows(body, things, keyOf, columns, fill) {
  const rows = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  things.forEach((thing, at) => {
    const key = String(keyOf(thing));
    let row = rows.get(key);
    if (!row) {
      row = make("tr");
      row.dataset.key = key;
      for (let i = 0; i < columns; ++i) row.append(make("td"));
    }
    rows.delete(key);
    if (body.rows[at] !== row) body.insertBefore(row, body.rows[at] || null);
    fill(thing, row.cells);
  });
  for (const row of rows.values()) row.remove();
}
function fillEmpty(body, columns, text) {
  if (body.rows.length > 0) return;
  const row = body.insertRow();
  row.dataset.key = "";
  const cell = row.insertCell();
  cell.colSpan = columns;
  cell.className = "aside";
  cell.textContent = text;
}
// The one element of this kind in a cell.
function part(cell, tag, className) {
  let found = cell.querySelector(tag + "." + className.split(" ")[0]);
  if (!found) cell.append(found = make(tag));
  if (found.className !== className) found.className = className;
  return found;
}
function setNumber(cell, text) {
  cell.className = "number";
  setText(cell, text);
}
function setBar(cell, value, label, text, className = "bar") {
  const bar = part(cell, "progress", className);
  bar.value = value;
  bar.setAttribute("aria-label", label);
  setText(part(cell, "span", "sub"), text);
}

// --- Health ------------------------------------------------------------------

const SIGNS = {
  healthy: "M10 25l10 10 19-22", rebuilding: "M39 24a15 15 0 1 1-5-11M36 5v9h-9",
  degraded: "M24 8v20M24 39v.5", failing: "M12 12l24 24M36 12L12 36",
  unreachable: "M8 24h7M21 24h6M33 24h7", unused: "M12 24h.5M24 24h.5M36 24h.5",
};
const ICON_COLOURS = {
  healthy: "#1d9a57", rebuilding: "#2f74dc", degraded: "#d98a00", failing: "#d33",
  unreachable: "#888", unused: "#888",
};
const WORDS = {
  healthy: "Healthy", rebuilding: "Rebuilding", degraded: "Degraded", failing: "Not serving",
  unreachable: "Unreachable", unused: "Not used yet",
};

function showHealth(health, why) {
  document.body.dataset.health = health;
  byId("sign-path").setAttribute("d", SIGNS[health]);
  setText(byId("health"), WORDS[health]); // announced where it changes
  setText(byId("health-why"), why);
  document.title = `${WORDS[health]} – ersproxy ${location.host}`;
  byId("icon").href = "data:image/svg+xml," + encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="10" ` +
    `fill="${ICON_COLOURS[health]}"/><path d="${SIGNS[health]}" fill="none" stroke="#fff" ` +
    `stroke-width="6" stroke-linecap="round" stroke-linejoin="round"/></svg>`);
}

function showBackfill(status) {
  const servers = get(status, "backfill.servers"), all = get(status, "backfill.objects_total");
  byId("rebuild").hidden = servers.length === 0;
  if (servers.length === 0) return;
  const done = get(status, "backfill.objects"), left = get(status, "backfill.seconds_left");
  const bar = byId("rebuild-bar");
  if (all > 0) bar.value = Math.min(1, done / all);
  else bar.removeAttribute("value");
  setText(byId("rebuild-text"), `walk ${get(status, "backfill.walk")}: ${count(done)} of ${count(all)} objects` +
    (left === null ? "" : `, about ${span(left)} left`) + `, ${count(get(status, "backfill.blocks"))} blocks stored` +
    (get(status, "backfill.lost") ? `, ${count(get(status, "backfill.lost"))} objects lost` : "") +
    (get(status, "backfill.last_error") ? `. It waits: ${get(status, "backfill.last_error")}` : ""));
}

// --- Requests ----------------------------------------------------------------

function showTiles(status) {
  const errors = get(status, "requests.errors_per_second");
  const facts = [
    ["GET a second", count(get(status, "requests.get.per_second"))],
    ["GET p99", micros(get(status, "requests.get.p99_us"))],
    ["SET a second", count(get(status, "requests.set.per_second"))],
    ["SET p99", micros(get(status, "requests.set.p99_us"))],
    ["server errors a second", count(errors), errors > 0],
    [`clients of ${count(get(status, "max_connections"))}`, count(get(status, "connections"))],
  ];
  const tiles = byId("tiles");
  facts.forEach(([name, text, alarm], at) => {
    const tile = tiles.children[at] || tiles.appendChild(make("p", "tile"));
    tile.className = alarm ? "tile alarm" : "tile";
    if (!tile.firstChild) tile.append(make("b"), make("span"));
    setText(tile.firstChild, text);
    setText(tile.lastChild, name);
  });
}

function draw(svg, lines, wordOf, title) {
  const SPACE = "http://www.w3.org/2000/svg", POINTS = 120, WIDTH = 480, HEIGHT = 120;
  const top = Math.max(...lines.flatMap(([, values]) => values.filter((value) => value !== null)), 0);
  const paths = lines.map(([name, values]) => {
    const from = POINTS - values.length;
    let path = "", drawing = false;
    values.forEach((value, at) => {
      if (value === null) { drawing = false; return; }
      const x = (from + at) * WIDTH / (POINTS - 1), y = HEIGHT - 3 - (top > 0 ? value / top : 0) * (HEIGHT - 10);
      path += `${drawing ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${drawing ? "" : "l.1 0"}`;
      drawing = true;
    });
    const line = document.createElementNS(SPACE, "path");
    line.setAttribute("class", "line " + name);
    line.setAttribute("d", path);
    return line;
  });
  svg.replaceChildren(...paths);
  const most = top > 0 ? `at most ${wordOf(top)}` : "none";
  svg.setAttribute("aria-label", `${title}: ${most}`);
  const caption = svg.parentElement.querySelector("figcaption");
  setText(part(caption, "span", "top"), most);
}

function showRequests(status) {
  showTiles(status);
  draw(byId("rate-chart"), [["get", get(status, "requests.history.get.per_second")],
    ["set", get(status, "requests.history.set.per_second")]], (top) => `${count(top)}/s`, "Requests a second");
  draw(byId("p99-chart"), [["get", get(status, "requests.history.get.p99_us")],
    ["set", get(status, "requests.history.set.p99_us")]], micros, "p99");
}

// --- Tables ------------------------------------------------------------------

const STATES = {
  in_sync: ["good", "✓ in sync"], backfilling: ["busy", "↻ rebuilding"], down: ["bad", "✕ out"],
  unreachable: ["bad", "✕ no answer"], unknown: ["", "? not used yet"],
};

function showMemory(server, cell) {
  const used = get(server, "memory.used_bytes"), limit = get(server, "memory.limit_bytes");
  if (used === undefined) {
    cell.replaceChildren(NONE);
    return;
  }
  if (!cell.firstElementChild) cell.replaceChildren();
  setBar(cell, used / limit, `Memory of ${get(server, "name")}`, `${bytes(used)} of ${bytes(limit)}`,
    used > 0.9 * limit ? "bar narrow full" : "bar narrow");
}

function showServers(status) {
  const now = get(status, "time_s");
  fillRows(byId("servers"), get(status, "servers"), (server) => get(server, "slot"), 9, (server, cells) => {
    const name = get(server, "name"), slot = get(server, "slot");
    setText(part(cells[0], "span", "name"), name);
    if (slot !== name) setText(part(cells[0], "span", "sub"), `in the place of ${slot}`);
    const [kind, word] = STATES[get(server, "state")] || ["", get(server, "state")];
    setText(part(cells[1], "span", `badge ${kind}`), word);
    const since = get(server, "since_s");
    setText(cells[2], since ? span(now - since) : NONE);
    setNumber(cells[3], micros(get(server, "latency.p50_us")));
    setNumber(cells[4], micros(get(server, "latency.p99_us")));
    const beside = get(server, "latency.beside_others");
    setNumber(cells[5], beside === undefined ? NONE : `${beside.toFixed(beside < 10 ? 1 : 0)}×`);
    cells[5].style.color = beside > 4 && get(server, "latency.p50_us") > 1000 ? "var(--bad)" : "";
    showMemory(server, cells[6]);
    setNumber(cells[7], count(get(server, "memory.items")));
    setNumber(cells[8], count(get(server, "memory.evictions")));
  });
}

function showObjects(status) {
  const at = get(status, "objects_counted_s");
  setText(byId("counted"), at ? `Counted ${span(get(status, "time_s") - at)} ago.`
    : "Not counted yet: count_objects_s in the configuration has them counted.");
  const objects = get(status, "objects");
  const all = objects.reduce((sum, object) => sum + get(object, "bytes"), 0);
  fillRows(byId("objects"), objects, (object) => `${get(object, "scheme")} ${get(object, "width")}`, 5,
    (object, cells) => {
      setText(cells[0], get(object, "scheme"));
      setText(cells[1], get(object, "width"));
      const of = all > 0 ? get(object, "bytes") / all : 0;
      setBar(cells[2], of, `Part of all bytes at ${get(object, "width")}`, `${(100 * of).toFixed(1)} %`);
      setNumber(cells[3], count(get(object, "objects")));
      setNumber(cells[4], bytes(get(object, "bytes")));
    });
}

function ruleText(policy, steps) {
  if (steps.length === 0) return "off";
  const prefix = get(policy, "prefix") ?? get(policy, "prefix_base64");
  return steps.join(", ") + (prefix ? `, keys with ${prefix}` : "");
}

function tierTexts(policy, unit) {
  return get(policy, "tiers").map((tier) => `${unit(get(tier, "from"))} → ${get(tier, "width")}`);
}

function showPolicies(status) {
  const within = span(get(status, "policies.narrow.within_s"));
  const widen = get(status, "policies.widen");
  const narrow = get(status, "policies.narrow");
  const pack = get(status, "policies.pack");
  const idle = get(pack, "idle_s");
  const rows = [["widen", widen, tierTexts(widen, (from) => `idle ${span(from)}`)],
    ["narrow", narrow, tierTexts(narrow, (from) => `${count(from)} reads in ${within}`)],
    ["pack", pack, idle > 0 ? [`idle ${span(idle)}`] : []]];
  fillRows(byId("policies"), rows, ([name]) => name, 5, ([name, policy, steps], cells) => {
    setText(part(cells[0], "b", "name"), name);
    setText(part(cells[0], "span", "sub"), ruleText(policy, steps));
    setNumber(cells[1], count(get(policy, "waiting")));
    setNumber(cells[2], count(get(policy, "changed")));
    setNumber(cells[3], count(get(policy, "failed")));
    setNumber(cells[4], bytes(get(policy, "moved_bytes")));
  });
}

function showHedges(status) {
  const facts = [
    ["hedges sent", count(get(status, "counters.ers_hedges_sent"))],
    ["of them first", count(get(status, "counters.ers_hedges_won"))],
    ["slow server passed by", count(get(status, "counters.ers_hedges_at_once"))],
    ["no budget left", count(get(status, "counters.ers_hedges_refused"))],
    ["read in vain", bytes(get(status, "counters.ers_hedge_wasted_bytes"))],
    ["reads that decoded", count(get(status, "counters.ers_degraded_reads"))],
    ["blocks repaired", count(get(status, "counters.ers_repaired_blocks"))],
    ["garbage dropped", bytes(get(status, "garbage.dropped_bytes"))],
  ];
  const list = byId("hedges");
  facts.forEach(([name, text], at) => {
    const item = list.children[at] || list.appendChild(make("div"));
    if (!item.firstChild) item.append(make("dt", "", name), make("dd"));
    setText(item.lastChild, text);
  });
}

// --- Jobs --------------------------------------------------------------------

const JOB_STATES = { listing: "busy", running: "busy", paused: "warn", done: "good", cancelled: "", failed: "bad" };

function selectionText(job) {
  const select = get(job, "select"), words = [];
  for (const [name, value] of Object.entries(select)) words.push(`${name.replaceAll("_", " ")} ${value}`);
  return words.join(", ") || "all objects";
}

function commandsOf(job) {
  const path = `/v1/jobs/${get(job, "id")}`, state = get(job, "state");
  const again = () => ask("POST", "/v1/jobs", {
    to: get(job, "to"), select: get(job, "select"), parallel: get(job, "parallel"),
    bytes_per_second: get(job, "bytes_per_second"),
  });
  if (state === "paused") {
    return [["Resume", () => ask("POST", path + "/resume")], ["Cancel", () => ask("POST", path + "/cancel")]];
  }
  if (state === "listing" || state === "running") {
    return [["Pause", () => ask("POST", path + "/pause")], ["Cancel", () => ask("POST", path + "/cancel")]];
  }
  return [["Run again", again], ["Forget", () => ask("DELETE", path)]];
}

function showCommands(job, cell) {
  const commands = commandsOf(job);
  const names = commands.map(([name]) => name).join();
  if (cell.dataset.names === names) return;
  cell.dataset.names = names;
  cell.replaceChildren(...commands.map(([name, run]) => {
    const button = make("button", "", name);
    button.type = "button";
    button.setAttribute("aria-label", `${name} job ${get(job, "id")}`);
    button.addEventListener("click", () => act(button, run));
    return button;
  }));
}

function showJobs(status) {
  const jobs = get(status, "jobs"), MOST = 12;
  if (jobs.length > 0) byId("jobs").querySelector("[data-key='']")?.remove();
  fillRows(byId("jobs"), jobs.slice(0, MOST), (job) => get(job, "id"), 5, (job, cells) => {
    setText(part(cells[0], "b", "id"), get(job, "id"));
    cells[1].className = "text";
    setText(part(cells[1], "span", "to"), `to ${get(job, "to")}`);
    setText(part(cells[1], "span", "sub"), selectionText(job));
    const selected = get(job, "objects.selected"), left = get(job, "objects.left");
    const failed = get(job, "objects.failed"), seconds = get(job, "seconds_left");
    const words = [`${count(selected - left)} of ${count(selected)}`];
    if (failed > 0) words.push(`${count(failed)} failed`);
    if (seconds !== null && left > 0) words.push(`about ${span(seconds)} left`);
    const ended = get(job, "ended") !== null, state = get(job, "state");
    const kind = state === "done" && failed > 0 ? "warn" : JOB_STATES[state];
    setText(part(cells[2], "span", `badge ${kind}`), state);
    setBar(cells[3], selected > 0 ? (selected - left) / selected : ended ? 1 : 0, `Job ${get(job, "id")}`,
      words.join(", "), failed > 0 ? "bar full" : "bar");
    if (get(job, "last_error")) setText(part(cells[3], "i", "sub bad"), get(job, "last_error"));
    showCommands(job, cells[4]);
  });
  fillEmpty(byId("jobs"), 5, "There are none.");
}

// --- Events ------------------------------------------------------------------

const LEVELS = { warning: "warn", error: "bad" };

function showEvents(events) {
  const days = (ms) => new Date(ms).toLocaleDateString("en-CA");
  fillRows(byId("events"), events, (event) => get(event, "id"), 4, (event, cells) => {
    const at = get(event, "time_ms");
    setText(cells[0], days(at) === days(Date.now()) ? clock(at / 1000) : `${days(at)} ${clock(at / 1000)}`);
    const kind = part(cells[1], "span", `badge ${LEVELS[get(event, "level")] || ""}`);
    setText(kind, get(event, "kind"));
    cells[2].className = "text";
    setText(cells[2], get(event, "text"));
    cells[3].className = "text aside";
    setText(cells[3], get(event, "asked_by") === null ? ""
      : `${get(event, "asked_by.address")} ${get(event, "asked_by.agent")}`);
  });
  fillEmpty(byId("events"), 4, "There are none yet.");
}

async function readEvents(status) {
  const now = `${get(status, "started_s")} ${get(status, "last_event")}`;
  if (now === eventsOf) return;
  const log = await ask("GET", "/events");
  showEvents(get(log, "events"));
  eventsOf = now;
}

// --- The port ----------------------------------------------------------------

function showError(text) {
  byId("error").hidden = text === "";
  setText(byId("error"), text);
}

async function ask(method, path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (method === "POST") headers["Content-Type"] = "application/json";
  const reply = await fetch(path, {
    method, headers, body: method === "POST" ? JSON.stringify(body ?? {}) : undefined, cache: "no-store",
    signal: AbortSignal.timeout(GIVE_UP_MS),
  });
  const json = await reply.json();
  if (reply.ok) return json;
  const error = new Error(get(json, "error") || `HTTP ${reply.status}`);
  error.code = reply.status;
  throw error;
}

// What a person asked for, and then what it came to.
async function act(button, run) {
  button.disabled = true;
  try {
    await run();
    showError("");
    await read();
  } catch (error) {
    showError(error.message);
  } finally {
    button.disabled = lost !== "";
  }
}

function show(status) {
  setText(byId("where"), location.host);
  setText(byId("daemon"), `version ${get(status, "version")}, up ${span(get(status, "uptime_s"))}, ` +
    `${bytes(get(status, "memory_in_flight_bytes"))} in flight`);
  showHealth(get(status, "health"), get(status, "health_because"));
  showBackfill(status);
  showRequests(status);
  showServers(status);
  showJobs(status);
  showObjects(status);
  showPolicies(status);
  showHedges(status);
}

function showSeen() {
  const ago = lastSeen ? `${span((Date.now() - lastSeen) / 1000)} ago` : "never";
  setText(byId("seen"), lost ? `last seen ${ago}` : `as of ${clock(lastSeen / 1000)}`);
  if (!lost) return;
  showHealth("unreachable", `Last seen ${ago}${lastSeen ? `, at ${clock(lastSeen / 1000)}. What is below is of then` : ""}. ` +
    `(${lost})`);
  byId("rebuild").hidden = true;
}

async function read() {
  try {
    const status = await ask("GET", "/status");
    lost = "";
    lastSeen = Date.now();
    byId("token-form").hidden = true;
    show(status);
    await readEvents(status);
  } catch (error) {
    lost = error.code ? error.message : "The daemon does not answer.";
    byId("token-form").hidden = error.code !== 401;
  }
  for (const button of document.querySelectorAll("td button, #job-form button")) button.disabled = lost !== "";
  showSeen();
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value;
  byId("token").value = "";
  sessionStorage.setItem("token", token);
  read();
});
byId("job-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target, select = {};
  if (form.prefix.value) select.prefix = form.prefix.value;
  if (form.idle.value) select.idle_seconds = Number(form.idle.value);
  act(form.querySelector("button"), () => ask("POST", "/v1/jobs", {
    to: form.to.value, select, bytes_per_second: Number(form.rate.value || 0),
  }));
});

async function poll() {
  await read();
  setTimeout(poll, POLL_MS);
}
poll();
