// Paths and names in tables may be broken after / and _, so that tables fit a phone.
function allowBreaks(table) {
  for (const code of table.querySelectorAll("code .pre"))
    code.replaceChildren(...code.textContent.split(/(?<=[/_])/).flatMap((part) => [part, document.createElement("wbr")]));
}

// A table that is wider than the page fades out at the side where it goes on.
function mark(table) {
  const more = table.scrollWidth - table.clientWidth;
  table.classList.toggle("scrolls", more > 1);
  table.classList.toggle("more-right", table.scrollLeft < more - 1);
}
window.addEventListener("load", () => {
  const tables = document.querySelectorAll(".bd-article table.table");
  for (const table of tables) table.addEventListener("scroll", () => mark(table), { passive: true });
  tables.forEach(allowBreaks);
  const markAll = () => tables.forEach(mark);
  window.addEventListener("resize", markAll);
  markAll();
});
