// The state of the page and what every part uses: words, numbers, questions to the server.
const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];
const TEXTS = props.texts;
const state = { job: null, language: "en", view: "rendered", over: true, furniture: false, lanes: [], numbers: null };

function say(key, values = {}) {
  const pair = TEXTS[key] || [key, key];
  return pair[state.language === "zh" ? 1 : 0].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function make(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== "") node.textContent = text; // text of a document is never set in any other way but this and the server's escaped HTML
  return node;
}

function bytes(value) {
  if (value === null || value === undefined) return say("unknown");
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  while (value >= 1024 && power < units.length - 1) { value /= 1024; power += 1; }
  return `${value.toFixed(value < 10 && power ? 2 : value < 100 && power ? 1 : 0)} ${units[power]}`;
}

function number(value, digits = 1) {
  return value === null || value === undefined ? say("unknown") : value.toFixed(digits);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return say("unknown");
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = (value) => String(value).padStart(2, "0");
  if (minutes < 60) return `${minutes}:${rest(Math.floor(seconds % 60))}`;
  return `${Math.floor(minutes / 60)}:${rest(minutes % 60)}:${rest(Math.floor(seconds % 60))}`;
}

// Ask the server about the job on show; null when the answer is about a job that is no longer on show.
async function ask(what, question = {}) {
  const job = state.job;
  if (!job) return null;
  const reply = await server.ask({ what, job, ...question });
  return state.job === job ? reply : null;
}

function remembered(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

function remember(key, value) {
  try { localStorage.setItem(key, value); } catch { /* a browser that keeps nothing still works */ }
}

function applyWords() {
  document.documentElement.lang = state.language;
  for (const node of findAll("[data-t]")) node.textContent = say(node.dataset.t);
  for (const node of findAll("[data-t-label]")) node.setAttribute("aria-label", say(node.dataset.tLabel));
  for (const node of findAll("[data-t-placeholder]")) node.placeholder = say(node.dataset.tPlaceholder);
}
