// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
// Search and sort in the table. All else needs no program.
"use strict";
const table = document.getElementById("callbacks");
if (table) {
  const body = table.tBodies[0], search = document.getElementById("search");
  search.oninput = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const name = row.cells[0].textContent.toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
    }
  };
  for (const head of table.querySelectorAll("th[data-by]")) {
    const by = Number(head.dataset.by);
    let down = by > 0;
    head.onclick = () => {
      const value = (row) => by ? Number.parseFloat(row.cells[by].textContent) : row.cells[0].textContent;
      const rows = [...body.rows].sort((a, b) => {
        const [p, q] = [value(a), value(b)];
        if (Number.isNaN(p) || Number.isNaN(q)) return Number.isNaN(p) - Number.isNaN(q);
        return (p < q ? -1 : p > q ? 1 : 0) * (down ? -1 : 1);
      });
      body.replaceChildren(...rows);
      down = !down;
    };
  }
}
