"use strict";

function element(tag, text, className) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Docstrings mark code by backticks.
function prose(tag, text, className) {
  const made = element(tag, "", className);
  const parts = text.split(/``([^`]+)``|`([^`]+)`/);
  for (let i = 0; i < parts.length; i += 3) {
    made.append(parts[i]);
    const code = parts[i + 1] ?? parts[i + 2];
    if (code) made.append(element("code", code));
  }
  return made;
}

function nameOf(schema) {
  if (schema === undefined) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.filter((part) => part.type !== "null").map(nameOf).join(" or ");
  if (schema.type === "array") return `list of ${nameOf(schema.items)}`;
  if (schema.type === "object") return `object of ${nameOf(schema.additionalProperties)}`;
  return schema.type ?? "";
}

function bodyOf(part) {
  const content = Object.values(part?.content ?? {})[0];
  return content ? nameOf(content.schema) : "";
}

function route(path, method, operation) {
  const parts = [element("h2", `${method.toUpperCase()} ${path}`), element("p", operation.summary)];
  if (operation.requestBody) parts.push(element("p", `Body: ${bodyOf(operation.requestBody)}`, "quiet"));
  for (const [status, answer] of Object.entries(operation.responses)) {
    const body = bodyOf(answer);
    parts.push(element("p", `${status}: ${answer.description}${body ? ` (${body})` : ""}.`, "quiet"));
  }
  return parts;
}

function type(name, schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([field, kind]) => {
    const note = kind.description ? `: ${kind.description}` : "";
    const limited = { ...kind, ...(kind.anyOf ?? []).find((part) => "maxItems" in part) };
    const bounds = ["minItems", "maxItems", "minimum", "maximum"]
      .filter((bound) => bound in limited)
      .map((bound) => `${bound} ${limited[bound]}`);
    const extra = [required.has(field) ? "" : "optional", ...bounds].filter(Boolean).join(", ");
    return `${field}  ${nameOf(kind)}${extra ? ` (${extra})` : ""}${note}`;
  });
  return [element("h2", name), prose("p", schema.description ?? "", "quiet"), element("pre", fields.join("\n"))];
}

function showAddress() {
  const example = document.getElementById("example");
  const here = new URL(".", location.href).href.replace(/\/$/, "");
  example.textContent = example.textContent.replace("localhost:8000", here);
}

// The example is a row that the model in use takes.
async function showExample() {
  const model = await (await fetch("v1/model")).json();
  if (!model.text && !model.feature_names) return;
  const example = document.getElementById("example");
  example.textContent = example.textContent.replace(/\{"indices".*?\}/, '{"text": "any words"}');
}

async function describe() {
  const document_ = await (await fetch("openapi.json")).json();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      document.getElementById("paths").append(...route(path, method, operation));
    }
  }
  for (const [name, schema] of Object.entries(document_.components.schemas)) {
    document.getElementById("types").append(...type(name, schema));
  }
}

showAddress();
showExample();
describe();
