"use strict";
// Names come from whoever made the model: they are only ever set as text, never as markup.

const at = (id) => document.getElementById(id);
const FIRST_VOTERS = 4; // of a label; the others are a click away
let asText = true;

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function counted(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
}

async function describe() {
  const model = await (await fetch("v1/model")).json();
  asText = model.text || model.feature_names;
  at("about").textContent =
    `${counted(model.rows, "row")}, ${counted(model.features, "feature")}, ` +
    `${counted(model.labels, "label")}; the ${model.n_neighbors} most similar rows vote.`;
  at("k").max = Math.min(model.limits.k, model.limits.explained);
  if (model.text) {
    at("title").textContent = document.title = "Labels for texts";
    at("words-label").textContent = "Text";
  }
  if (!asText) at("words-label").textContent = "Feature numbers, such as 12 or 12:0.5";
  if (model.example && !at("words").value) {
    at("words").value = model.example;
    at("ask").requestSubmit();
  }
}

function rowOf(text) {
  if (asText) return { text };
  const words = text.split(/\s+/).filter(Boolean);
  const pairs = words.map((word) => word.split(":"));
  return {
    indices: pairs.map(([index]) => Number(index)),
    values: pairs.map(([, value]) => (value === undefined ? 1 : Number(value))),
  };
}

function signed(number) {
  return (number < 0 ? "−" : "+") + Math.abs(number).toFixed(3);
}

function voterItem(voter, whole) {
  const item = element("li");
  const head = element("div", undefined, "voter");
  head.append(
    element("span", voter.name, "name"),
    element("span", `${percent(voter.share)} of the ${whole}`, "figure"),
    element("span", `similarity ${voter.similarity.toFixed(3)}`, "figure"),
  );
  const words = voter.features.map((feature) => feature.name).join(", ");
  const more = voter.overlap > voter.features.length ? ", …" : "";
  item.append(head, element("p", `shares ${voter.overlap}: ${words}${more}`, "quiet"));
  return item;
}

function moreVoters(voters, whole) {
  const details = element("details", undefined, "more");
  const list = element("ul");
  list.append(...voters.map((voter) => voterItem(voter, whole)));
  details.append(element("summary", `${voters.length} more`), list);
  return details;
}

// What the model of a label adds to the vote: only ranked models have one.
function modelLine(explained) {
  const parts = explained.features.map((feature) => `${feature.name} ${signed(feature.contribution)}`);
  return `the label’s model: bias ${[signed(explained.bias), ...parts].join(", ")}`;
}

// What other evidence adds: the label's name, or rows like it taken together.
const EVIDENCE = { names: "of the label’s name, the row has", centroids: "like all rows of the label" };

function evidenceLine(part) {
  const words = part.features.map((feature) => feature.name).join(", ");
  return `${EVIDENCE[part.name]}: ${words}`;
}

function labelItem(explained, open) {
  const isRanked = explained.model !== undefined;
  const whole = isRanked ? "vote" : "score";
  const item = element("li");
  const details = element("details");
  details.open = open;
  const summary = element("summary");
  const meter = element("meter");
  meter.max = 1;
  meter.value = explained.probability;
  meter.setAttribute("aria-label", "probability");
  summary.append(
    element("span", explained.name, "name"),
    meter,
    element("span", percent(explained.probability), "figure"),
  );
  const voters = element("ul");
  voters.append(...explained.voters.slice(0, FIRST_VOTERS).map((voter) => voterItem(voter, whole)));
  let caption = `${counted(explained.voters.length, "row")} voted, score ${explained.score.toFixed(3)}`;
  const evidence = isRanked ? explained.evidence : [];
  if (isRanked) {
    const others = evidence.map((part) => `, ${part.name} ${signed(part.score)}`).join("");
    caption += ` = vote ${signed(explained.vote)}${others}, model ${signed(explained.model)}`;
  }
  details.append(summary, element("p", caption, "quiet"));
  details.append(...evidence.map((part) => element("p", evidenceLine(part), "quiet")));
  if (isRanked) details.append(element("p", modelLine(explained), "quiet"));
  details.append(voters);
  const rest = explained.voters.slice(FIRST_VOTERS);
  if (rest.length) details.append(moreVoters(rest, whole));
  item.append(details);
  return item;
}

function show(answer) {
  const messages = [];
  if (answer.unknown && answer.unknown.length) {
    messages.push(`Not known to the model: ${answer.unknown.join(", ")}.`);
  }
  if (!answer.explain.length) messages.push("No known row shares a feature with these.");
  at("message").textContent = messages.join(" ");
  at("labels").replaceChildren(...answer.explain.map((label, i) => labelItem(label, i === 0)));
}

async function ask(event) {
  event.preventDefault();
  const question = { rows: [rowOf(at("words").value)], k: Number(at("k").value), explain: true };
  document.body.classList.add("busy");
  try {
    const response = await fetch("v1/predict", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    show(answer.rows[0]);
  } catch (error) {
    at("labels").replaceChildren();
    at("message").textContent = `No answer: ${error.message}`;
  } finally {
    document.body.classList.remove("busy");
  }
}

at("ask").addEventListener("submit", ask);
at("words").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) ask(event);
});
describe().catch((error) => { at("about").textContent = `The service does not answer: ${error.message}`; });
