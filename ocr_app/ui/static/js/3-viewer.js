// The page image with its boxes, and the thumbnails.
const SVG = "http://www.w3.org/2000/svg";

const viewer = {
  page: null, current: null, isPinned: false, copied: new Set(), lit: [], thumbs: new Map(), wanted: new Set(), isAsking: false,

  reset() {
    Object.assign(this, { page: null, current: null, isPinned: false, copied: new Set(), lit: [] });
    this.thumbs.clear();
    this.wanted.clear();
    const empty = make("p", "ls-empty", say("empty_page"));
    empty.dataset.t = "empty_page";
    find("#ls-picture").replaceChildren(empty);
    find("#ls-thumbs").replaceChildren();
    find("#ls-viewer-title").textContent = say("page_image");
  },

  // The reader is on this page now.
  read(current) {
    if (this.current !== current.page) { this.current = current.page; this.copied.clear(); }
    current.copied.forEach((run) => this.copied.add(run));
    this.lit = current.lit;
    this.thumb(current.page, "reading");
    if (!this.isPinned) this.show(current.page);
    if (this.page === current.page) this.light(current.lit);
  },

  // Nothing is being read at this moment: show a finished page.
  rest(line) {
    if (line && !this.isPinned && (this.page === null || !state.over)) this.show(line[0]);
  },

  pin(page) {
    this.isPinned = page !== this.current;
    return this.show(page);
  },

  async show(page) {
    if (this.page === page) return;
    this.page = page;
    const picture = await ask("picture", { pages: [page] });
    if (this.page !== page) return;
    find("#ls-viewer-title").textContent = say("page", { n: page + 1 });
    for (const [index, button] of this.thumbs) button.setAttribute("aria-current", String(index === page));
    find("#ls-picture img")?.removeAttribute("src"); // or the browser keeps each page's pixels until it is short of memory
    find("#ls-picture").replaceChildren(picture ? this.draw(picture) : make("p", "ls-empty", say("page", { n: page + 1 })));
    if (this.current === page) this.light(this.lit);
    if (this.awaited?.page === page) { this.light(this.awaited.runs, true); this.awaited = null; }
  },

  draw({ page, source, size, boxes }) {
    const frame = make("div", "ls-frame");
    const image = make("img");
    image.src = source;
    image.alt = say("page", { n: page + 1 });
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
    svg.setAttribute("aria-hidden", "true");
    boxes.forEach(([x0, y0, x1, y1], run) => {
      const box = document.createElementNS(SVG, "rect");
      for (const [name, value] of Object.entries({ x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 2 })) box.setAttribute(name, value);
      box.dataset.run = run;
      svg.append(box);
    });
    svg.addEventListener("click", (event) => {
      if (event.target.dataset.run) { state.lanes[0].show(page, Number(event.target.dataset.run)); this.light([Number(event.target.dataset.run)]); }
    });
    frame.append(image, svg);
    return frame;
  },

  light(runs, isChosen = false) {
    const lit = new Set(runs);
    let first = null;
    for (const box of findAll("#ls-picture rect")) {
      const run = Number(box.dataset.run);
      box.classList.toggle("read", this.page === this.current && this.copied.has(run));
      box.classList.toggle("lit", lit.has(run));
      if (lit.has(run)) first ||= box;
    }
    if (first && isChosen) first.scrollIntoView({ block: "nearest" });
  },

  // Show where a stretch of text stands on its page.
  async locate(page, runs) {
    if (this.page === page) { this.light(runs, true); return; }
    this.awaited = { page, runs };
    await this.pin(page);
  },

  thumb(page, verdict, reason = "") {
    let button = this.thumbs.get(page);
    if (!button) {
      button = make("button", "ls-thumb");
      button.type = "button";
      button.dataset.page = page;
      button.append(make("span", "", String(page + 1)));
      button.addEventListener("click", () => { this.pin(page); state.lanes[0].show(page); });
      this.thumbs.set(page, button);
      const item = make("li");
      item.append(button);
      find("#ls-thumbs").append(item);
      thumbWatcher.observe(button);
    }
    if (button.dataset.verdict === verdict) return;
    button.dataset.verdict = verdict;
    const label = `${say("page", { n: page + 1 })}: ${say(`verdict_${verdict}`)}${reason ? `. ${reason}` : ""}`;
    button.setAttribute("aria-label", label);
    button.title = label;
    if (verdict === "reading" && !this.isPinned) find("#ls-thumbs").scrollTo({ left: 1e6, top: 1e6 });
  },

  async fetchThumbs() {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      while (this.wanted.size) {
        const pages = [...this.wanted].slice(0, 12);
        pages.forEach((page) => this.wanted.delete(page));
        for (const [page, source] of (await ask("thumbnails", { pages })) || []) {
          const image = make("img");
          image.src = source;
          image.alt = "";
          const button = this.thumbs.get(page);
          if (button && !find("img", button)) button.prepend(image);
        }
      }
    } finally { this.isAsking = false; }
  },
};

const thumbWatcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting || find("img", target)) continue;
    viewer.wanted.add(Number(target.dataset.page));
  }
  if (viewer.wanted.size) viewer.fetchThumbs();
}, { rootMargin: "200px" });

// Text that is selected, or touched, lights its boxes.
function locateSelection() {
  const selection = document.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  const range = selection.getRangeAt(0);
  const start = range.startContainer;
  const article = (start.nodeType === Node.TEXT_NODE ? start.parentElement : start).closest?.('[data-lane="0"] .ls-page');
  if (!article) return;
  const runs = findAll("[data-run]", article).filter((span) => range.intersectsNode(span)).map((span) => Number(span.dataset.run));
  if (runs.length) viewer.locate(Number(article.dataset.page), runs);
}
