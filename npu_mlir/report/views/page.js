"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const num = n => Math.round(n).toLocaleString("en-US");
const size = n => n < 10240 ? num(n) + " B" : n < 10485760 ? num(n / 1024) + " KiB" : num(n / 1048576) + " MiB";
const pct = x => x == null ? "" : (100 * x).toFixed(1) + " %";
// The names of nodes in one text (support/node_names.py).
const nodesOf = text => (text.match(/(?:[^+\\]|\\[^]|\\$)+/g) || []).map(part => part.replace(/\\([+\\])/g, "$1"));
const theme = new Map();
function css(name) {
  if (!theme.has(name)) theme.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return theme.get(name);
}
const make = (tag, text, cls) => { const e = document.createElement(tag); if (text != null) e.textContent = text; if (cls) e.className = cls; return e; };
function ints(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Int32Array(bytes.buffer);
}
const PARTS = ["hbm", "transfer", "busy", "prefetch", "fill", "flag", "waiting", "starved", "barrier", "done", "launch"];
const WORDS = { hbm: "busy: bandwidth of HBM", transfer: "busy: bandwidth", busy: "busy: other", prefetch: "waiting for a prefetch" };
const ROW = 24, LEFT = 62, NARROW = 2;

// ---- data ----------------------------------------------------------------------------------------------------------
for (const k of D.kernels) {
  for (const key of ["site", "start", "end", "setter", "chain", "lives"]) k[key] = ints(k[key]);
  k.rows = D.pipes.map(() => []);
  const row = new Map(D.pipes.map((p, i) => [p, i]));
  for (let i = 0; i < k.site.length; i++) k.rows[row.get(k.sites[k.site[i]].pipe)].push(i);
  k.lead = k.pipes.S ? k.pipes.S.launch : 0;
  k.time = k.one - k.lead;
  // Loads ahead begin before the section before is complete.
  k.first = k.start.reduce((a, b) => Math.min(a, b), 0);
  k.perSpace = {};
  for (let i = 0; i < k.lives.length; i += 4) {
    const space = k.buffers[k.lives[i]].space;
    (k.perSpace[space] ||= []).push(i);
  }
  for (const site of k.sites) site.name = site.text.split(" ", 1)[0].replace("npu_isa.", "");
  k.used = {};
  for (const b of k.buffers) k.used[b.space] = Math.max(k.used[b.space] || 0, b.address + b.bytes * b.slots);
}
const USED = {};
for (const k of D.kernels) for (const space in k.used) USED[space] = Math.max(USED[space] || 0, k.used[space]);
// What is under the pointer: a kernel, the number of its entry, and when its launch begins.
let current = D.kernels[0], view = [0, 1], hover = null, pickedSite = -1, inRun = false;
const full = () => inRun ? R.cycles : current.time;
const beginOf = l => l[1] + D.kernels[l[0]].lead;
// The launches in view, as kernels and when their time begins.
function shownParts() {
  if (!inRun) return [[current, 0]];
  return D.launches.map(l => [D.kernels[l[0]], beginOf(l)]).filter(([k, at]) => at + k.first < view[1] && at + k.time > view[0]);
}

// ---- header --------------------------------------------------------------------------------------------------------
$("title").textContent = `${D.file} on ${D.report.target}`;
const R = D.report;
for (const [name, value] of [
  ["cycles", num(R.cycles)], ["time", `${(R.cycles / D.clock).toFixed(1)} us at ${num(D.clock)} MHz`], ["precision", R.precision],
  ["cores", R.cores], ...(R.memory && R.memory.l2 !== "off" ? [["L2 at the start", R.memory.l2], ["from L2", size(R.memory.hits)], ["from HBM", size(R.memory.misses)], ["prefetched", size(R.memory.prefetched)]] : []), ["launches", D.launches.length], ["instructions", num(R.instructions)],
  ["MAC utilisation", pct(R.mac_utilisation)], ["lower bound / cycles", R.bounds ? pct(R.efficiency) : "no bound is known"],
  ...(R.bounds ? [["at least, launch by launch", num(R.bounds.serial)], ...(R.bounds.linked !== R.bounds.serial ? [["at least, as linked", num(R.bounds.linked)]] : []), ["with weights ahead", num(R.bounds.prefetched)], ["busiest pipe alone", num(R.bounds.overlapped)]] : [])]) {
  const s = make("span", name + " "); s.append(make("b", value)); $("facts").append(s);
}
for (const a of R.assumptions) $("assumptions").append(make("li", a));

