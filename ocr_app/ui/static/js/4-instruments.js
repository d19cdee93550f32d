// Counters, resident pages, status line, result card, list of this visit's jobs.
function tile(label, value, detail = "") {
  const box = make("div", "ls-tile");
  const figure = make("dd", "", value);
  if (detail) figure.append(make("small", "", detail));
  box.append(make("dt", "", label), figure);
  return box;
}

function drawTiles(stats, full) {
  if (!stats) { find("#ls-tiles").replaceChildren(); return; }
  const other = (key, write) => (full ? `${say("lane_full")} ${write(full[key])}` : "");
  const attended = (value) => (value === null ? say("unknown") : `${value} ${say("tokens")}`);
  const tiles = [
    tile(say("stat_allocated"), bytes(stats.allocated_bytes), other("allocated_bytes", bytes)),
    tile(say("stat_live"), bytes(stats.live_bytes), other("live_bytes", bytes)),
    tile(say("stat_attended"), attended(stats.attended_tokens), other("attended_tokens", attended)),
    tile(say("stat_peak"), bytes(stats.peak_kv_bytes), other("peak_kv_bytes", bytes)),
    ...stats.devices.map(([label, used, total]) => tile(`${say("stat_memory")}: ${label}`, bytes(used), total ? `/ ${bytes(total)}` : "")),
    tile(say("stat_tokens"), number(stats.tokens_per_s), other("tokens_per_s", number)),
    tile(say("stat_pages"), number(stats.pages_per_s, 2)),
    tile(say("stat_ttft"), duration(stats.ttft_s)),
    tile(say("stat_reuse"), stats.reuse[1] ? `${stats.reuse[0]} / ${stats.reuse[1]}` : "0"),
  ];
  // before the first page is done, what is not known yet is not shown at all
  const isLoading = !state.lanes[0].pages.length;
  const isKnown = (box) => find("dd", box).firstChild?.data !== say("unknown");
  find("#ls-tiles").replaceChildren(...tiles.filter((box) => !isLoading || isKnown(box)));
}

// One cell a page, or a cell for several pages of a long document. The strongest state of its pages colours a cell.
function drawStrip(lane, strip) {
  const resident = new Map(strip.map(([page, kind, blocks]) => [page, { kind, blocks }]));
  const order = lane.pages.filter(([, verdict]) => verdict !== "cancelled").map(([page]) => page);
  if (lane.currentPage !== null) order.push(lane.currentPage);
  const total = Math.max(lane.total || order.length, order.length, 1);
  const cells = Math.min(total, 160);
  const rank = ["unread", "evicted", "retained", "overlap", "active"];
  const kinds = Array(cells).fill("unread");
  order.forEach((page, position) => {
    const cell = Math.floor((position * cells) / total);
    const kind = resident.get(page)?.kind || "evicted";
    if (rank.indexOf(kind) > rank.indexOf(kinds[cell])) kinds[cell] = kind;
  });
  const root = find("#ls-strip");
  root.replaceChildren(...kinds.map((kind) => make("i", kind)));
  const named = (kind) => strip.filter((entry) => entry[1] === kind).map((entry) => entry[0] + 1);
  root.setAttribute("aria-label", ["active", "overlap", "retained"].map((kind) => `${say(`resident_${kind}`)}: ${named(kind).join(", ") || "–"}`).join("; "));
}

function drawStatus(message) {
  const lane = message.lanes[0];
  const shown = state.lanes[0];
  const kind = message.lanes.every((one) => !["waiting", "running"].includes(one.state)) || lane.state === "waiting" ? lane.state : "running";
  document.body.dataset.ls = kind;
  const chip = find("#ls-state");
  if (chip.dataset.state !== kind) announce(say(`state_${kind}`));
  chip.dataset.state = kind;
  chip.textContent = say(`state_${kind}`);
  find("#ls-name").textContent = message.name;
  const total = lane.total;
  const done = lane.read; // pages of a stopped job that were never read are listed, not counted
  const aside = shown.pages.reduce((sum, line) => sum + (line[4] || 0), 0);
  find("#ls-aside").textContent = aside ? `(${aside})` : "";
  find("#ls-progress-text").textContent = progressText(message, done, total);
  const share = total ? Math.round((100 * done) / total) : 0;
  find("#ls-progress").setAttribute("aria-valuenow", share);
  find("#ls-progress i").style.width = `${share}%`;
  find("#ls-cancel").hidden = message.is_over;
  const notice = message.lanes.map((one) => one.message).find(Boolean);
  find("#ls-message").hidden = !notice;
  find("#ls-message").textContent = notice || "";
  const toCheck = shown.pages.filter(([, verdict]) => !["ok", "blank"].includes(verdict)).length;
  find("#ls-verdicts").textContent = toCheck ? say("check_these", { n: toCheck }) : "";
}

