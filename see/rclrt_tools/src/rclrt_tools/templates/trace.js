// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
// A run: the picture of all of it where it is small, jobs where they are few enough to be seen.
// Only those parts are unpacked that are looked at.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const NONE = 2 ** 32 - 1, ROW = 20, AXIS = 26, OVERVIEW = 34, MOST_DRAWN = 400000;
const WAITS = ["", "its group was busy", "no thread was free", ""];
const canvas = $("time").firstChild;
const items = [...data.chains.map((c) => ({...c, chain: true})), ...data.rows.map((r, i) => ({...r, row: i}))];
const rowItems = items.slice(data.chains.length);
const parts = data.chunks.map(([begin, end, count, unit, base], i) => ({begin, end, count, unit, base, i}));
let first = 0;
for (const part of parts) { part.first = first; first += part.count; }
const view = {t0: 0, t1: data.span, top: 0};
let chosen = null, path = [], sort = {by: "late", down: true}, shown = [], hover = null, active = null;
let overview = null, busy = null, late = null, pending = false;

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Unpacks a part: columns by name, and the starts of its jobs in ns.
function load(part) {
  part.loading ||= inflate($("chunk-" + part.i).textContent).then((bytes) => {
    const n = part.count, columns = {};
    data.columns.forEach((name, k) => {
      const column = new Uint32Array(n), at = k * 4 * n;
      for (let i = 0; i < n; i++) {
        column[i] = bytes[at + i] | bytes[at + n + i] << 8 | bytes[at + 2 * n + i] << 16 | bytes[at + 3 * n + i] << 24;
      }
      columns[name] = column;
    });
    const start = new Float64Array(n);
    for (let i = 0, grid = 0; i < n; i++) start[i] = part.base + (grid += columns.start[i]) * part.unit;
    columns.start = start;
    part.columns = columns;
  });
  return part.loading;
}

const partOf = (number) => parts.find((p) => number < p.first + p.count);

function jobIn(part, i) {
  const c = part.columns, unit = part.unit, info = c.info[i], start = c.start[i];
  return {
    number: part.first + i, row: c.row[i], start, end: start + c.run[i] * unit,
    release: start - c.wait[i] * unit, run: c.run[i] * unit, wait: c.wait[i] * unit,
    due: c.due[i] === NONE ? null : c.due[i] * unit, cpu: c.cpu_ns[i] === NONE ? null : c.cpu_ns[i] * unit,
    by: c.by[i] ? part.first + i - c.by[i] : -1, outcome: info & 7, waited: info >> 3 & 3,
    policy: info >> 5 & 15, priority: (info >> 9 & 255) - 64, on: info >> 17 & 16383,
    late: info >>> 31 === 1, thread: data.threads[c.thread[i]],
  };
}

async function jobOf(number) {
  const part = partOf(number);
  await load(part);
  return jobIn(part, number - part.first);
}

// The job of a callback that ended at a time, and what led to it.
async function pathTo(row, [, end]) {
  let found = null;
  for (const part of parts) {
    if (part.begin > end + part.unit || part.end < end - part.unit) continue;
    await load(part);
    const c = part.columns;
    for (let i = 0; i < part.count; i++) {
      if (c.row[i] !== row || (c.info[i] & 7) > 2) continue;
      const off = Math.abs(c.start[i] + c.run[i] * part.unit - end);
      if (found === null || off < found[0]) found = [off, part, i];
    }
  }
  if (found === null) return [];
  const jobs = [jobIn(found[1], found[2])];
  while (jobs[0].by >= 0 && jobs.length < 100) jobs.unshift(await jobOf(jobs[0].by));
  return jobs;
}

async function choose(item) {
  chosen = item;
  hover = null;
  path = [];
  if (item.chain) path = await Promise.all(item.path.map(jobOf));
  else if (item.worst && item.jobs) path = await pathTo(item.row, item.worst);
  for (const tr of document.querySelectorAll("#list tr")) tr.classList.toggle("chosen", tr.item === item);
  showWorst();
  describe();
}