// ---- canvases ------------------------------------------------------------------------------------------------------
function context(id) {
  const c = $(id), ratio = devicePixelRatio || 1, w = c.clientWidth, h = c.height0 ||= c.height;
  c.style.height = h + "px";
  if (c.width !== Math.round(w * ratio) || c.heightSet !== h * ratio) { c.width = Math.round(w * ratio); c.height = h * ratio; c.heightSet = h * ratio; }
  const g = c.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, h);
  g.font = "11px system-ui, sans-serif"; g.textBaseline = "middle";
  return [g, w, h];
}
const xOf = (t, w) => LEFT + (t - view[0]) / (view[1] - view[0]) * (w - LEFT);
const tOf = (x, w) => view[0] + (x - LEFT) / (w - LEFT) * (view[1] - view[0]);
function firstEndingAfter(k, row, t) {
  let lo = 0, hi = row.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (k.end[row[mid]] <= t) lo = mid + 1; else hi = mid; }
  return lo;
}
const PALETTE = ["#3b7dd8", "#2aa198", "#cb7832", "#5b8c3e", "#b8487e", "#6b7a90", "#a08a2c", "#7a5230", "#4d4f9e", "#0f7f6e", "#c0392b", "#8a9a5b"];
const mnemonics = new Map();
function colorOf(site) {
  const name = site.name;
  if (name === "wait_flag") return css("waiting");
  if (name === "set_flag") return css("flag");
  if (!mnemonics.has(name)) mnemonics.set(name, PALETTE[mnemonics.size % PALETTE.length]);
  return mnemonics.get(name);
}
function axis(g, w, h) {
  const span = view[1] - view[0], rough = span / Math.max(2, (w - LEFT) / 110), p = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map(m => m * p).find(s => s >= rough));
  g.fillStyle = css("dim"); g.strokeStyle = css("line"); g.textAlign = "center";
  for (let t = Math.ceil(view[0] / step) * step; t <= view[1]; t += step) {
    const x = xOf(t, w); g.beginPath(); g.moveTo(x, 14); g.lineTo(x, h); g.stroke(); g.fillText(num(t), x, 7);
  }
  g.textAlign = "left"; g.fillText("cycle", 6, 7);
}
// What is too narrow to be seen: each column of pixels is filled as far as it is covered, by colour.
class Columns {
  constructor(w) { this.w = Math.ceil(w) + 1; this.covered = new Map(); }
  add(color, x0, x1) {
    if (!this.covered.has(color)) this.covered.set(color, new Float32Array(this.w));
    const part = this.covered.get(color);
    for (let x = Math.floor(x0); x < x1; x++) part[x] += Math.min(x1, x + 1) - Math.max(x0, x);
  }
  draw(g, y, height) {
    const base = new Float32Array(this.w);
    for (const [color, part] of this.covered) {
      g.fillStyle = color;
      for (let x = 0; x < this.w; x++) if (part[x] > 0) { const h = Math.max(0.7, Math.min(1, part[x]) * height); g.fillRect(x, y + Math.max(0, height - base[x] - h), 1, h); base[x] += h; }
    }
  }
}
// Sections that do not begin with the view: a line, and the name where there is room.
function drawSections(g, w, h) {
  if (!inRun) return;
  const seen = D.launches.filter(l => l[1] < view[1] && l[1] + l[2] > view[0]);
  for (const l of seen) {
    const x0 = Math.max(LEFT, xOf(l[1], w)), x1 = xOf(l[1] + l[2], w), k = D.kernels[l[0]];
    if (seen.length > w / 12) break;
    g.fillStyle = PALETTE[l[0] % PALETTE.length]; g.globalAlpha = k === current ? 0.14 : 0.06; g.fillRect(x0, 14, x1 - x0, h - 14); g.globalAlpha = 1;
    g.strokeStyle = css("dim"); if (x0 > LEFT) { g.beginPath(); g.moveTo(x0, 14); g.lineTo(x0, h); g.stroke(); }
    if (x1 - x0 > 40) { g.save(); g.beginPath(); g.rect(x0, h - 16, x1 - x0, 16); g.clip(); g.fillStyle = css("text"); g.fillText(k.name, x0 + 4, h - 8); g.restore(); }
  }
}
function drawTimeline() {
  const [g, w, h] = context("timeline"), parts = shownParts();
  drawSections(g, w, h);
  axis(g, w, h);
  D.pipes.forEach((pipe, r) => {
    const y = 20 + r * ROW;
    g.fillStyle = css("text"); g.fillText(pipe, 6, y + ROW / 2 - 2);
    const narrow = new Columns(w);
    for (const [k, at] of parts) for (let row = k.rows[r], i = firstEndingAfter(k, row, view[0] - at); i < row.length && at + k.start[row[i]] < view[1]; i++) {
      const e = row[i], x0 = Math.max(LEFT, xOf(at + k.start[e], w)), x1 = Math.min(w, xOf(at + k.end[e], w)), site = k.sites[k.site[e]];
      const wait = site.name === "wait_flag", marked = k === current && k.site[e] === pickedSite || hover && e === hover.entry && k === hover.k && at === hover.at;
      if (x1 - x0 < NARROW && !marked) { if (!wait) narrow.add(colorOf(site), x0, x1); continue; }
      g.globalAlpha = wait ? 0.45 : 1;
      g.fillStyle = colorOf(site);
      g.fillRect(x0, y + (wait ? 6 : 0), Math.max(0.6, x1 - x0 - (x1 - x0 > 3 ? 0.5 : 0)), ROW - (wait ? 16 : 5));
      g.globalAlpha = 1;
      if (marked) { g.strokeStyle = css("text"); g.lineWidth = 1.5; g.strokeRect(x0, y, Math.max(2, x1 - x0), ROW - 5); g.lineWidth = 1; }
      if (x1 - x0 > 46 && !wait) { g.save(); g.beginPath(); g.rect(x0, y, x1 - x0, ROW); g.clip(); g.fillStyle = "#fff"; g.fillText(site.name, x0 + 4, y + ROW / 2 - 2); g.restore(); }
    }
    narrow.draw(g, y, ROW - 5);
  });
  const y = 20 + D.pipes.length * ROW + 4;
  g.fillStyle = css("text"); g.fillText("critical", 6, y + 9);
  const narrow = new Columns(w);
  for (const [k, at] of parts) for (let i = firstOfChain(k, view[0] - at); i < k.chainKinds.length; i++) {
    const s = at + k.chain[3 * i + 1], n = k.chain[3 * i + 2];
    if (s > view[1]) break;
    const x0 = Math.max(LEFT, xOf(s, w)), x1 = Math.min(w, xOf(s + n, w));
    const color = css(k.chainKinds[i]) || css("issue");
    if (x1 - x0 < NARROW) { narrow.add(color, x0, x1); continue; }
    g.fillStyle = color; g.fillRect(x0, y, x1 - x0, 18);
    if (x1 - x0 > 64) { g.fillStyle = "#fff"; g.fillText(chainName(k, i), x0 + 4, y + 9); }
  }
  narrow.draw(g, y, 18);
  if (hover && hover.k.setter[hover.entry] >= 0) arrow(g, w, hover);
  $("range").textContent = `${num(view[0])} to ${num(view[1])} of ${num(full())} cycles, ` + (inRun ? `${parts.length} launches` : `${num(current.site.length)} entries`);
}
function chainName(k, i) { const s = k.chain[3 * i]; return s < 0 ? k.chainKinds[i] : `${k.chainKinds[i]} ${k.sites[s].pipe}`; }
function firstOfChain(k, t) {
  let lo = 0, hi = k.chainKinds.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (k.chain[3 * mid + 1] + k.chain[3 * mid + 2] <= t) lo = mid + 1; else hi = mid; }
  return lo;
}
function arrow(g, w, { k, entry, at }) {
  const from = k.setter[entry], yOf = e => 20 + D.pipes.indexOf(k.sites[k.site[e]].pipe) * ROW + ROW / 2 - 3;
  const x0 = xOf(at + k.end[from], w), x1 = xOf(at + k.end[entry], w);
  g.strokeStyle = css("text"); g.lineWidth = 1.5; g.beginPath(); g.moveTo(x0, yOf(from)); g.lineTo(x1, yOf(entry)); g.stroke();
  g.fillStyle = css("text"); g.beginPath(); g.arc(x1, yOf(entry), 3.5, 0, 7); g.fill(); g.lineWidth = 1;
}
const usedOf = space => inRun ? USED[space] : current.used[space];
function memoryBands(h) {
  const spaces = Object.keys(D.spaces).filter(usedOf);
  return spaces.map((s, i) => [s, 18 + i * (h - 18) / spaces.length, (h - 18) / spaces.length - 5]);
}
function drawMemory() {
  const [g, w, h] = context("memory"), parts = shownParts();
  axis(g, w, h);
  for (const [space, y, height] of memoryBands(h)) {
    g.fillStyle = css("text"); g.fillText(space, 6, y + height / 2 - 6);
    g.fillStyle = css("dim"); g.fillText(size(usedOf(space)), 6, y + height / 2 + 7);
    g.strokeStyle = css("line"); g.strokeRect(LEFT, y, w - LEFT, height);
    for (const [k, at] of parts) for (let last = new Map(), n = 0, of = k.perSpace[space] || []; n < of.length; n++) {
      const i = of[n], b = k.buffers[k.lives[i]], s = at + k.lives[i + 2], e = at + k.lives[i + 3];
      if (e < view[0] || s > view[1]) continue;
      const x0 = Math.max(LEFT, xOf(s, w)), x1 = Math.min(w, xOf(e, w)), slot = k.lives[i] * 64 + k.lives[i + 1], column = Math.floor(x0);
      if (x1 - x0 < 1 && last.get(slot) === column) continue;
      last.set(slot, column);
      const scale = height / usedOf(space);
      const top = y + (b.address + k.lives[i + 1] * b.bytes) * scale;
      g.fillStyle = PALETTE[k.lives[i] % PALETTE.length]; g.globalAlpha = 0.75;
      g.fillRect(x0, top, Math.max(0.7, x1 - x0 - 0.5), Math.max(1.2, b.bytes * scale - 0.5)); g.globalAlpha = 1;
    }
  }
}
function drawNetwork() {
  const [g, w, h] = context("network"), total = R.cycles || 1;
  D.launches.forEach(([ki, start, cycles, loc], i) => {
    const x0 = start / total * w, x1 = (start + cycles) / total * w, k = D.kernels[ki];
    g.fillStyle = PALETTE[ki % PALETTE.length]; g.globalAlpha = k === current ? 1 : 0.5;
    g.fillRect(x0, 4, Math.max(0.7, x1 - x0 - 0.7), h - 18); g.globalAlpha = 1;
    if (k.bound != null) { g.fillStyle = css("text"); g.fillRect(x0, h - 8, (x1 - x0) * k.efficiency, 3); }
    if (x1 - x0 > 50) { g.save(); g.beginPath(); g.rect(x0, 0, x1 - x0, h); g.clip(); g.fillStyle = k === current ? "#fff" : css("text"); g.fillText(k.name, x0 + 4, 22); g.restore(); }
  });
}
let redraw = 0;
function draw() { if (!redraw) redraw = requestAnimationFrame(() => { redraw = 0; drawTimeline(); drawMemory(); }); }