function progressText({ is_over: isOver, lanes }, done, total) {
  const { stats, elapsed_s: elapsed } = lanes[0];
  if (isOver) return total === null ? "" : say("pages_done", { done, total, time: duration(elapsed) });
  if (total === null) return say("waiting_more");
  const isLaneOver = !["waiting", "running"].includes(lanes[0].state); // the time left is of this lane alone
  return [say("page_of", { done, total }), isLaneOver ? "" : remaining(stats)].filter(Boolean).join(" · ");
}

function remaining(stats) {
  if (!stats || stats.eta_s[1] === null) return "";
  const [low, mid, high] = stats.eta_s.map((value) => (value === null ? null : duration(value)));
  return low && high ? say("left", { low, mid, high }) : say("left_short", { mid });
}

function announce(text) {
  find("#ls-announce").textContent = text;
}

function drawComparison(comparison) {
  const warning = find("#ls-warning");
  const card = find("#ls-card");
  find('[data-view="diff"]').hidden = !comparison || !state.over;
  warning.hidden = true;
  card.hidden = true;
  if (!comparison) return;
  const limit = bytes(comparison.limit_bytes);
  if (comparison.stopped_at_page) {
    warning.textContent = say("ran_out", { need: bytes(comparison.needed_bytes), page: comparison.stopped_at_page, limit });
    warning.hidden = false;
  } else if (comparison.will_not_fit) {
    warning.textContent = say("will_not_fit", { need: bytes(comparison.estimated_bytes), page: comparison.fits_pages + 1, limit });
    warning.hidden = false;
  }
  if (!comparison.card) return;
  card.replaceChildren(...cardParts(comparison.card));
  card.hidden = false;
}

function cardParts({ sparse, full, kv_ratio: ratio, agreement, agreed_pages: pages, total_pages: total }) {
  const rows = [
    ["card_peak", "peak_kv_bytes", bytes], ["card_first_step", "first_step_s", duration], ["card_last_step", "last_step_s", duration],
    ["card_speed", "tokens_per_s", number], ["card_pages", "pages", String], ["card_elapsed", "elapsed_s", duration],
  ];
  const table = make("table");
  const head = make("tr");
  head.append(make("td"), make("th", "sparse", say("lane_sparse")), make("th", "full", say("lane_full")));
  table.append(head, ...rows.map(([label, key, write]) => {
    const row = make("tr");
    row.append(make("th", "", say(label)), make("td", "", write(sparse[key])), make("td", "", write(full[key])));
    return row;
  }));
  const lines = [];
  if (ratio) lines.push(say("card_ratio", { n: ratio.toFixed(1) }));
  if (agreement !== null) lines.push(say("card_agreement", { n: `${(100 * agreement).toFixed(1)} %`, pages, total: total ?? "?" }));
  return [make("h4", "", say("result")), table, make("p", "", lines.join(" · "))];
}

function drawJobs(jobs) {
  const list = find("#ls-jobs");
  const key = JSON.stringify([jobs, state.language, state.job]);
  if (list.dataset.key === key) return; // redrawing four times a second would take the focus from its buttons
  list.dataset.key = key;
  find("#ls-visit").hidden = !jobs.length;
  list.replaceChildren(...jobs.map((job) => {
    const item = make("li", job.job === state.job ? "current" : "");
    const open = make("button", "", say("open"));
    const forget = make("button", "", say("forget"));
    open.type = forget.type = "button";
    open.setAttribute("aria-label", `${say("open")}: ${job.name}`);
    forget.setAttribute("aria-label", `${say("forget")}: ${job.name}`);
    open.addEventListener("click", () => trigger("open", { job: job.job }));
    forget.addEventListener("click", () => trigger("forget", { job: job.job }));
    const chip = make("span", "ls-chip", say(`state_${job.state}`));
    chip.dataset.state = job.state;
    item.append(chip, make("strong", "", job.name), make("span", "", job.total ? `${job.pages} / ${job.total}` : ""));
    if (job.compared) item.append(make("em", "", `${say("lane_sparse")} + ${say("lane_full")}`));
    item.append(make("span", "ls-grow"), open, forget);
    return item;
  }));
}

// Each update puts a new chart in the place of the old one, whose listener on the window would keep it and all its elements.
const chartKeeper = new MutationObserver((changes) => {
  for (const node of changes.flatMap((change) => [...change.removedNodes])) {
    if (!(node instanceof Element)) continue;
    for (const chart of [node, ...findAll(".js-plotly-plot", node)]) {
      if (chart._responsiveChartHandler) window.removeEventListener("resize", chart._responsiveChartHandler);
    }
  }
});