function showWorst() {
  if (!chosen || !chosen.worst) return;
  const begin = Math.min(chosen.worst[0], ...path.map((j) => j.release));
  const end = Math.max(chosen.worst[1], ...path.map((j) => j.end)), room = Math.max(2000, (end - begin) * 0.12);
  view.top = 0;
  move(begin - room, end + room);
}

function move(t0, t1) {
  const span = Math.min(Math.max(t1 - t0, 1000), data.span * 1.1), middle = (t0 + t1) / 2;
  const least = -0.05 * data.span - 1000, last = 1.05 * data.span + 1000;
  view.t0 = Math.min(Math.max(middle - span / 2, Math.min(least, last - span)), Math.max(last - span, least));
  view.t1 = view.t0 + span;
  redraw();
}

function zoom(factor, at = (view.t0 + view.t1) / 2) {
  move(at - (at - view.t0) * factor, at + (view.t1 - at) * factor);
}

function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

// The parts in view if all jobs of them can be drawn; else null.
function inView() {
  const seen = parts.filter((p) => p.end >= view.t0 && p.begin <= view.t1);
  if (seen.reduce((sum, p) => sum + p.count, 0) > MOST_DRAWN) return null;
  if (data.windows.length && !data.windows.some(([a, b]) =>
    a <= Math.max(view.t0, 0) && b >= Math.min(view.t1, data.span))) return null;
  const waiting = seen.filter((p) => !p.columns);
  if (waiting.length) Promise.all(waiting.map(load)).then(redraw);
  return waiting.length ? null : seen;
}

function columnsInView() {
  const n = data.density.columns, width = data.span / n;
  return [Math.max(0, Math.floor(view.t0 / width)), Math.min(n - 1, Math.floor(view.t1 / width)), width];
}

function order(seen) {
  active = new Set();
  if (seen) {
    for (const part of seen) {
      const {row, start, wait, run} = part.columns, unit = part.unit;
      for (let i = 0; i < part.count; i++) {
        if (start[i] - wait[i] * unit < view.t1 && start[i] + run[i] * unit > view.t0) active.add(row[i]);
      }
    }
  } else if (busy) {
    const [from, to] = columnsInView(), n = data.density.columns;
    for (let r = 0; r < data.rows.length; r++) {
      for (let k = from; k <= to; k++) if (busy[r * n + k]) { active.add(r); break; }
    }
  }
  const rows = [...new Set(path.map((j) => j.row))];
  const wanted = new Set(shown.filter((item) => !item.chain).map((item) => item.row));
  for (const item of sorted(rowItems)) {
    if (rows.includes(item.row)) continue;
    if (wanted.has(item.row) && (!$("here").checked || active.has(item.row))) rows.push(item.row);
  }
  return rows;
}

let place = {rows: [], left: 0, width: 0, height: 0};

function draw() {
  const [c, width, height] = context(canvas), seen = inView(), rows = order(seen);
  const left = Math.round(Math.min(300, width * 0.36)), scale = (width - left) / (view.t1 - view.t0);
  const x = (t) => left + (t - view.t0) * scale;
  view.top = Math.max(0, Math.min(view.top, rows.length * ROW + AXIS + OVERVIEW + 4 - height));
  place = {rows, left, width, height};
  const y = (k) => OVERVIEW + AXIS + 2 + k * ROW - view.top;
  const onPath = new Set(path.map((j) => j.number)), line = new Map(rows.map((r, k) => [r, k]));
  c.save();
  c.beginPath(); c.rect(0, OVERVIEW + AXIS, width, height); c.clip();
  c.fillStyle = color("tint");
  rows.forEach((r, k) => { if (k % 2) c.fillRect(0, y(k), width, ROW); });
  drawGrid(c, x, left, width, height);
  c.save();
  c.beginPath(); c.rect(left, 0, width, height); c.clip();
  if (seen) drawJobs(c, seen, x, y, line, onPath, height);
  else if (busy) drawPicture(c, x, y, line, height);
  drawArrows(c, x, y, line);
  c.restore();
  c.textAlign = "left";
  rows.forEach((r, k) => {
    if (y(k) < -ROW || y(k) > height) return;
    c.fillStyle = path.some((j) => j.row === r) ? color("ink") : color("quiet");
    c.fillText(fitted(c, data.rows[r].name, left - 16), 10, y(k) + ROW / 2);
  });
  c.restore();
  drawAxis(c, x, left, width);
  drawOverview(c, left, width);
  $("where").textContent = `${length(view.t1 - view.t0)} from ${(view.t0 / 1e9).toFixed(6)} s` +
    (seen ? "" : data.windows.length ? "; jobs are kept around the worst ones" : "");
}