// ---- interaction ---------------------------------------------------------------------------------------------------
function tip(event, parts) {
  const t = $("tip");
  if (!parts) { t.style.display = "none"; return; }
  t.replaceChildren(...parts.map(([tag, text]) => make(tag, text)).flatMap(e => [e, document.createElement("br")]));
  t.style.display = "block";
  t.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - t.offsetWidth - 8)) + "px";
  t.style.top = (event.clientY + 18 + t.offsetHeight > innerHeight ? event.clientY - t.offsetHeight - 10 : event.clientY + 18) + "px";
}
function entryAt(x, y, w) {
  const r = Math.floor((y - 20) / ROW);
  if (r < 0 || r >= D.pipes.length || x < LEFT) return null;
  const slack = (view[1] - view[0]) / (w - LEFT) * 2;
  for (const [k, at] of shownParts()) {
    const t = tOf(x, w) - at, row = k.rows[r], i = firstEndingAfter(k, row, t - slack);
    if (i < row.length && k.start[row[i]] <= t + slack) return { k, at, entry: row[i] };
  }
  return null;
}
function chainAt(x, y, w) {
  if (y < 20 + D.pipes.length * ROW) return null;
  for (const [k, at] of shownParts()) {
    const t = tOf(x, w) - at, i = firstOfChain(k, t);
    if (i < k.chainKinds.length && k.chain[3 * i + 1] <= t) return { k, part: i };
  }
  return null;
}
function zoomable(id, point, click) {
  const c = $(id); let drag = null, moved = false;
  c.addEventListener("wheel", e => {
    e.preventDefault();
    const w = c.clientWidth, t = tOf(Math.max(LEFT, e.offsetX), w);
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) return pan((e.deltaX || e.deltaY) / (w - LEFT) * (view[1] - view[0]));
    const f = Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300)));
    const span = Math.min(Math.max(8, (view[1] - view[0]) * f), full());
    const left = t - (t - view[0]) * span / (view[1] - view[0]);
    setView(left, left + span);
  }, { passive: false });
  c.addEventListener("pointerdown", e => { drag = [e.offsetX, view[0], view[1]]; moved = false; c.setPointerCapture(e.pointerId); });
  c.addEventListener("pointermove", e => {
    if (drag) { const d = (e.offsetX - drag[0]) / (c.clientWidth - LEFT) * (drag[2] - drag[1]); if (Math.abs(e.offsetX - drag[0]) > 3) moved = true; setView(drag[1] - d, drag[2] - d); return; }
    point(e, c.clientWidth);
  });
  c.addEventListener("pointerup", e => { if (drag && !moved && click) click(e, c.clientWidth); drag = null; });
  c.addEventListener("pointerleave", () => { tip(); hover = null; draw(); });
}
function setView(a, b) { const span = b - a; a = Math.max(0, Math.min(a, full() - span)); view = [a, Math.min(full(), a + span)]; draw(); }
function pan(d) { setView(view[0] + d, view[1] + d); }
zoomable("timeline", (e, w) => {
  const found = entryAt(e.offsetX, e.offsetY, w), path = found ? null : chainAt(e.offsetX, e.offsetY, w);
  hover = found; draw();
  if (path) {
    const { k, part } = path, s = k.chain[3 * part];
    return tip(e, [["b", `critical: ${chainName(k, part)}, ${num(k.chain[3 * part + 2])} cycles`], ["code", s < 0 ? "scalar unit" : k.sites[s].text]]);
  }
  if (!found) return tip();
  const { k, at, entry: i } = found, s = k.sites[k.site[i]], set = k.setter[i];
  const parts = [["b", `${s.pipe}: ${num(at + k.start[i])} to ${num(at + k.end[i])}, ${num(k.end[i] - k.start[i])} cycles`], ["code", s.text]];
  if (inRun) parts.push(["span", k.name]);
  if (s.loc) parts.push(["span", "graph ops: " + nodesOf(s.loc).join(", ")]);
  parts.push(["span", `all ${num(s.count)} executions: ${num(s.busy)} busy, ${num(Object.values(s.critical).reduce((a, b) => a + b, 0))} on the critical path`]);
  if (set >= 0) parts.push(["span", `set by ${k.sites[k.site[set]].pipe} at ${num(at + k.end[set])}`]);
  tip(e, parts);
}, (e, w) => {
  const found = entryAt(e.offsetX, e.offsetY, w);
  if (!found) return;
  if (found.k !== current) choose(D.kernels.indexOf(found.k), true, view);
  pickSite(found.k.site[found.entry]);
});
zoomable("memory", (e, w) => {
  for (const [space, y, height] of memoryBands($("memory").height0)) {
    if (e.offsetY < y || e.offsetY > y + height) continue;
    const used = usedOf(space), byte = (e.offsetY - y) / height * used;
    for (const [k, at] of shownParts()) {
      const t = tOf(e.offsetX, w) - at;
      const i = (k.perSpace[space] || []).find(i => { const b = k.buffers[k.lives[i]], a = b.address + k.lives[i + 1] * b.bytes; return k.lives[i + 2] <= t && t <= k.lives[i + 3] && a <= byte && byte <= a + Math.max(b.bytes, used / height * 2); });
      if (i === undefined) continue;
      const b = k.buffers[k.lives[i]];
      return tip(e, [["b", `${space}: slot ${k.lives[i + 1]} of ${b.slots}, ${num(b.bytes)} bytes at ${num(b.address + k.lives[i + 1] * b.bytes)}`], ["span", `in use from ${num(at + k.lives[i + 2])} to ${num(at + k.lives[i + 3])}${inRun ? " by " + k.name : ""}`]]);
    }
    return tip(e, [["b", `${space} byte ${num(byte)}`], ["span", `${size(used)} of ${size(D.spaces[space])} used, ${pct(used / D.spaces[space])}`]]);
  }
  tip();
});
$("network").addEventListener("pointermove", e => {
  const l = launchAt(e); if (!l) return tip();
  const k = D.kernels[l[0]]; tip(e, [["b", k.name], ["span", l[3]], ["span", `${num(l[2])} cycles, ${pct(k.efficiency)} of its bound, from cycle ${num(l[1])}`]]);
});
$("network").addEventListener("pointerleave", () => tip());
const launchAt = e => { const t = e.offsetX / $("network").clientWidth * R.cycles; return D.launches.find(l => l[1] <= t && t < l[1] + l[2]); };
$("network").addEventListener("click", e => { const l = launchAt(e); if (l) choose(l[0], false, inRun && around(l)); });
$("whole").onclick = () => setView(0, full());
// A launch, and a little of those beside it.
const around = l => [Math.max(0, l[1] - l[2] / 8), Math.min(R.cycles, l[1] + l[2] * 9 / 8)];
const firstOf = i => D.launches.find(l => l[0] === i);
function showRun(on) {
  inRun = $("inrun").checked = on;
  $("whole").textContent = on ? "Whole run" : "Whole kernel";
  choose(D.kernels.indexOf(current), true);
}
$("inrun").onchange = () => showRun($("inrun").checked);

