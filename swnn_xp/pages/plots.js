"use strict";
// Rank plots: read values off the curve, and mark the place of what was picked in the search.
(() => {
  const svgPlace = (plot, rank, count) => {
    const [left, top, width, height, across, up] = JSON.parse(plot.dataset.frame);
    return [left + (Math.log10(rank) / across) * width,
            top + height - (Math.log10(count) / up) * height];
  };
  const put = (circle, place, radius) => {
    circle.setAttribute("cx", place[0]);
    circle.setAttribute("cy", place[1]);
    circle.setAttribute("r", radius);
  };
  window.markRank = (plot, rank, count) => {
    put(plot.querySelector(".mark"), svgPlace(plot, rank, count), 6);
  };
  const add = (plot, kind, shape) => {
    const drawn = document.createElementNS(plot.namespaceURI, shape);
    drawn.setAttribute("class", kind);
    return plot.appendChild(drawn);
  };
  for (const plot of document.querySelectorAll(".rank-plot")) {
    const points = JSON.parse(plot.dataset.points);
    const dot = add(plot, "dot", "circle");
    add(plot, "mark", "circle").setAttribute("r", 0);
    const [left, top, width] = JSON.parse(plot.dataset.frame);
    const readout = add(plot, "readout", "text");
    readout.setAttribute("x", left + width - 6);
    readout.setAttribute("y", top + 16);
    if (!points.length) continue;
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * plot.viewBox.baseVal.width;
      const distance = ([rank, count]) => Math.abs(svgPlace(plot, rank, count)[0] - x);
      const nearest = points.reduce((a, b) => (distance(b) < distance(a) ? b : a));
      put(dot, svgPlace(plot, ...nearest), 4);
      readout.textContent =
        `rank ${nearest[0].toLocaleString("en")}: ${nearest[1].toLocaleString("en")} rows`;
    });
    plot.addEventListener("pointerleave", () => {
      dot.setAttribute("r", 0);
      readout.textContent = "";
    });
  }
})();
