// The page: a list of runs, or one run that is followed while it trains. All text from runs is set as text.
const page = document.getElementById("page");
const live = document.getElementById("live");
const FIGURES = {
  curves: "Learning curves", schedules: "Schedules", lineage: "Lineage", search: "Where the search went",
  beliefs: "What the model believes", learned: "What the model learned", timeline: "Timeline",
};
let stream = null;
let timer = null;
let follow = () => {};
let turn = 0;

const make = (tag, text, attributes = {}) => {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = String(text);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const number = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value ?? "–");

/* A score with its standard error behind it, where there is one. */
const withError = ({ score, score_error: error }) => (typeof error === "number" ? `${number(score)} ±${Number(error.toPrecision(2))}` : number(score));
const fetched = async (path) => {
  const answer = await fetch(path);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body;
};
const table = (heads, rows, label) => {
  const made = make("table");
  const top = made.createTHead().insertRow();
  for (const head of heads) top.append(make("th", head, { scope: "col" }));
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const cell of row) {
      const place = line.insertCell();
      if (cell instanceof Node) place.append(cell); else place.textContent = number(cell);
    }
  }
  const around = make("div", null, { class: "wide", tabindex: "0", role: "region", "aria-label": label });
  around.append(made);
  return around;
};
const flat = (hparams, prefix = "") => Object.entries(hparams ?? {}).flatMap(([name, value]) =>
  value !== null && typeof value === "object" ? flat(value, `${prefix}${name}.`) : [`${prefix}${name} ${number(value)}`]);

// Plotly is by far the largest file: it is fetched for the first run that is shown, and texts do not wait for it.
let plotly = null;
const plotlyLoaded = () => plotly ??= new Promise((loaded, failed) => {
  const script = make("script", null, { src: "/static/plotly.js" });
  script.onload = loaded;
  script.onerror = () => {
    plotly = null;  // to be tried again with the next report
    script.remove();
    failed(new Error("plotly.js could not be loaded"));
  };
  document.head.append(script);
});

const showRuns = async (current) => {
  const runs = await fetched("/api/runs");
  if (!current()) return;
  const rows = runs.map((run) => {
    const link = make("a", run.name, { href: `#${encodeURIComponent(run.name)}` });
    if (run.error) return [link, run.error, "", "", ""];
    const best = run.best ? `${run.metric} ${withError(run.best)}` : "–";
    return [link, run.state, `${run.reports} of ${run.budget}`, best, run.strategy];
  });
  page.replaceChildren(make("h2", "Runs"),
    rows.length ? table(["run", "state", "intervals", "best", "strategy"], rows, "Runs") : make("p", "There are no runs here yet."));
  live.textContent = "";
};

const frame = (name) => {
  const heading = make("h2", name);
  const parts = {};
  for (const part of ["facts", "agents", "failures"]) parts[part] = make("section");
  parts.trouble = make("p", null, { role: "alert" });
  const figures = make("section");
  for (const [figure, title] of Object.entries(FIGURES)) {
    const box = make("figure", null, { "data-figure": figure });
    box.append(make("div", null, { role: "group", "aria-label": title }), make("p", null, { role: "status" }));
    figures.append(box);
  }
  const downloads = make("p", "Download: ");
  const base = `/api/runs/${encodeURIComponent(name)}`;
  downloads.append(make("a", "history", { href: `${base}/history.csv` }), " · ", make("a", "schedule of the best", { href: `${base}/schedule.csv` }));
  page.replaceChildren(heading, parts.trouble, parts.facts, figures, parts.agents, parts.failures, downloads);
  return { base, parts, figures };
};

const showDetails = (run, parts) => {
  const bar = make("progress", null, { max: String(run.budget), value: String(run.reports), "aria-label": "intervals trained" });
  const best = run.best ? `${run.metric} ${withError(run.best)} (agent ${run.best.agent}, interval ${run.best.interval})` : "none yet";
  parts.facts.replaceChildren(bar, make("p", `${run.state}: ${run.reports} of ${run.budget} intervals, ${run.failures} failed attempts. Best: ${best}.`), make("p", run.strategy));
  parts.agents.replaceChildren(make("h3", "Agents"),
    table(["agent", "interval", run.metric, "state", "standing", "hparams"], run.agents.slice(0, 200).map((agent) => [agent.agent, agent.interval, withError(agent), agent.state, run.standings[agent.agent] || "", flat(agent.hparams).join("  ")]), "Agents"),
    ...run.effects_told.map((line) => make("p", line)));
  showFailures(run.failures_told, parts.failures);
};

// A failure that is unfolded stays so when the page is brought up to date: its reader may be in the middle of it.
const showFailures = (failures, part) => {
  const told = failures.map((failure) => `agent ${failure.agent}, interval ${failure.interval}: ${failure.message}`);
  const open = new Set([...part.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
  const entries = failures.map((failure, i) => {
    const entry = make("details");
    entry.append(make("summary", told[i]), make("pre", failure.traceback || "no traceback"));
    entry.open = open.has(told[i]);
    return entry;
  });
  part.replaceChildren(...(entries.length ? [make("h3", "Failures"), ...entries] : []));
};

const showFigure = async (box, path, current) => {
  const [plot, trouble] = box.children;
  try {
    const figure = await fetched(path);
    await plotlyLoaded();
    if (!current()) return;
    box.hidden = figure.data.length === 0;
    if (!box.hidden) drawFigure(plot, figure);
    trouble.textContent = "";
  } catch (error) { trouble.textContent = `This figure cannot be shown: ${error.message}`; }
};

const showRun = async (name, current) => {
  const { base, parts, figures } = frame(name);
  let busy = false;
  let again = false;
  // A page that nobody sees takes no time from training; it catches up when it is looked at.
  const refresh = async () => {
    if (busy || document.hidden) { again = true; return; }
    busy = true;
    try {
      do {
        again = false;
        const run = await fetched(base);
        if (!current()) return;
        showDetails(run, parts);
        parts.trouble.textContent = "";
        live.textContent = `${run.reports} of ${run.budget} intervals`;
        page.dataset.reports = String(run.reports);
        for (const box of figures.children) {
          if (document.hidden) { again = true; break; }
          await showFigure(box, `${base}/figures/${box.dataset.figure}`, current);
        }
      } while (again && current() && !document.hidden);
    } catch (error) {
      if (current()) parts.trouble.textContent = `This cannot be shown: ${error.message}`;
    } finally { busy = false; }
  };
  // Nor does it keep one of the few connections that a browser has for a host.
  follow = () => {
    stream?.close();
    stream = null;
    if (document.hidden) return;
    stream = new EventSource(`${base}/events`);
    stream.onmessage = () => {
      clearTimeout(timer);
      timer = setTimeout(refresh, 100);
    };
  };
  await refresh();
  if (current()) follow();
};

const route = async () => {
  turn += 1;
  const mine = turn;
  const current = () => mine === turn;  // a page that was left while it was fetched must not come back
  clearTimeout(timer);
  stream?.close();
  stream = null;
  follow = () => {};
  const name = decodeURIComponent(location.hash.slice(1));
  try {
    await (name ? showRun(name, current) : showRuns(current));
  } catch (error) {
    page.replaceChildren(make("p", `This cannot be shown: ${error.message}`, { role: "alert" }));
  }
  if (current()) page.focus({ preventScroll: true });
};
addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => follow());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", route);
// The cookie has the token now: it need not stay in the address, from where it would be shared and remembered.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
await route();