// ---- tables and bars -----------------------------------------------------------------------------------------------
function table(place, columns, rows, onclick, isOn) {
  let sorted = null;
  const render = () => {
    const t = make("table"), head = make("tr"), body = make("tbody");
    columns.forEach(([name, , left], i) => { const th = make("th", name, left ? "l" : ""); th.onclick = () => { sorted = sorted === i ? -1 - i : i; const s = i, sign = sorted < 0 ? 1 : -1; rows.sort((a, b) => { const x = columns[s][1](a), y = columns[s][1](b); return (x > y ? 1 : x < y ? -1 : 0) * sign; }); render(); }; head.append(th); });
    const h = make("thead"); h.append(head);
    for (const row of rows) {
      const tr = make("tr", null, isOn && isOn(row) ? "on" : "");
      for (const [, value, left, show] of columns) { const td = make("td", (show || (v => typeof v === "number" ? num(v) : v ?? ""))(value(row)), left ? "l" : ""); td.title = td.textContent; tr.append(td); }
      if (onclick) tr.onclick = () => onclick(row);
      body.append(tr);
    }
    t.append(h, body); $(place).replaceChildren(t);
  };
  render();
}
const critical = s => Object.values(s.critical).reduce((a, b) => a + b, 0);
function times(kernels) {
  const sum = {};
  for (const [k, n] of kernels) for (const [pipe, p] of Object.entries(k.pipes)) {
    const s = sum[pipe] ||= Object.fromEntries(PARTS.map(x => [x, 0]));
    for (const part of PARTS) s[part] += n * (part === "starved" ? Object.values(p.starved).reduce((a, b) => a + b, 0) : part === "busy" ? p.busy - p.transfer : part === "transfer" ? p.transfer - p.hbm : p[part]);
  }
  return sum;
}
function drawBars() {
  const all = $("all").checked, of = all ? D.kernels.map(k => [k, k.launches]) : [[current, 1]];
  const total = all ? R.cycles : current.one, sum = times(of);
  $("attrof").textContent = all ? "in all launches" : `in one launch of ${current.name}`;
  $("bars").replaceChildren(...Object.entries(sum).map(([pipe, s]) => {
    const bar = make("div", null, "bar"), parts = make("div");
    for (const part of PARTS) {
      const i = make("i"); i.style.width = 100 * s[part] / total + "%"; i.style.background = css(part);
      i.onpointermove = e => tip(e, [["b", `${pipe}: ${WORDS[part] || part}`], ["span", `${num(s[part])} cycles, ${pct(s[part] / total)}`]]);
      i.onpointerleave = () => tip(); parts.append(i);
    }
    const least = of.reduce((a, [k, n]) => a + n * (k.pipe_bounds[pipe] || 0), 0);
    if (least) { const u = make("u"); u.style.left = `calc(${100 * least / total}% - 1px)`; parts.append(u); }
    bar.append(make("span", pipe), parts, make("span", pct((s.busy + s.transfer + s.hbm) / total))); return bar;
  }));
  $("limits").textContent = all ? "" : limits(current);
  const causes = {};
  for (const [k, n] of of) for (const [c, v] of Object.entries(k.critical)) causes[c] = (causes[c] || 0) + n * v;
  table("causes", [["cause", r => r[0]], ["cycles", r => r[1]], ["share", r => r[1] / total, false, pct]], Object.entries(causes).sort((a, b) => b[1] - a[1]));
}
function limits(k) {
  if (k.bound == null) return "no bound is known for this kernel";
  const blocking = k.best_blocking ? `, ${num(k.best_blocking)} under the best blocking of the product` : "";
  const busiest = k.limit ? `; the busiest pipe, ${k.limit}, has to work for at least ${num(k.pipe_bounds[k.limit])} cycles${blocking}` : "";
  return `at least ${num(k.bound / k.launches)} of ${num(k.one)} cycles (${pct(k.efficiency)}), ${size(k.bytes)} from and to GM${busiest}`;
}
$("all").onchange = drawBars;
// Each step begins where the ones above it end; what is proven of it is filled, the rest is lighter.
function drawWaterfall() {
  const own = R.waterfall.kernels.find(k => k.kernel === current.name || current.name.startsWith(k.kernel + " / "));
  const steps = $("network-steps").checked || !own ? R.waterfall.steps : own.steps, total = steps.reduce((a, s) => a + s.cycles, 0) || 1;
  $("stepsof").textContent = steps === R.waterfall.steps ? "of the run" : `of all launches of ${own.kernel}`;
  let at = 0;
  $("steps").replaceChildren(...steps.filter(s => s.cycles || s.proven).map(s => {
    const bar = make("div", null, "bar step"), parts = make("div"), left = Math.max(0, s.cycles < 0 ? at + s.cycles : at);
    const proven = Math.min(s.proven, Math.max(0, s.cycles));
    for (const [cycles, opacity] of [[left, 0], [proven, 1], [Math.abs(s.cycles) - proven, 0.45]]) {
      const i = make("i"); i.style.width = 100 * cycles / total + "%"; i.style.background = css("accent"); i.style.opacity = opacity; parts.append(i);
    }
    parts.onpointermove = e => tip(e, [["b", s.name.replace("_", " ")], ["span", D.steps[s.name]], ["span", `${num(s.cycles)} cycles, ${pct(s.cycles / total)}; ${num(s.proven)} of them at least`]]);
    parts.onpointerleave = () => tip();
    at += s.cycles; bar.append(make("span", s.name.replace("_", " ")), parts, make("span", `${num(s.cycles)}, ${pct(s.cycles / total)}`)); return bar;
  }));
  const causes = own ? Object.entries(own.beside).slice(0, 4).map(([cause, cycles]) => `${cause} ${num(cycles)}`).join(", ") : "";
  $("beside").textContent = steps === R.waterfall.steps || !causes ? "" : `The busiest pipe is ${own.busiest}. Beside it, on the critical path: ${causes}.`;
}
if (R.waterfall) $("network-steps").onchange = drawWaterfall; else $("waterfall").hidden = true;
function key(place, names, title) { $(place).replaceChildren(...(title ? [make("b", title)] : []), ...[...names].map(([name, color]) => { const s = make("span"), i = make("i"); i.style.background = color; s.append(i, name); return s; })); }
key("barkey", [...PARTS.map(p => [WORDS[p] || p, css(p)]), ["mark: has to be busy that long at least", css("text")]]);
function drawKernels() {
  table("kernels", [["kernel", k => k.name], ["graph ops", k => k.graph_ops, true], ["launches", k => k.launches], ["cycles", k => k.cycles],
    ["of bound", k => k.efficiency ?? -1, false, v => v < 0 ? "" : pct(v)], ["best blocking", k => k.best_blocking ? k.best_blocking * k.launches : 0, false, v => v ? num(v) : ""], ["limit", k => k.limit, true], ["MAC util.", k => k.mac_utilisation, false, v => v ? pct(v) : ""]],
    [...D.kernels].sort((a, b) => b.cycles - a.cycles), k => choose(D.kernels.indexOf(k)), k => k === current);
}
function waitsOf(s) { return s.waits.reduce((a, x) => a + x.cycles, 0); }
function drawSites() {
  const k = current;
  table("sites", [["instruction", s => s.text.replace("npu_isa.", "").split(" map ")[0], true], ["pipe", s => s.pipe, true], ["times", s => s.count], ["busy", s => s.busy], ["waiting", waitsOf],
    ["waits for", s => s.waits.slice().sort((a, b) => b.cycles - a.cycles).slice(0, 2).map(x => `${x.src} ${x.event}: ${x.setter < 0 ? "the section before" : k.sites[x.setter].text.replace("npu_isa.", "").slice(0, 34)}`).join("; "), true],
    ["starved", s => Object.values(s.starved).reduce((a, b) => a + b, 0)], ["critical", critical]],
    k.sites.slice().sort((a, b) => critical(b) - critical(a)), s => pickSite(s.number), s => s.number === pickedSite);
}

