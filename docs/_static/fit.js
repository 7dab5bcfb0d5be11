// Long words of code, and those in tables, may be broken after / _ ( ). and commas, so that they fit a phone.
function allowBreaks(code) {
  if (code.textContent.length < 30 && !code.closest("table:not(.autosummary)")) return;
  const parts = code.textContent.split(/(?<=\/|[a-z0-9]_|\(|,|\)\.)(?=[a-z0-9*])/i);
  code.replaceChildren(...parts.flatMap((part) => {
    const kept = document.createElement("span");
    kept.textContent = part;
    return [kept, document.createElement("wbr")];
  }));
}

// A wide picture scrolls by itself; its caption stays.
function wrap(picture) {
  const box = document.createElement("div");
  picture.replaceWith(box);
  box.append(picture);
}

// What is wider than the page fades out at the side where it goes on.
function mark(box) {
  const more = box.scrollWidth - box.clientWidth;
  box.classList.toggle("scrolls", more > 1);
  box.classList.toggle("more-right", box.scrollLeft < more - 1);
}
window.addEventListener("load", () => {
  document.querySelectorAll(".bd-article code .pre").forEach(allowBreaks);
  document.querySelectorAll(".bd-article figure.wide > img").forEach(wrap);
  const boxes = document.querySelectorAll(".bd-article :is(table.table, .highlight pre, figure.wide > div)");
  for (const box of boxes) box.addEventListener("scroll", () => mark(box), { passive: true });
  const markAll = () => boxes.forEach(mark);
  window.addEventListener("resize", markAll);
  markAll();
});