// A name for text that flows: nobody reads more of it. The table has it in full as a tooltip.
function short(name) {
  return name.length > 160 ? name.slice(0, 60) + "…" + name.slice(-99) : name;
}

// A text in that room: without words that every name has, then without its begin.
function fitted(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  text = text.replace("/subscription/", " ← ");
  if (c.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (c.measureText("…" + text.slice(middle)).width <= room) high = middle; else low = middle + 1;
  }
  return "…" + text.slice(low);
}

function drawJobs(c, seen, x, y, line, onPath, height) {
  const colors = [color("job"), color("late"), color("path"), color("tight")], drawn = new Map();
  for (const part of seen) {
    const {row, start, wait, run, info} = part.columns, unit = part.unit;
    for (let i = 0; i < part.count; i++) {
      const k = line.get(row[i]), end = start[i] + run[i] * unit, release = start[i] - wait[i] * unit;
      if (k === undefined || end < view.t0 || release > view.t1) continue;
      const at = y(k);
      if (at < -ROW || at > height) continue;
      const mine = onPath.has(part.first + i), isLate = info[i] >>> 31 === 1;
      const a = x(start[i]), b = Math.max(a + 1, x(end));
      if (!mine && !isLate && b - (drawn.get(k) ?? -9) < 0.5) continue;
      drawn.set(k, b);
      c.fillStyle = colors[isLate ? 1 : mine ? 2 : 0];
      if ((info[i] & 7) > 2) { c.fillStyle = colors[3]; c.fillRect(a - 1, at + 3, 2, ROW - 6); continue; }
      if (a - x(release) > 0.5) c.fillRect(x(release), at + ROW / 2 - 1, a - x(release), 2);
      c.fillRect(a, at + 4, b - a, ROW - 8);
      if (mine && isLate) { c.strokeStyle = colors[2]; c.lineWidth = 2; c.strokeRect(a, at + 4, b - a, ROW - 8); }
    }
  }
}

function drawPicture(c, x, y, line, height) {
  const [from, to, width] = columnsInView(), n = data.density.columns;
  const per = Math.max(1, Math.floor((to - from + 1) / (place.width - place.left)));
  for (const [r, k] of line) {
    if (y(k) < -ROW || y(k) > height) continue;
    for (let i = from; i <= to; i += per) {
      let share = 0, missed = false;
      for (let j = i; j < i + per && j < n; j++) {
        share = Math.max(share, busy[r * n + j]);
        missed ||= late[r * n + j] === 1;
      }
      if (!share) continue;
      const tall = Math.max(2, Math.sqrt(share / 255) * (ROW - 6)), a = x(i * width);
      c.fillStyle = missed ? color("late") : color("job");
      c.fillRect(a, y(k) + ROW - 3 - tall, Math.max(1, x((i + per) * width) - a), tall);
    }
  }
}

function drawArrows(c, x, y, line) {
  c.strokeStyle = color("path");
  c.lineWidth = 1.2;
  for (let i = 1; i < path.length; i++) {
    const [from, to] = [line.get(path[i - 1].row), line.get(path[i].row)];
    const a = x(Math.min(path[i - 1].end, path[i].release)), b = x(path[i].release);
    const ya = y(from) + ROW - 4, yb = y(to) + ROW / 2;
    c.beginPath(); c.moveTo(a, ya); c.bezierCurveTo(a, yb, b, ya, b, yb); c.stroke();
  }
}

const stepOf = (left, width) => tickStep(view.t1 - view.t0, (width - left) / 90);