// ---- roofline ------------------------------------------------------------------------------------------------------
function roofPoints(w, h) {
  const dots = D.kernels.filter(k => k.macs && k.bytes).map(k => [k, k.macs / (k.bytes * k.launches), k.macs / k.cycles]);
  const xs = dots.map(d => d[1]), ridge = D.peak / (D.read + D.write);
  const x0 = Math.min(ridge / 8, ...xs) / 1.5, x1 = Math.max(ridge * 4, ...xs) * 1.5, y1 = D.peak * 1.6, y0 = Math.min(D.peak / 100, ...dots.map(d => d[2])) / 1.6;
  const X = v => 54 + Math.log(v / x0) / Math.log(x1 / x0) * (w - 66), Y = v => h - 30 - Math.log(v / y0) / Math.log(y1 / y0) * (h - 44);
  return { dots, x0, x1, y0, y1, X, Y, ridge };
}
function drawRoof() {
  const [g, w, h] = context("roof"), p = roofPoints(w, h);
  g.strokeStyle = css("line"); g.fillStyle = css("dim");
  for (let v = 10 ** Math.ceil(Math.log10(p.x0)); v < p.x1; v *= 10) { g.beginPath(); g.moveTo(p.X(v), 8); g.lineTo(p.X(v), h - 26); g.stroke(); g.textAlign = "center"; g.fillText(v >= 1 ? num(v) : v, p.X(v), h - 16); }
  for (let v = 10 ** Math.ceil(Math.log10(p.y0)); v < p.y1; v *= 10) { g.beginPath(); g.moveTo(54, p.Y(v)); g.lineTo(w - 8, p.Y(v)); g.stroke(); g.textAlign = "right"; g.fillText(v >= 1 ? num(v) : v, 48, p.Y(v)); }
  g.textAlign = "center"; g.fillText("MACs per byte", w / 2, h - 5); g.save(); g.translate(9, h / 2); g.rotate(-Math.PI / 2); g.fillText("MACs per cycle", 0, 0); g.restore(); g.textAlign = "left";
  g.strokeStyle = css("text");
  for (const [rate, width, dash] of [[D.read, 1, [5, 4]], [D.read + D.write, 2, []], ...(D.near ? [[D.near, 1, [2, 3]], [D.near + D.write, 2, [8, 3]]] : [])]) {
    const low = Math.max(p.x0, p.y0 / rate);
    g.lineWidth = width; g.setLineDash(dash); g.beginPath(); g.moveTo(p.X(low), p.Y(low * rate));
    g.lineTo(p.X(D.peak / rate), p.Y(D.peak)); g.lineTo(p.X(p.x1), p.Y(D.peak)); g.stroke();
  }
  g.lineWidth = 1; g.setLineDash([]);
  g.fillStyle = css("dim"); g.fillText(`${num(D.peak)} MACs per cycle`, p.X(p.ridge) + 8, p.Y(D.peak) - 9);
  g.fillText(D.near ? `read ${num(D.read)} from HBM, ${num(D.near)} from L2, write ${num(D.write)} B per cycle` : `read ${num(D.read)}, write ${num(D.write)} B per cycle`, 60, 16);
  for (const [k, x, y] of p.dots) {
    g.beginPath(); g.arc(p.X(x), p.Y(y), k === current ? 7 : 4 + 3 * Math.sqrt(k.cycles / R.cycles), 0, 7);
    g.fillStyle = PALETTE[D.kernels.indexOf(k) % PALETTE.length]; g.globalAlpha = 0.85; g.fill(); g.globalAlpha = 1;
    if (k === current) { g.strokeStyle = css("text"); g.lineWidth = 2; g.stroke(); g.lineWidth = 1; }
  }
}
function dotAt(e) { const c = $("roof"), p = roofPoints(c.clientWidth, c.height0); return p.dots.map(([k, x, y]) => [Math.hypot(p.X(x) - e.offsetX, p.Y(y) - e.offsetY), k, x, y]).filter(d => d[0] < 12).sort((a, b) => a[0] - b[0])[0]; }
$("roof").addEventListener("pointermove", e => { const d = dotAt(e); tip(e, d && [["b", d[1].name], ["span", d[1].graph_ops], ["span", `${d[2].toFixed(1)} MACs per byte, ${d[3].toFixed(1)} per cycle, ${pct(d[1].mac_utilisation)} of peak`]]); });
$("roof").addEventListener("pointerleave", () => tip());
$("roof").addEventListener("click", e => { const d = dotAt(e); if (d) choose(D.kernels.indexOf(d[1])); });

