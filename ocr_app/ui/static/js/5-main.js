// Messages in, actions out. The parts are in the files before this one.
function reset(message) {
  state.job = message.job;
  state.over = false;
  state.view = "rendered";
  selectTab("rendered");
  state.lanes.forEach((lane) => { lane.reset(); lane.isFollowing = !message.is_over; });
  viewer.reset();
  find("#ls-finds").hidden = true;
  find("#ls-search").value = "";
  nameLanes(message);
}

function nameLanes({ lanes }) {
  const isCompared = lanes.length > 1;
  find("#ls-lanes").classList.toggle("compared", isCompared);
  state.lanes[1].root.hidden = !isCompared;
  lanes.forEach((lane, index) => {
    const name = find(".ls-lane-name", state.lanes[index].root);
    name.textContent = say(`lane_${lane.mode}`);
    name.hidden = !isCompared;
  });
}

async function take(message) {
  if (message.jobs) drawJobs(message.jobs);
  if (message.notice) { showNotice(message.notice); return; }
  if (!message.job) { if (message.is_closed) leave(); return; }
  if (message.job !== state.job) reset(message);
  drawJobs(message.jobs);
  state.numbers = message;
  state.over = message.is_over;
  for (const [index, lane] of message.lanes.entries()) await takeLane(lane, index);
  drawNumbers();
}

async function takeLane(lane, index) {
  const shown = state.lanes[index];
  shown.total = lane.total;
  const lines = await shown.finish(lane.pages, lane.base);
  if (lane.current) await shown.grow(lane.current);
  if (index) return;
  for (const [page, verdict, reason] of lines) viewer.thumb(page, verdict, reason || "");
  if (lines.length) announce(say("page_of", { done: shown.pages.length, total: lane.total ?? "?" }));
  if (lane.current) viewer.read(lane.current);
  else viewer.rest(state.over && !shown.isFollowing ? shown.pages[0] : shown.pages.at(-1));
}

function drawNumbers() {
  const message = state.numbers;
  if (!message) return;
  drawStatus(message);
  drawTiles(message.lanes[0].stats, message.lanes[1]?.stats);
  drawStrip(state.lanes[0], message.lanes[0].strip);
  drawComparison(message.comparison);
  if (state.over) find("#ls-follow").hidden = true;
}

// One message at a time and in order, though some must wait for an answer.
let queue = Promise.resolve();
function onMessage() {
  const text = props.value;
  if (text) queue = queue.then(() => take(JSON.parse(text))).catch((error) => console.error(error));
}

function showNotice(text) {
  document.body.dataset.ls = "error";
  find("#ls-state").dataset.state = "error";
  find("#ls-state").textContent = say("state_error");
  find("#ls-name").textContent = "";
  find("#ls-progress-text").textContent = "";
  find("#ls-cancel").hidden = true;
  find("#ls-message").textContent = text;
  find("#ls-message").hidden = false;
}

// Read was pressed: say so at once, whatever the queue does.
function begin() {
  document.body.dataset.ls = "waiting";
  delete document.body.dataset.lsStart;
  find("#ls-state").dataset.state = "waiting";
  find("#ls-state").textContent = say("state_waiting");
  find("#ls-name").textContent = "";
  find("#ls-progress-text").textContent = say("queue_more");
  find("#ls-progress i").style.width = "0";
  find("#ls-message").hidden = find("#ls-warning").hidden = true;
  find("#ls-verdicts").textContent = "";
}

function leave() {
  state.job = null;
  state.numbers = null;
  delete document.body.dataset.ls;
}

function selectTab(view) {
  for (const tab of findAll("#ls-views [role=tab]")) {
    const isSelected = tab.dataset.view === view;
    tab.setAttribute("aria-selected", String(isSelected));
    tab.tabIndex = isSelected ? 0 : -1;
  }
}