function drawGrid(c, x, left, width, height) {
  const step = stepOf(left, width);
  c.strokeStyle = color("line");
  c.lineWidth = 1;
  for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
    c.beginPath(); c.moveTo(Math.round(x(t)) + 0.5, 0); c.lineTo(Math.round(x(t)) + 0.5, height); c.stroke();
  }
}

function drawAxis(c, x, left, width) {
  c.fillStyle = color("paper");
  c.fillRect(0, OVERVIEW, width, AXIS);
  const step = stepOf(left, width);
  const size = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  // Ticks of a few digits: from a second, or what is a thousand steps, counted on.
  const base = size[0] === 1e9 ? 0 : Math.floor(Math.max(0, view.t0) / (step * 1000)) * step * 1000;
  c.fillStyle = color("quiet");
  c.textAlign = "left";
  const start = base ? `${+(base / 1e9).toFixed(9)} s +` : "time";
  c.fillText(fitted(c, `${start}  (${size[1]})`, left - 16), 10, OVERVIEW + AXIS / 2);
  c.textAlign = "center";
  c.strokeStyle = color("line");
  c.lineWidth = 1;
  for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
    if (x(t) < left + 14 || x(t) > width - 16) continue;
    c.fillText(String(+((t - base) / size[0]).toPrecision(6)), x(t), OVERVIEW + AXIS / 2);
  }
  c.beginPath(); c.moveTo(0, OVERVIEW + AXIS - 0.5); c.lineTo(width, OVERVIEW + AXIS - 0.5); c.stroke();
}

// The whole run in one strip, and where the view is in it.
function drawOverview(c, left, width) {
  c.fillStyle = color("quiet");
  c.textAlign = "left";
  c.fillText(`whole run, ${length(data.span)}`, 10, OVERVIEW / 2);
  const n = data.density.columns, scale = (width - left) / n;
  if (overview) {
    for (let i = 0; i < n; i++) {
      c.fillStyle = overview[i] < 0 ? color("late") : color("job");
      const tall = Math.abs(overview[i]) * (OVERVIEW - 10);
      if (tall) c.fillRect(left + i * scale, OVERVIEW - 4 - tall, Math.max(1, scale), tall);
    }
  }
  const a = left + (width - left) * view.t0 / data.span, b = left + (width - left) * view.t1 / data.span;
  c.strokeStyle = color("path");
  c.lineWidth = 2;
  c.strokeRect(Math.max(left + 1, Math.min(a, width - 4)), 3, Math.max(3, Math.min(b, width) - Math.max(a, left) - 2), OVERVIEW - 5);
}

function sorted(list) {
  const sign = sort.down ? -1 : 1, value = (item) => sort.by === "name" ? item.name : item[sort.by] ?? -1;
  return [...list].sort((a, b) => {
    const [p, q] = [value(a), value(b)];
    return (p < q ? -1 : p > q ? 1 : 0) * sign || (b.max ?? -1) - (a.max ?? -1);
  });
}

const HEADS = [["name", ""], ["jobs", "n"], ["p50", "p50"], ["p99", "p99"], ["max", "worst"],
  ...(items.some((i) => i.bound !== null) ? [["bound", "bound"]] : []), ["late", "late"], ["lost", "lost"]];
const MOST_LISTED = 1500;

