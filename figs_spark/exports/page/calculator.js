// The calculator of the page. It reads the form, computes what the model computes, and shows why.
// No text becomes markup: all of it is set by textContent.
"use strict";

(() => {
  const model = JSON.parse(document.getElementById("figs-program").textContent);
  const form = document.getElementById("calculator-form");
  const view = (name) => document.getElementById(`result-${name}`);
  const asksNothing = model.fields.length === 0 && model.kind !== "groups";
  let touched = asksNothing;

  // From values to a prediction

  const special = { inf: Infinity, "-inf": -Infinity };

  function goesLeft(node, value) {
    if (value === null) return node.m;
    if ("t" in node) return value <= (typeof node.t === "string" ? special[node.t] : node.t);
    return node.c.includes(value) === node.in;
  }

  // The leaf that the values lead to, and the turns on the way to it.
  function follow(tree, values) {
    const turns = [];
    let node = tree;
    while (!("v" in node)) {
      const left = goesLeft(node, values[node.f]);
      turns.push({ field: node.f, text: node.texts ? node.texts[left ? 0 : 1] : "" });
      node = left ? node.l : node.r;
    }
    return { values: node.v, turns };
  }

  // From left to right in runs of eight, as the library adds: so the sums agree to the last bit.
  function add(terms) {
    let sums = terms;
    while (sums.length > 1) {
      const next = [];
      for (let i = 0; i < sums.length; i += 8) {
        next.push(sums.slice(i, i + 8).reduce((a, b) => a + b));
      }
      sums = next;
    }
    return sums[0];
  }

  function scoresOf(leaves, outputs) {
    const scores = [];
    for (let c = 0; c < outputs; c += 1) scores.push(add(leaves.map((leaf) => leaf.values[c])));
    return scores;
  }

  // A sum as a probability, by the link of the model.
  const links = {
    identity: (sum) => Math.min(1, Math.max(0, sum)),
    logit: (sum) => 1 / (1 + Math.exp(-sum)),
    softmax: (sum) => Math.exp(sum), // the weight of a class; weights are divided by their sum
  };
  const logScales = { logit: "log odds", softmax: "log weight" };
  const logs = model.kind === "mean" ? undefined : logScales[model.link]; // if sums are logarithms

  // The number, the probability of class 1, or of each of many classes.
  function expected(scores, link) {
    if (model.classes === 0) return scores;
    const shares = scores.map(links[link]);
    if (model.classes === 2) return shares;
    const total = shares.reduce((a, b) => a + b);
    return shares.map((share) => (total > 0 ? share / total : 1 / model.classes));
  }

  function decide(shares) {
    let ranked = model.classes === 2 ? [1 - shares[0], shares[0]] : shares;
    if (model.classes === 2 && !model.thresholds) return shares[0] > model.threshold ? 1 : 0;
    if (model.thresholds) {
      ranked = ranked.map((p, k) => (model.thresholds[k] > 0 ? p / model.thresholds[k] : Infinity));
    }
    return ranked.indexOf(Math.max(...ranked));
  }

  function predict(values, group) {
    const sums = model.kind === "groups" ? [model.sums[group]] : model.sums;
    const outputs = sums[0].constant.length;
    const leaves = sums.map((sum) => sum.trees.map((tree) => follow(tree, values)));
    let scores = scoresOf(leaves[0], outputs);
    if (model.kind === "mean") {
      const members = leaves.map((own) => expected(scoresOf(own, outputs), model.link));
      const total = members.reduce((a, b) => a.map((value, c) => value + b[c]));
      scores = total.map((value) => value / members.length);
    }
    const shares = expected(scores, logs ? model.link : "identity");
    const chosen = model.classes ? decide(shares) : null;
    return { scores, shares, chosen, leaves: leaves[0], constant: sums[0].constant };
  }

  // From the form to values

  const decimal = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

  // {value} or {problem}; null is a value that is not known.
  function readNumber(text) {
    const written = text.trim().replace(/\u2212/g, "-");
    if (written === "") return { value: null };
    if (written.includes(",")) return { problem: "Write decimals with a point, such as 1.5." };
    if (!decimal.test(written)) return { problem: "This is not a number." };
    const value = Number(written);
    return Number.isFinite(value) ? { value } : { problem: "This number is too large." };
  }

  // Days or seconds since 1970. A time that is half entered has no value, but is bad input.
  function readTime(control, milliseconds) {
    if (control.validity.badInput) return { problem: "This is not a whole date or time." };
    if (control.value === "") return { value: null };
    const zone = control.value.includes("T") ? "Z" : "";
    return { value: Date.parse(control.value + zone) / milliseconds };
  }

  function read(field) {
    if (field.kind === "sign") {
      const checked = form.querySelector(`input[name="${field.id}"]:checked`);
      return { value: !checked || checked.value === "" ? null : Number(checked.value) };
    }
    const control = document.getElementById(field.id);
    if (field.kind === "number") return readNumber(control.value);
    if (field.kind === "time") return readTime(control, field.milliseconds);
    return { value: control.value === "" ? null : Number(control.value) };
  }

  function readGroup() {
    if (model.kind !== "groups") return 0;
    const control = document.getElementById("field-group");
    return control.value === "" ? null : Number(control.value);
  }

  // Beside a number: what is wrong with it, or that it is unusual.
  function remark(field, result) {
    const place = document.getElementById(`${field.id}-remark`);
    if (!place) return "";
    const control = document.getElementById(field.id);
    const [low, high] = field.range || [-Infinity, Infinity];
    const outside = result.value !== null && (result.value < low || result.value > high);
    const words = result.problem || (outside ? `Unusual: most patients have ${field.usual}.` : "");
    place.textContent = words;
    place.className = result.problem ? "remark wrong" : "remark unusual";
    control.setAttribute("aria-invalid", result.problem ? "true" : "false");
    return outside && !result.problem ? `${field.name} is outside the usual range` : "";
  }

  // Numbers as text

  function percent(share) {
    if (share > 0 && share < 0.001) return "<0.1%";
    if (share < 1 && share > 0.999) return ">99.9%";
    return `${(100 * share).toFixed(1)}%`;
  }

  function amount(value) {
    if (value === 0) return "0";
    const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
    return Number(value.toFixed(Math.min(12, digits))).toString();
  }

  // The steps of logarithms are numbers; only the result is in percent.
  const inPercent = model.classes > 0 && !logs;
  const shown = (value) => (inPercent ? `${(100 * value).toFixed(1)}%` : amount(value));

  function change(value) {
    const words = inPercent ? `${(100 * value).toFixed(1)} pp` : amount(value);
    return `${value < 0 ? "" : "+"}${words}`.replace("-", "\u2212");
  }

  // What is shown

  function make(name, words, className) {
    const made = document.createElement(name);
    if (words !== undefined) made.textContent = words;
    if (className) made.className = className;
    return made;
  }

  function line(items) {
    const row = make("tr");
    items.forEach((item, k) => {
      const cell = make(k === 0 ? "th" : "td");
      if (k === 0) cell.scope = "row";
      if (item instanceof Node) cell.append(item);
      else cell.textContent = item;
      row.append(cell);
    });
    return row;
  }

  function bar(from, to, scale, className) {
    const track = make("div", undefined, "track");
    const filled = make("div", undefined, `bar ${className}`);
    const place = (value) => (100 * (value - scale.low)) / (scale.high - scale.low);
    filled.style.left = `${place(Math.min(from, to))}%`;
    filled.style.width = `${Math.max(0.6, place(Math.max(from, to)) - place(Math.min(from, to)))}%`;
    track.append(filled);
    track.setAttribute("aria-hidden", "true");
    return track;
  }

  const unknown = "not known";

  function written(field) {
    const control = document.getElementById(field.id);
    if (field.kind === "sign") {
      const checked = form.querySelector(`input[name="${field.id}"]:checked`);
      return checked && checked.value !== "" ? checked.dataset.label : unknown;
    }
    if (control.value.trim() === "") return unknown;
    if (field.kind === "choice") return control.selectedOptions[0].textContent;
    if (field.kind === "time") return control.value.replace("T", " ");
    return field.unit ? `${control.value.trim()} ${field.unit}` : control.value.trim();
  }

  function reasons(turns) {
    if (turns.length === 0) return make("span", "always");
    const list = make("ul", undefined, "reasons");
    turns.forEach((turn) => {
      const field = model.fields[turn.field];
      const value = written(field);
      const words = value === unknown ? turn.text : turn.text.replace(/ or not known$/, "");
      const item = make("li", words);
      const told = field.kind === "sign" && value !== unknown; // by the condition
      if (!told) item.append(make("span", ` (${value})`, "value"));
      list.append(item);
    });
    return list;
  }

  // Which output the waterfall shows: that of the predicted class, unless another one is chosen.
  function focus(result) {
    const control = document.getElementById("waterfall-class");
    if (!control) return 0;
    return control.value === "" ? result.chosen : Number(control.value);
  }

  function waterfall(result) {
    const body = view("steps");
    if (!body) return;
    const output = focus(result);
    let total = result.constant[output];
    const start = `Start: ${logs ? `${logs} of ` : ""}${model.average}`;
    const steps = [{ name: start, from: 0, to: total, text: shown(total) }];
    result.leaves.forEach((leaf, k) => {
      const added = leaf.values[output] - (k === 0 ? result.constant[output] : 0);
      const step = { name: `Tree ${k + 1}`, from: total, to: total + added, turns: leaf.turns };
      steps.push({ ...step, text: change(added), className: added < 0 ? "lowers" : "raises" });
      total += added;
    });
    const sum = result.scores[output];
    const share = result.shares[output];
    steps.push({ name: logs ? `Sum: ${logs}` : "Sum", from: 0, to: sum, text: shown(sum) });
    if (logs) {
      const name = model.classes > 2 ? "Probability" : "Risk";
      steps.push({ name, from: 0, to: 0, text: percent(share) });
    } else if (Math.abs(share - sum) > 1e-9) {
      steps.push({ name: "Result", from: 0, to: share, text: shown(share) });
    }
    const ends = steps.flatMap((step) => [step.from, step.to]);
    const scale = { low: Math.min(0, ...ends), high: Math.max(0, ...ends) };
    if (scale.high === scale.low) scale.high += 1;
    body.replaceChildren(
      ...steps.map((step) =>
        line([
          step.name,
          step.turns ? reasons(step.turns) : "",
          bar(step.from, step.to, scale, step.className || "whole"),
          step.text,
        ])
      )
    );
  }

  function classes(result) {
    const body = view("classes");
    if (!body) return;
    body.replaceChildren(
      ...result.shares.map((share, k) => {
        const row = line([model.labels[k], bar(0, share, { low: 0, high: 1 }, "whole"), percent(share)]);
        if (k === result.chosen) row.className = "chosen";
        return row;
      })
    );
  }

  function headline(result) {
    if (model.classes === 2) return percent(result.shares[0]);
    if (model.classes > 2) return model.labels[result.chosen];
    return amount(result.scores[0]);
  }

  function decision(result) {
    if (model.classes !== 2) return "";
    if (model.thresholds) return `Decision: ${model.labels[result.chosen]}`;
    if (!model.flags) return "No threshold was chosen.";
    const limit = percent(Math.max(0, model.threshold));
    if (model.threshold < 0) return "Flagged: with this threshold, everyone is.";
    return result.chosen === 1
      ? `Flagged: the risk is above the threshold of ${limit}.`
      : `Not flagged: the risk is not above the threshold of ${limit}.`;
  }

  function perThousand(result) {
    if (model.classes !== 2) return "";
    const count = Math.round(1000 * result.shares[0]);
    return `Of 1,000 patients like this, about ${count} have the outcome and ${1000 - count} do not.`;
  }

  function gauge(result) {
    const mark = view("mark");
    if (!mark) return;
    mark.style.width = `${100 * result.shares[0]}%`;
    const limit = view("limit");
    if (limit) limit.style.left = `${100 * Math.min(1, Math.max(0, model.threshold))}%`;
  }

  function clear(words) {
    view("number").textContent = "\u2013";
    view("decision").textContent = words;
    view("thousand").textContent = "";
    ["steps", "classes"].forEach((name) => view(name) && view(name).replaceChildren());
    if (view("mark")) view("mark").style.width = "0";
    view("box").className = "result empty";
    ["risk", "score", "chosen"].forEach((name) => delete view("box").dataset[name]);
    view("details").hidden = true;
  }

  function show(result) {
    view("number").textContent = headline(result);
    view("decision").textContent = decision(result);
    view("thousand").textContent = perThousand(result);
    const flagged = model.classes === 2 && result.chosen === 1;
    view("box").className = flagged ? "result flagged" : "result";
    view("box").dataset.risk = result.shares.join(" ");
    view("box").dataset.score = result.scores.join(" ");
    view("box").dataset.chosen = String(result.chosen);
    view("details").hidden = false;
    gauge(result);
    classes(result);
    waterfall(result);
  }

  function warn(words) {
    view("warnings").replaceChildren(...words.map((text) => make("li", text)));
  }

  function update() {
    const results = model.fields.map(read);
    const unusual = model.fields.map((field, k) => remark(field, results[k])).filter(Boolean);
    const wrong = model.fields.filter((field, k) => results[k].problem);
    const unknown = model.fields.filter((field, k) => !results[k].problem && results[k].value === null);
    const group = readGroup();
    warn(unusual.map((words) => `${words}: the result is less sure.`));
    if (!touched) return clear("Enter what you know; leave out what is not known.");
    if (group === null) return clear("No result: choose the group first.");
    if (group < 0) return clear("No result: the model was not trained on patients of this group.");
    if (wrong.length) return clear(`No result: correct ${wrong.map((f) => f.name).join(", ")}.`);
    if (unknown.length) {
      const names = unknown.map((field) => field.name).join(", ");
      warn([
        ...unusual.map((words) => `${words}: the result is less sure.`),
        `Not known: ${names}. The result counts ${unknown.length > 1 ? "them" : "it"} as missing.`,
      ]);
    }
    return show(predict(results.map((result) => result.value), group));
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  ["input", "change"].forEach((name) =>
    form.addEventListener(name, () => {
      touched = true;
      update();
    })
  );
  form.addEventListener("reset", () => {
    touched = asksNothing;
    setTimeout(update, 0);
  });
  const chosenClass = document.getElementById("waterfall-class");
  if (chosenClass) chosenClass.addEventListener("change", update);
  update();

  // What is folded on the screen is open on paper.
  const folded = [...document.querySelectorAll("details")];
  window.addEventListener("beforeprint", () => {
    folded.forEach((item) => {
      item.dataset.open = String(item.open);
      item.open = true;
    });
  });
  window.addEventListener("afterprint", () => {
    folded.forEach((item) => {
      item.open = item.dataset.open === "true";
    });
  });
})();