function selectView(view) {
  state.view = view;
  selectTab(view);
  state.lanes.forEach((lane) => lane.redraw());
}

function onTabKey(event) {
  const tabs = findAll("#ls-views [role=tab]:not([hidden])");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  selectView(next.dataset.view);
}

function setTheme(theme) {
  document.body.classList.toggle("dark", theme === "dark");
  remember("longscribe-theme", theme);
}

function setLanguage(language) {
  state.language = language;
  remember("longscribe-language", language);
  applyWords();
  state.lanes.forEach((lane) => lane.pages.forEach((line) => lane.label(line)));
  if (state.numbers) { nameLanes(state.numbers); drawJobs(state.numbers.jobs); }
  drawNumbers();
  trigger("language", { language });
}

async function copyAll() {
  const text = await ask("markdown", { furniture: state.furniture });
  if (text === null) return;
  await copyText(text);
  const button = find("#ls-copy");
  button.textContent = say("copied");
  setTimeout(() => { button.textContent = say("copy"); }, 1500);
}

// over plain HTTP from another machine a browser has no clipboard object, but still copies what is selected
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function connect() {
  state.lanes = findAll(".ls-lane").map((root, index) => new Lane(root, index));
  const on = (selector, event, action) => find(selector).addEventListener(event, action);
  const later = (action, delay) => {
    let timer = null;
    return () => { clearTimeout(timer); timer = setTimeout(action, delay); };
  };
  on("#ls-cancel", "click", () => trigger("cancel"));
  on("#ls-copy", "click", copyAll);
  on("#ls-search", "input", later(() => search(find("#ls-search").value), 250));
  on("#ls-views", "click", (event) => { if (event.target.dataset.view) selectView(event.target.dataset.view); });
  on("#ls-views", "keydown", onTabKey);
  on("#ls-furniture", "change", (event) => {
    state.furniture = event.target.checked;
    find("#ls-lanes").classList.toggle("furnished", state.furniture);
    state.lanes.forEach((lane) => lane.redraw());
    trigger("furniture", { job: state.job, furniture: state.furniture });
  });
  on("#ls-boxes", "change", (event) => find("#ls-picture").classList.toggle("bare", !event.target.checked));
  on("#ls-follow", "click", () => state.lanes.forEach((lane) => { lane.isFollowing = true; lane.follow(); }));
  on("#ls-new", "click", () => { document.body.dataset.lsStart = "open"; find("#ls-start").scrollIntoView({ block: "start" }); });
  on("#ls-language", "click", () => setLanguage(state.language === "zh" ? "en" : "zh"));
  on("#ls-theme", "click", () => setTheme(document.body.classList.contains("dark") ? "light" : "dark"));
  on("#ls-lanes", "click", (event) => {
    const span = event.target.closest?.('[data-lane="0"] [data-run]');
    if (span && document.getSelection().isCollapsed) viewer.locate(Number(span.closest(".ls-page").dataset.page), [Number(span.dataset.run)]);
  });
  document.addEventListener("selectionchange", later(locateSelection, 150));
  for (const button of ["#ls-read", "#ls-example"]) on(button, "click", begin);
  if (remembered("longscribe-theme")) setTheme(remembered("longscribe-theme"));
  const language = remembered("longscribe-language") || (navigator.language.startsWith("zh") ? "zh" : "en");
  if (language !== "en") setLanguage(language);
  chartKeeper.observe(find("#ls-instruments").closest("#ls-right") || document.body, { childList: true, subtree: true }); // the charts may come later
  watch("value", onMessage);
  document.body.dataset.lsReady = "yes";
}

// The other parts of the page may be drawn after this one.
const parts = ["#ls-start", "#ls-read", "#ls-cancel", "#ls-text", "#ls-viewer", "#ls-instruments", "#ls-visit", "#ls-theme"];
(function wait() {
  if (parts.every((part) => find(part))) connect();
  else setTimeout(wait, 50);
})();
