"use strict";
// Search boxes. What is sought stands in the address too: page.html#label=red&feature=word
(() => {
  const SHOWN = 10;
  const number = (n) => n.toLocaleString("en");

  const makeBox = (box) => {
    const kind = box.dataset.kind;
    const data = JSON.parse(box.querySelector("script").textContent);
    const nameOf = (at) => (data.names ? data.names[at] : String(data.ids[at]));
    const input = box.querySelector("input");
    const status = box.querySelector(".status");
    const body = box.querySelector("tbody");
    const plot = box.closest(`.${kind}s`).querySelector(".rank-plot");
    let lower = null;

    // Exact names and ids first, then names that begin so, then names that have it inside;
    // each in the order of frequency, in which the data comes.
    const find = (text) => {
      const sought = text.trim().toLowerCase();
      if (!sought) return data.ids.map((_, at) => at);
      lower ??= data.ids.map((_, at) => nameOf(at).toLowerCase());
      const groups = [[], [], []];
      for (let at = 0; at < lower.length; at++) {
        const place = lower[at].indexOf(sought);
        if (lower[at] === sought || String(data.ids[at]) === sought) groups[0].push(at);
        else if (place === 0) groups[1].push(at);
        else if (place > 0 && data.names) groups[2].push(at);
      }
      return groups.flat();
    };

    const pick = (row, at) => {
      for (const other of body.rows) other.classList.toggle("shown", other === row);
      window.markRank(plot, at + 1, data.counts[at]);
    };

    const show = () => {
      const found = find(input.value);
      const asked = input.value.trim() !== "";
      status.textContent = !asked ? `the most frequent of ${number(data.n_used)}`
        : found.length ? `${number(found.length)} found` : `no such ${kind} on this page`;
      body.replaceChildren();
      for (const at of found.slice(0, SHOWN)) {
        const row = body.insertRow();
        const texts = [nameOf(at) || "(empty name)", data.ids[at], number(at + 1),
                       number(data.counts[at])];
        for (const text of texts) row.insertCell().textContent = text;
        row.tabIndex = 0;
        row.addEventListener("click", () => pick(row, at));
        row.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(row, at); });
      }
      if (asked && found.length) pick(body.rows[0], found[0]);
    };

    input.addEventListener("input", () => {
      show();
      const address = new URLSearchParams(location.hash.slice(1));
      address.set(kind, input.value);
      if (!input.value) address.delete(kind);
      history.replaceState(null, "", `#${address}`);
    });
    return () => {
      input.value = new URLSearchParams(location.hash.slice(1)).get(kind) ?? "";
      show();
    };
  };

  const readAddress = [...document.querySelectorAll(".search")].map(makeBox);
  const readAll = () => readAddress.forEach((read) => read());
  window.addEventListener("hashchange", readAll);
  readAll();
})();
