// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
// What drawings have in common: canvas, colours, ticks, a distribution.
"use strict";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const FONT = '12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

// Returns a context in CSS pixels, as large as the canvas is shown.
function context(canvas) {
  const scale = window.devicePixelRatio || 1;
  const {width, height} = canvas.getBoundingClientRect();
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = FONT;
  c.textBaseline = "middle";
  return [c, width, height];
}

// A length of time with a unit that fits.
function length(ns) {
  for (const [unit, size] of [["h", 3.6e12], ["min", 6e10], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (Math.abs(ns) >= size) return +(ns / size).toPrecision(4) + " " + unit;
  }
  return Math.round(ns) + " ns";
}

const number = (ms) => ms === null ? "–" : ms >= 1000 ? ms.toFixed(0) : ms >= 100 ? ms.toFixed(1)
  : ms >= 10 ? ms.toFixed(2) : ms.toFixed(3);

// The distance of ticks: 1, 2 or 5 times a power of ten, as many as `most` at most.
function tickStep(span, most) {
  const rough = span / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((m) => m * power >= rough) || 10);
}

// The ticks of a logarithmic axis: those of a decade, fewer where it is long.
function logTicks(low, high) {
  if (high < 3 * low) {
    const step = tickStep(high - low, 8), from = Math.ceil(low / step);
    return Array.from({length: Math.floor(high / step) - from + 1}, (_, i) => (from + i) * step);
  }
  const found = [], long = Math.log10(high / low);
  const steps = long > 4 ? [1] : long > 1.3 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
    for (const m of steps) {
      const at = m * 10 ** p;
      if (at >= low * 0.999 && at <= high * 1.001) found.push(at);
    }
  }
  return found;
}

// Draws how often which time was seen, both axes logarithmic, and lines at times that somebody named.
function drawDistribution(canvas, item, [lowest, octave]) {
  const [c, width, height] = context(canvas);
  const counts = item.hist.slice(1), edge = (i) => lowest * 2 ** ((item.hist[0] + i) / octave) / 1e6;
  if (!counts.length) return;
  const marks = [["deadline", item.deadline, "late"], ["bound", item.bound, "bound"]]
    .filter(([, at]) => at !== null);
  const named = marks.map(([, at]) => at).filter((at) => at > 0);
  const low = Math.min(edge(0), ...named) / 1.15, high = Math.max(edge(counts.length), ...named) * 1.15;
  const left = 64, right = width - 20, top = 26, bottom = height - 34;
  const x = (ms) => left + (right - left) * Math.log(ms / low) / Math.log(high / low);
  const most = Math.max(...counts), y = (n) => bottom - (bottom - top) * Math.log10(1 + n) / Math.log10(1 + most);
  c.strokeStyle = color("line");
  c.fillStyle = color("quiet");
  c.lineWidth = 1;
  c.textAlign = "right";
  for (let n = 1, last = 1e9; n <= most; n *= 10) {
    c.beginPath(); c.moveTo(left, y(n)); c.lineTo(right, y(n)); c.stroke();
    if (last - y(n) > 13) { c.fillText(n.toLocaleString("en"), left - 8, y(n)); last = y(n); }
  }
  c.textAlign = "center";
  let free = 0;
  for (const at of logTicks(low, high)) {
    const text = String(+at.toPrecision(4)), half = c.measureText(text).width / 2;
    c.fillRect(Math.round(x(at)), bottom, 1, 4);
    if (x(at) - half < free) continue;
    c.fillText(text, x(at), bottom + 13);
    free = x(at) + half + 10;
  }
  c.fillText("ms", right, bottom + 26);
  c.fillStyle = color("path");
  counts.forEach((n, i) => {
    if (n) c.fillRect(x(edge(i)), y(n), Math.max(1, x(edge(i + 1)) - x(edge(i)) - 1), bottom - y(n));
  });
  let used = -1;
  for (const [name, at, tone] of marks.sort((a, b) => a[1] - b[1])) {
    if (at <= 0) continue;
    const text = `${name} ${number(at)}`, wide = c.measureText(text).width;
    c.strokeStyle = c.fillStyle = color(tone);
    c.setLineDash(name === "bound" ? [5, 3] : []);
    c.lineWidth = 1.5;
    c.beginPath(); c.moveTo(x(at), top - 6); c.lineTo(x(at), bottom); c.stroke();
    c.setLineDash([]);
    c.textAlign = "left";
    const begin = Math.max(used, Math.min(x(at) - wide / 2, right - wide));
    c.fillText(text, begin, top - 14);
    used = begin + wide + 12;
  }
}