function list() {
  const wanted = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  shown = items.filter((item) => wanted.every((word) => (item.file + " " + item.name).toLowerCase().includes(word)));
  const make = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };
  const table = document.createElement("table"), head = table.createTHead().insertRow();
  for (const [by, text] of HEADS) {
    const th = make("th", (text || "callback, ms") + (sort.by === by ? (sort.down ? " ↓" : " ↑") : ""));
    th.dataset.by = by;
    th.onclick = () => { sort = {by, down: sort.by === by ? !sort.down : by !== "name"}; list(); };
    head.append(th);
  }
  const body = table.createTBody();
  for (const item of [...sorted(shown.filter((i) => i.chain)), ...sorted(shown.filter((i) => !i.chain))].slice(0, MOST_LISTED)) {
    const tr = body.insertRow();
    tr.item = item;
    tr.tabIndex = 0;
    tr.onclick = () => choose(item);
    tr.onkeydown = (event) => { if (event.key === "Enter") choose(item); };
    tr.classList.toggle("chosen", item === chosen);
    for (const [by] of HEADS) {
      const over = by === "late" && item.late > 0 || by === "max" && item.late > 0;
      const text = by === "name" ? short((item.file ? item.file + ": " : "") + item.name)
        : ["jobs", "late", "lost"].includes(by) ? item[by].toLocaleString("en") : number(item[by]);
      const td = make("td", by === "name" ? "" : text);
      if (by === "name" && text !== item.name) td.title = item.name;
      if (by === "name") for (const word of text.split(/(?<=[^/]\/)/)) td.append(word, document.createElement("wbr"));
      if (item.chain && by === "name") td.append(make("span", "  chain"));
      if (over) td.className = "late";
      tr.append(td);
    }
    const tag = tr.querySelector("span");
    if (tag) tag.className = "quiet";
  }
  const rest = shown.length - MOST_LISTED;
  $("list").replaceChildren(table, ...(rest > 0 ? [make("p", `${rest} more: search for them`)] : []),
    ...(shown.length ? [] : [make("p", "nothing has this name")]));
  redraw();
}

// What is known of a job, or of what was chosen.
function describe(job = hover) {
  const box = $("job"), out = [];
  const put = (name, text, tone = "") => out.push([name, text, tone]);
  if (job) {
    const row = data.rows[job.row];
    put("", short(row.name));
    put("response", length(job.end - job.release));
    put("waited", length(job.wait) + (job.waited ? ` (${WAITS[job.waited]})` : ""));
    put("start to end", length(job.run));
    if (job.cpu !== null) put("CPU time", length(job.cpu));
    if (job.due !== null) put("deadline", length(job.due), job.late ? "late" : "");
    if (job.outcome) put("", data.outcomes[job.outcome]);
    if (job.policy) put("under", data.policies[job.policy] + (job.policy > 3 && job.policy < 6 ? " " + job.priority : ""));
    put("thread", `${job.thread} on CPU ${job.on}`);
    put("at", `${(job.release / 1e9).toFixed(6)} s`);
  } else if (chosen) {
    put("", short(chosen.name));
    if (path.length) put("worst", length(chosen.worst[1] - chosen.worst[0]));
    const all = Math.max(...path.map((j) => j.end)) - Math.min(...path.map((j) => j.release));
    if (path.length > 1) put("with what led to it", `${path.length} jobs, ${length(all)}`);
  }
  box.replaceChildren();
  for (const [name, text, tone] of out) {
    if (name) box.append(Object.assign(document.createElement("span"), {className: "quiet", textContent: name + " "}));
    box.append(Object.assign(document.createElement("b"), {textContent: text, className: tone}), "   ");
  }
  if (!chosen) return;
  $("dist-name").replaceChildren(Object.assign(document.createElement("b"), {textContent: short(chosen.name)}),
    ` — ${chosen.chain ? chosen.semantics : "response times"} of ${chosen.jobs.toLocaleString("en")}, how many took how long`);
  drawDistribution($("dist").firstChild, chosen, data.bins);
}

function jobAt(px, py) {
  const r = place.rows[Math.floor((py - OVERVIEW - AXIS - 2 + view.top) / ROW)], seen = inView();
  if (py < OVERVIEW + AXIS || px < place.left || r === undefined || !seen) return null;
  const per = (view.t1 - view.t0) / (place.width - place.left), t = view.t0 + (px - place.left) * per;
  let best = null, least = 4 * per;
  for (const part of seen) {
    const {row, start, wait, run} = part.columns, unit = part.unit;
    for (let i = 0; i < part.count; i++) {
      if (row[i] !== r) continue;
      const off = Math.max(0, start[i] - wait[i] * unit - t, t - start[i] - run[i] * unit);
      if (off < least || off === least && off === 0) { least = off; best = [part, i]; }
    }
  }
  return best && jobIn(...best);
}

