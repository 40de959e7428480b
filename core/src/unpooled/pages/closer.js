// Sorts tables by a column, and zooms into pictures. Without it the page is complete, and still.
// It stands in a page that is XML as well as HTML: no ampersand and no less-than sign.
"use strict";

const valueOf = (text) => {
  const found = text.replace(/[,\s]/g, "").match(/^[-−]?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?/i);
  return found ? Number(found[0].replace("−", "-")) : Infinity; // what is not there comes last
};

const button = (words, act) => {
  const made = document.createElement("button");
  made.type = "button";
  made.append(words);
  made.addEventListener("click", act);
  return made;
};

document.querySelectorAll("table").forEach((table) => {
  const heads = [...table.querySelectorAll("thead th")];
  const body = table.tBodies[0];
  const sort = (head, column) => {
    const isUp = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const text = (row) => row.cells[column].textContent.trim();
    const inWords = (a, b) => text(a).localeCompare(text(b), "en", { numeric: true });
    const rows = [...body.rows].sort((a, b) => Math.sign(valueOf(text(a)) - valueOf(text(b))) || inWords(a, b));
    body.append(...(isUp ? rows : rows.reverse()));
  };
  if (body.rows.length > 1) {
    heads.forEach((head, column) => head.replaceChildren(button(head.textContent, () => sort(head, column))));
  }
});

document.querySelectorAll("figure svg").forEach((plot) => {
  const [left, top, width, height] = plot.getAttribute("viewBox").split(" ").map(Number);
  let [x, y, part] = [left, top, 1];
  const show = (toLeft, toTop, ofWhole) => {
    part = ofWhole;
    x = Math.min(Math.max(toLeft, left), left + width * (1 - part));
    y = Math.min(Math.max(toTop, top), top + height * (1 - part));
    plot.setAttribute("viewBox", `${x} ${y} ${width * part} ${height * part}`);
  };
  const zoom = (by) => {
    const then = Math.min(Math.max(part * by, 1 / 64), 1);
    show(x + (width * (part - then)) / 2, y + (height * (part - then)) / 2, then);
  };
  plot.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1) return;
    const scale = (width * part) / plot.getBoundingClientRect().width;
    show(x - event.movementX * scale, y - event.movementY * scale, part);
  });
  const tools = document.createElement("p");
  tools.className = "tools";
  tools.append(
    button("Zoom in", () => zoom(1 / 2)),
    button("Zoom out", () => zoom(2)),
    button("Whole picture", () => show(left, top, 1)),
  );
  plot.closest("figure").append(tools);
});