// ---- IR ------------------------------------------------------------------------------------------------------------
const LINE = 17, panes = [];
let pickedNames = new Set();
D.levels.forEach((level, n) => {
  const outer = make("div"), pane = make("div", null, "ir"), inner = make("div");
  level.whole = [];
  level.sets = level.names.map(name => name ? nodesOf(name) : []);
  const width = Math.min(4000, Math.max(...level.lines.map(l => l.length), 1) * 7.4 + 20);
  inner.style.height = level.lines.length * LINE + "px"; inner.style.width = width + "px";
  outer.append(make("div", `${level.name}, ${num(level.lines.length)} lines`, "hint"), pane); pane.append(inner); $("irs").append(outer);
  const render = () => {
    const first = Math.max(0, Math.floor(pane.scrollTop / LINE) - 20), last = Math.min(level.lines.length, first + Math.ceil(pane.clientHeight / LINE) + 40);
    const rows = [];
    for (let i = first; i < last; i++) {
      const p = make("p", level.lines[i]); p.style.top = i * LINE + "px";
      if (isOn(level, i)) p.classList.add("on");
      if (level.name === "isa" && i === siteLine()) p.classList.add("site");
      p.onclick = () => pickLine(n, i); rows.push(p);
    }
    inner.replaceChildren(...rows);
  };
  pane.onscroll = render;
  const label = make("label"), box = make("input"); box.type = "checkbox"; box.checked = true;
  box.onchange = () => { outer.hidden = !box.checked; render(); };
  label.append(box, " " + level.name); $("shown").append(label);
  panes.push({ level, pane, render });
});
const siteLine = () => pickedSite >= 0 ? current.sites[pickedSite].ir ?? -1 : -1;
const hasPicked = names => names.some(x => pickedNames.has(x));
const isOn = (level, i) => hasPicked(level.sets[level.locs[i]]) || level.whole.some(([, a, b]) => a <= i && i < b);
// The first marked line, in the kernel that is shown if there is one.
function firstOn(level) {
  const [, a, b] = level.kernels.find(([name]) => name === current.symbol) || [null, 0, 0];
  for (let i = a + 1; i < b; i++) if (isOn(level, i)) return i;
  return level.locs.findIndex((_, i) => isOn(level, i));
}
function mark(names, except, line) {
  pickedNames = new Set(names);
  // A kernel has the names of its first launch; when it is launched for these, all of it is meant.
  const launched = new Set(D.launches.filter(l => hasPicked(nodesOf(l[3]))).map(l => D.kernels[l[0]].symbol));
  for (const level of D.levels) level.whole = level.kernels.filter(([name, a, b]) => launched.has(name) && !level.locs.slice(a, b).some(l => hasPicked(level.sets[l])));
  $("picked").textContent = names.length ? "marked: " + names.join(", ") : "click a line: what comes from the same node is marked at every level";
  panes.forEach(({ level, pane, render }, n) => {
    if (n !== except) {
      const i = level.name === "isa" && line != null && line >= 0 ? line : firstOn(level);
      if (i >= 0) pane.scrollTop = Math.max(0, (i - 4) * LINE);
    }
    render();
  });
}
function kernelOf(names) { const l = D.launches.find(l => nodesOf(l[3]).some(x => names.includes(x))); return l && D.kernels[l[0]]; }
function pickLine(n, i) {
  const level = D.levels[n]; pickedSite = -1;
  const names = level.sets[level.locs[i]];
  const k = level.name === "isa" ? D.kernels.find(k => k.sites.some(s => s.ir === i)) : kernelOf(names);
  if (k && k !== current) choose(D.kernels.indexOf(k), true);
  if (k && level.name === "isa") { const s = k.sites.find(s => s.ir === i); pickedSite = s ? s.number : -1; }
  mark(names, n); draw(); drawSites();
}
function pickSite(number) {
  pickedSite = number; const s = current.sites[number];
  mark(s.loc ? nodesOf(s.loc) : [], -1, s.ir ?? -1); draw(); drawSites();
}