let drag = null;
const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
const timeAt = (px) => view.t0 + (px - place.left) / (place.width - place.left) * (view.t1 - view.t0);

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const [px] = local(event);
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const by = event.deltaX * (view.t1 - view.t0) / (place.width - place.left);
    if (event.shiftKey) { view.top += event.deltaY || event.deltaX; redraw(); } else move(view.t0 + by, view.t1 + by);
  } else if (px < place.left) { view.top += event.deltaY; redraw(); } else zoom(1.2 ** (event.deltaY / 100), timeAt(px));
}, {passive: false});
canvas.addEventListener("pointerdown", (event) => {
  const [px, py] = local(event);
  if (py < OVERVIEW && px > place.left) {
    const middle = (px - place.left) / (place.width - place.left) * data.span, half = (view.t1 - view.t0) / 2;
    move(middle - half, middle + half);
  }
  drag = {px, py, t0: view.t0, t1: view.t1, top: view.top, moved: false};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  const [px, py] = local(event);
  if (drag && drag.py > OVERVIEW) {
    const by = (drag.px - px) * (drag.t1 - drag.t0) / (place.width - place.left);
    drag.moved ||= Math.abs(px - drag.px) + Math.abs(py - drag.py) > 3;
    view.top = drag.top + drag.py - py;
    move(drag.t0 + by, drag.t1 + by);
  } else if (!drag) { hover = jobAt(px, py); describe(); }
});
canvas.addEventListener("pointerup", async (event) => {
  const [px, py] = local(event), job = drag && !drag.moved ? jobAt(px, py) : null;
  drag = null;
  if (!job) return;
  const found = [job];
  while (found[0].by >= 0 && found.length < 100) found.unshift(await jobOf(found[0].by));
  [chosen, path] = [rowItems[job.row], found];
  list();
  describe(job);
});
canvas.addEventListener("dblclick", (event) => zoom(0.3, timeAt(local(event)[0])));
canvas.addEventListener("keydown", (event) => {
  const by = (view.t1 - view.t0) * 0.2;
  const keys = {
    ArrowLeft: () => move(view.t0 - by, view.t1 - by), ArrowRight: () => move(view.t0 + by, view.t1 + by),
    ArrowUp: () => { view.top -= ROW * 3; redraw(); }, ArrowDown: () => { view.top += ROW * 3; redraw(); },
    "+": () => zoom(0.5), "-": () => zoom(2), 0: () => move(0, data.span), w: showWorst,
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
$("search").oninput = list;
$("here").onchange = redraw;
$("worst").onclick = showWorst;
$("whole").onclick = () => move(0, data.span);
$("in").onclick = () => zoom(0.5);
$("out").onclick = () => zoom(2);
new ResizeObserver(() => requestAnimationFrame(() => { redraw(); describe(); })).observe($("time"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redraw(); describe(); });

const due = items.filter((item) => item.deadline !== null), missed = due.filter((item) => item.late).length;
$("about").textContent = `${data.jobs.toLocaleString("en")} jobs of ${data.rows.filter((r) => r.jobs).length} callbacks in ${length(data.span)}. ` +
  (missed ? `${missed} of ${due.length} stated deadlines were missed.`
    : due.length ? "All stated deadlines were met." : "Nobody has stated a deadline.");
if (missed) $("about").classList.add("late");
list();
(async () => {
  await choose(items[data.open]);
  draw();
  document.body.dataset.ready = Math.round(performance.now());
  [busy, late] = await Promise.all(["busy", "late"].map((id) => inflate($(id).textContent)));
  const n = data.density.columns;
  overview = new Float64Array(n);
  const missedIn = new Uint8Array(n);
  for (let i = 0; i < busy.length; i++) { overview[i % n] += busy[i]; missedIn[i % n] |= late[i]; }
  const most = Math.max(...overview, 1);
  for (let i = 0; i < n; i++) overview[i] *= (missedIn[i] ? -1 : 1) / most;
  redraw();
  document.body.dataset.whole = Math.round(performance.now());
})();
