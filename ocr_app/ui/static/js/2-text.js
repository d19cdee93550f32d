// The text pane. Only pages near the view are in the document; the others keep their height and are asked for again.
class Lane {
  constructor(root, index) {
    this.root = root;
    this.index = index;
    this.scroll = find(".ls-scroll", root);
    this.watcher = new IntersectionObserver((entries) => this.onVisible(entries), { root: this.scroll, rootMargin: "600px 0px" });
    this.scroll.addEventListener("scroll", () => this.onScroll(), { passive: true });
    for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      this.scroll.addEventListener(name, () => { this.touchedAt = performance.now(); }, { passive: true });
    }
    this.reset();
  }

  reset() {
    this.watcher.disconnect();
    this.pages = []; // [page index, verdict, reason, confidence] in the order they ended
    this.articles = new Map();
    this.wanted = new Set();
    this.currentPage = null;
    this.currentRaw = "";
    this.isFollowing = true;
    this.touchedAt = -Infinity; // when a person last used wheel, finger, key or scroll bar here
    this.isAsking = false;
    const empty = make("p", "ls-empty", say("empty_text"));
    empty.dataset.t = "empty_text";
    this.scroll.replaceChildren(empty);
  }

  article(page) {
    let article = this.articles.get(page);
    if (article) return article;
    find(".ls-empty", this.scroll)?.remove();
    article = make("article", "ls-page");
    article.dataset.page = page;
    article.append(make("header", "", say("page", { n: page + 1 })), make("div", "ls-body"));
    this.articles.set(page, article);
    this.scroll.append(article);
    this.watcher.observe(article);
    return article;
  }

  async finish(lines, base) {
    if (base > this.pages.length) lines = (await ask("pages", { lane: this.index, base: this.pages.length })) || [];
    else lines = lines.slice(this.pages.length - base);
    for (const line of lines) {
      this.pages.push(line);
      this.label(line);
      const article = this.article(line[0]);
      if (line[1] === "cancelled") this.isFollowing = false; // stays at what was read, above the pages that were not
      if (this.currentPage === line[0]) this.currentPage = null;
      if (article.isNear) this.want(line[0]);
      else if (article.text) this.unload(article);
    }
    return lines;
  }

  label([page, verdict, reason]) {
    const article = this.article(page);
    const header = find("header", article);
    article.dataset.verdict = verdict;
    header.textContent = say("page", { n: page + 1 });
    if (verdict !== "ok") header.append(make("span", `ls-verdict ${verdict}`, say(`verdict_${verdict}`)));
    if (reason) header.append(make("span", "ls-reason", reason));
  }

  async grow(current) {
    const article = this.article(current.page);
    article.dataset.verdict = "reading";
    if (this.currentPage !== current.page) { this.currentPage = current.page; this.currentRaw = ""; }
    if (current.base !== this.currentRaw.length) {
      const whole = await ask("current", { lane: this.index });
      if (whole && whole.page === current.page) this.currentRaw = whole.raw;
    } else this.currentRaw += current.tail;
    if (this.currentPage === current.page) this.fill(article, { html: current.html, raw: this.currentRaw });
  }

  fill(article, text) {
    const body = find(".ls-body", article);
    article.text = text;
    body.style.minHeight = "";
    body.classList.toggle("raw", state.view === "raw");
    if (state.view === "raw") body.replaceChildren(make("pre", "", state.furniture ? text.furnished ?? text.raw : text.raw));
    else if (text.html) body.innerHTML = text.html; // escaped on the server, see rendering.py
    else body.replaceChildren(make("p", "ls-note", article.dataset.verdict === "blank" ? say("blank_page") : ""));
    this.follow();
  }

  onVisible(entries) {
    for (const { target, isIntersecting } of entries) {
      const page = Number(target.dataset.page);
      target.isNear = isIntersecting;
      if (isIntersecting) this.want(page);
      else if (target.text && page !== this.currentPage) this.unload(target);
    }
  }

  unload(article) {
    const body = find(".ls-body", article);
    if (body.offsetHeight) body.style.minHeight = `${body.offsetHeight}px`;
    body.replaceChildren();
    article.text = null;
    article.isFinal = false;
  }

  want(page) {
    const article = this.articles.get(page);
    if (!article || page === this.currentPage || article.isFinal || !this.pages.some((line) => line[0] === page)) return;
    this.wanted.add(page);
    this.fetchWanted();
  }

  async fetchWanted() {
    if (this.isAsking) return;
    this.isAsking = true;
    const job = state.job;
    try {
      while (this.wanted.size && state.job === job) {
        const pages = [...this.wanted].slice(-8); // the newest first: that is where the person looks
        pages.forEach((page) => this.wanted.delete(page));
        const texts = await ask("texts", { lane: this.index, pages, diff: state.view === "diff" });
        for (const text of texts || []) this.settle(text);
      }
    } finally { this.isAsking = false; }
  }

  settle(text) {
    const article = this.articles.get(text.page);
    if (!article) return;
    article.isFinal = true;
    this.fill(article, text);
    if (!article.isNear) this.unload(article);
    if (this.awaited?.page === text.page) this.show(this.awaited.page, this.awaited.run);
  }

  // Scroll to a page, and to a run on it; the run may have to be fetched first.
  show(page, run = null) {
    const article = this.articles.get(page);
    if (!article) return;
    this.isFollowing = false;
    const target = run === null ? article : find(`[data-run="${run}"]`, article);
    this.awaited = run !== null && !target ? { page, run } : null;
    (target || article).scrollIntoView({ block: run === null ? "start" : "center" });
    if (run !== null && target) flash(target);
    this.want(page);
  }

  redraw() {
    for (const article of this.articles.values()) {
      if (state.view === "diff" || article.wasDiff) { article.isFinal = false; this.wantIfNear(article); }
      else if (article.text) this.fill(article, article.text);
      article.wasDiff = state.view === "diff";
    }
  }

  wantIfNear(article) {
    if (article.text) this.want(Number(article.dataset.page));
  }

  onScroll() {
    const isAtEnd = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 60;
    const isByPerson = performance.now() - this.touchedAt < 500; // text that grows or folds away scrolls too, and is no reason to stop
    this.isFollowing = isAtEnd || (this.isFollowing && !isByPerson);
    find("#ls-follow").hidden = this.isFollowing || state.over;
  }

  follow() {
    if (this.isFollowing) this.scroll.scrollTop = this.scroll.scrollHeight;
  }
}

function flash(node) {
  node.classList.remove("ls-flash");
  void node.offsetWidth; // restarts the animation
  node.classList.add("ls-flash");
}

async function search(text) {
  const list = find("#ls-finds");
  if (!text.trim()) { list.hidden = true; return; }
  const finds = (await ask("search", { text })) || [];
  list.replaceChildren(...finds.map(findLine));
  if (!finds.length) list.append(make("li", "ls-none", say("no_finds")));
  list.hidden = false;
}

function findLine([page, before, match, after]) {
  const button = make("button");
  button.type = "button";
  button.append(make("b", "", String(page + 1)), make("span", "", before), make("mark", "", match), make("span", "", after));
  button.addEventListener("click", () => { state.lanes[0].show(page); viewer.pin(page); });
  const item = make("li");
  item.append(button);
  return item;
}