// ---- start ---------------------------------------------------------------------------------------------------------
function choose(i, quiet, range) {
  current = D.kernels[i]; pickedSite = -1; hover = null; $("kernel").value = i;
  view = range || (inRun ? around(firstOf(i)) : [0, Math.max(1, current.time)]);
  key("timekey", new Map(current.sites.filter(s => s.count && s.pipe !== "S").map(s => [s.name, colorOf(s)])), "instructions");
  key("pathkey", [...new Set(current.chainKinds)].map(c => [c, css(c) || css("issue")]), "critical path");
  drawTimeline(); drawMemory(); drawNetwork(); drawBars(); if (R.waterfall) drawWaterfall(); drawKernels(); drawSites(); drawRoof();
  if (!quiet) mark(current.graph_ops ? nodesOf(current.graph_ops) : [], -1, current.sites.length ? current.sites[0].ir : -1);
}
D.kernels.forEach((k, i) => { const o = make("option", `${k.name}: ${num(k.one)} cycles${k.launches > 1 ? " x " + k.launches : ""}`); o.value = i; $("kernel").append(o); });
$("kernel").onchange = e => choose(+e.target.value);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { theme.clear(); choose(D.kernels.indexOf(current), true); });
addEventListener("resize", () => { drawTimeline(); drawMemory(); drawNetwork(); drawRoof(); panes.forEach(p => p.render()); });
$("inrun").parentElement.hidden = D.launches.length < 2;
if (D.kernels.length) choose(D.kernels.indexOf([...D.kernels].sort((a, b) => b.cycles - a.cycles)[0]));
if (D.launches.length > 1) { showRun(true); setView(0, R.cycles); }
document.body.dataset.ready = "true";
