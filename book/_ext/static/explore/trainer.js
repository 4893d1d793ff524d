/* Grok it in your browser: a network trained by a worker, and what is seen of it.

   trainer-core.js has the network, lab.js the tasks. The state of all controls is in the
   address. */
"use strict";
(() => {
  const { make, scale, say, choice, line, text, path, picture, start } = grokbook.parts;
  const ANCHOR = "train-a-network";
  const LAST = 20000, SOON = 2000; // where training ends, and by when the presets grok
  const core = grokbook.trainerCore(), { DEFAULTS, OFFERED, PRESETS, settingsOf } = core;
  const TASKS = grokbook.lab(core);

  // The words of each setting, and of its values where these are no words for readers.
  const CONTROLS = {
    p: ["Hours of the clock, p"],
    width: ["Width"],
    share: ["Share of the table", (value) => `${Math.round(100 * value)} %`],
    seed: ["Seed"],
    loss: ["Loss", (value) => ({ softmax: "softmax cross-entropy", stablemax: "StableMax", exact: "collapse-free" })[value]],
    precision: ["Precision of the loss", (value) => value],
    optimizer: ["Optimiser", (value) => ({ adamw: "AdamW", orthogonal: "AdamW with ⊥Grad", sgd: "SGD" })[value]],
    rate: ["Learning rate"],
    decay: ["Weight decay"],
    penalty: ["Penalty on activations"],
  };
  // What a task asks to change, which stands beside Start; hints are for no one to see.
  const CHANGED = ["seed", "loss", "precision", "optimizer", "rate", "decay", "penalty"];
  const NAMED = { wait: ["rate", "seed"], clock: ["rate", "decay"], overflow: ["rate", "decay"],
    collapse: ["precision", "seed"], rescue: CHANGED, remedies: CHANGED };
  const ANEW = ["p", "width", "share", "seed"]; // what a running network cannot change

  /** What the worker does: steps in slices of time, and words in between. */
  function work(core) {
    let net, timer, points, pace;
    const note = (seen) => points.push({ ...seen, settings: net.settings });
    const tell = () => {
      const seen = core.look(net);
      if (net.overflowed) postMessage({ points, overflowed: net.steps });
      else postMessage({ points, now: seen, waves: core.waves(net), pace });
      points = [];
    };
    const slice = (end, pause) => {
      const begun = Date.now(), from = net.steps;
      while (net.steps < end && Date.now() < begun + pause && !net.overflowed) {
        const seen = core.advance(net);
        if (seen) note(seen);
      }
      pace = (Date.now() - begun) / (net.steps - from || 1);
      tell();
      if (net.overflowed) return;
      if (net.steps < end) timer = setTimeout(slice, 0, end, pause);
      else postMessage({ over: true });
    };
    const measure = (settings) => {
      const other = core.create(settings);
      core.step(other); // the first one is slower
      const begun = Date.now();
      core.step(other);
      return Date.now() - begun;
    };
    onmessage = ({ data: { settings, go, end, pause } }) => {
      clearTimeout(timer);
      if (settings && net) net.settings = settings;
      if (!net) {
        net = core.create(settings);
        pace = measure(settings);
        points = [];
        note(core.look(net));
        tell();
      }
      if (go) slice(end, pause);
    };
  }

  const [WIDTH, HEIGHT, TOP] = [360, 236, 28];
  const across = scale([0, Math.log10(LAST)], [44, WIDTH - 12]);
  const x = (step) => across(Math.log10(Math.max(step, 1)));
  const share = scale([0, 100], [HEIGHT - 34, TOP]);
  const GAPS = { float16: 11 * Math.LN2, float32: 24 * Math.LN2, float64: 53 * Math.LN2 };

  function axes(title, y, ticks, show) {
    const steps = [1, 10, 100, 1000, 10000];
    return [text(WIDTH / 2 + 18, HEIGHT - 4, "step, logarithmic"), text(4, 12, title, "", "start"),
      ...steps.map((at) => text(x(at), HEIGHT - 20, at.toLocaleString("en-GB"))),
      ...ticks.flatMap((at) => [line(x(1), y(at), x(LAST), y(at), "grid"),
        text(x(1) - 4, y(at) + 4, show(at), "", "end")])];
  }

  /** The weights of a unit for the numbers, in the order in which its wave has one period. */
  function wave({ k, u, v, share, weights }, title, at) {
    const p = weights.length, left = 8 + 180 * at;
    const step = weights.findIndex((_, a) => (a * k) % p === 1);
    const [place, y] = [scale([0, p], [left, left + 164]), scale([-1, 1], [118, 26])];
    const fit = Array.from({ length: 65 }, (_, i) => {
      const turned = (2 * Math.PI * i) / 64;
      return [place((p * i) / 64), y(u * Math.cos(turned) + v * Math.sin(turned))];
    });
    return [text(left, 14, `${title}: ${Math.round(100 * share)} % one wave`, "", "start"),
      line(left, y(0), left + 164, y(0), "grid"), path(fit, "thick test"),
      ...weights.map((_, i) => make("svg:circle", { cx: place(i).toFixed(1), cy: y(weights[(i * step) % p]).toFixed(1), r: 2.5, class: "dot" })),
      text(left + 82, 134, `numbers 0, ${step}, ${(2 * step) % p}, …`)];
  }

  /** The words for a time in milliseconds. */
  const time = (span) => (span < 90000 ? `${Math.max(1, Math.round(span / 1000))} s` : `${Math.round(span / 60000)} min`);

  // What is said of a run once a share of it is reached.
  const EVENTS = [
    ["train", 1, "all examples known"],
    ["test", 0.95, "95 % of the other questions right"],
    ["collapsed", 1, "every sample collapsed"],
  ];

  /** All points of runs as a table, one row each; the sentence stands in the first. */
  function logOf(runs, task, reached, sentence) {
    const seen = ["step", "train", "test", "collapsed", "gap"], names = Object.keys(DEFAULTS);
    const rows = runs.flatMap(({ points, overflowed }, at) => {
      const row = (point, isOver) => [at + 1, ...seen.map((name) => point[name]), ...names.map((name) => point.settings[name]), isOver];
      const end = overflowed === null ? [] : [row({ step: overflowed, settings: points.at(-1).settings }, true)];
      return [...points.map((point) => row(point, false)), ...end];
    });
    // a program for tables would compute what begins with one of these signs
    const quoted = `"${sentence.replace(/^[=+\-@]/, " $&").replaceAll('"', '""')}"`;
    return [["task", "reached", "run", ...seen, ...names, "overflowed", "sentence"],
      ...rows.map((row, at) => [task, reached, ...row, at ? "" : quoted])].map((row) => row.join(",")).join("\n") + "\n";
  }

  start("trainer", (live) => {
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    const controls = Object.fromEntries(
      Object.entries(CONTROLS).map(([name, [words, show = say]]) => [name, choice(words, OFFERED[name].map((value) => [value, show(value)]))]));
    const preset = choice("What to try", [...Object.entries(PRESETS).map(([name, { title }]) => [name, title]), ["", "your own settings"]]);
    const button = (words) => make("button", { type: "button" }, words);
    const [run, reset, link, save] = ["Start", "Reset", "Share a link", "Download the log"].map(button);
    run.className = "run";
    const question = make("p", { class: "question" });
    const accuracy = picture(WIDTH, HEIGHT, "Accuracy in training and test, and collapsed samples, against the step");
    const gap = picture(WIDTH, HEIGHT, "Mean gap of the logits against the step");
    const units = picture(WIDTH, 138, "The weights of two units for the numbers, and the wave that is nearest to them");
    const values = make("p", { class: "numbers" }), left = make("span");
    const said = make("p", { class: "said", role: "status", "aria-live": "polite" });
    let worker, running, points, marks, reached, overflowed;
    let task = "", runs = [], isSaved = true; // of the task: its name, its runs, whether the log has them

    const assignment = make("p", { class: "title", hidden: "" }), goals = make("ul", { class: "goals", hidden: "" }), ask = make("span");
    const sentence = make("textarea", { rows: 3 });
    const answer = make("p", { class: "said answer", role: "status", "aria-live": "polite" }); // beside the button to hand in
    const lab = make("div", { hidden: "" }, make("label", {}, ask, sentence));
    const [named, others] = [make("div", { class: "controls named" }), make("div", { class: "controls" })];
    const parts = () => TASKS[task].goal(runs.filter((run) => run.points.length > 1));
    const isReached = () => parts().every(([done]) => done);

    /** The parts of the goal, those that are reached with a tick. */
    function judged() {
      if (!task) return;
      const items = parts().map(([done, words]) => `${done ? "✓ reached" : "○ not yet"}: ${words}`);
      if (isReached()) items.push("That is all: press Pause, answer the question under the plots, and hand in.");
      if (items.join() === goals.dataset.items) return; // or they would be read out again
      goals.dataset.items = items.join();
      goals.replaceChildren(...items.map((words) => make("li", {}, words)));
    }

    /** Bring the controls that the task names to Start, and the others under the plots. */
    function place() {
      for (const [name, { row }] of Object.entries(controls))
        ((NAMED[task] ?? []).includes(name) ? named : others).append(row);
    }

    /** Set up a task by its name, or none by "". */
    function assign(name) {
      [task, runs, isSaved] = [name, [], true];
      sentence.value = answer.textContent = "";
      lab.hidden = assignment.hidden = goals.hidden = !task;
      place();
      save.textContent = task ? "Hand in: download the log" : "Download the log";
      for (const [other, set] of Object.entries(sets)) set.textContent = other === task ? "Leave this task" : "Set up this task";
      if (!task) return begin("decay");
      const { title, ask: words, begin: preset } = TASKS[task];
      assignment.textContent = `Task ${Object.keys(TASKS).indexOf(task) + 1}: ${title}`;
      ask.textContent = words;
      begin(preset);
    }

    const read = () => Object.fromEntries(Object.entries(controls).map(([name, { input }]) =>
      [name, Number.isNaN(Number(input.value)) ? input.value : Number(input.value)]));
    const same = (a, b) => Object.keys(DEFAULTS).every((name) => a[name] === b[name]);

    function write(settings) {
      for (const [name, { input }] of Object.entries(controls)) input.value = settings[name];
      described();
    }

    function described() {
      const settings = read();
      preset.input.value = Object.keys(PRESETS).find((name) => same(settingsOf(name), settings)) ?? "";
      question.textContent = TASKS[task]?.words ?? PRESETS[preset.input.value]?.words ?? "What do you expect?";
      return settings;
    }

    const address = () => `#${ANCHOR}:${new URLSearchParams(task ? { task, ...read() } : read())}`;

    function curves() {
      const drawn = (name, kind, y) => path(points.slice(1).map((point) => [x(point.step), y(point[name])]), kind);
      const percent = (value) => share(100 * value);
      const lines = (low) => marks.map((at) => line(x(at), HEIGHT - 34, x(at), low, "now"));
      accuracy.replaceChildren(...axes("share of answers or samples", share, [0, 50, 100], (at) => `${at} %`), ...lines(TOP),
        ...(overflowed === null ? [drawn("collapsed", "thick removed", percent)] : []), drawn("train", "thick train", percent),
        drawn("test", "thick test", percent));
      const { loss, precision } = read();
      const limit = loss === "softmax" ? GAPS[precision] : Infinity;
      const most = Math.min(9999, Math.max(20, ...points.map((point) => point.gap))); // before an overflow it has no bound
      const y = scale([0, most], [HEIGHT - 34, TOP]);
      const parts = limit < most ? [line(x(1), y(limit), x(LAST), y(limit), "now"),
        text(x(1) + 4, y(limit) - 4, `${precision} begins to absorb`, "", "start")] : [];
      gap.replaceChildren(...axes("mean gap of the logits", y, [0, most / 2, most], (at) => say(Math.round(at))), ...lines(TOP), ...parts,
        drawn("gap", "thick kept", (value) => y(Math.min(value, most))));
    }

    function shown({ points: more, now, waves, pace, overflowed: step, over }) {
      if (over) return pause(`The training ends at step ${say(LAST)}.`);
      points.push(...more);
      isSaved &&= !task || points.length < 2;
      if (step !== undefined) return stop(step);
      judged();
      for (const [name, level] of EVENTS) {
        const found = points.find((point) => point[name] >= level);
        if (found) reached[name] ??= found.step;
      }
      const known = EVENTS.filter(([name]) => name in reached);
      if (known.length) tell(known.map(([name, , words]) => `Step ${reached[name]}: ${words}.`).join(" "));
      const say100 = (value) => `${(100 * value).toFixed(0)} %`;
      const end = now.step < SOON ? SOON : LAST;
      values.textContent = `step ${now.step.toLocaleString("en-GB")} · training ${say100(now.train)} · test `
        + `${say100(now.test)} · collapsed ${say100(now.collapsed)} · gap ${now.gap.toFixed(1)} · mean unit ${say100(waves.mean)} one wave`;
      left.textContent = `about ${time(pace * (end - now.step))} to step ${end.toLocaleString("en-GB")}`;
      curves();
      units.replaceChildren(...["clearest unit", "middle unit"].flatMap((title, at) => wave(waves.units[at], title, at)));
    }

    const tell = (words) => {
      if (said.textContent !== words) said.textContent = words; // or it would be read out again
    };

    function stop(step) {
      runs.at(-1).overflowed = overflowed = step;
      judged();
      run.disabled = true;
      pause(`The numbers overflowed after step ${step}; this is no collapse. Choose a smaller learning rate, less decay or a wider type.`);
      values.textContent = `step ${step} · numbers overflowed`;
      left.textContent = "";
      curves();
    }

    function pause(words) {
      running = false;
      run.textContent = "Start";
      worker.postMessage({});
      if (words) said.textContent = words;
    }

    function anew() {
      worker?.terminate();
      [points, marks, reached, overflowed, running] = [[], [], {}, null, false];
      if (!task) runs = [];
      runs.push({ points, overflowed });
      judged();
      run.textContent = "Start";
      run.disabled = false;
      // from a text, since a page on a disk may not load the file of a worker
      const source = `"use strict";(${work})((${grokbook.trainerCore})());`;
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.onmessage = ({ data }) => shown(data);
      worker.onerror = () => (said.textContent = "This browser does not start the worker that trains.");
      worker.postMessage({ settings: described() });
      said.textContent = "Ready: press Start.";
    }

    run.addEventListener("click", () => {
      if (running) return pause("Paused.");
      running = true;
      run.textContent = "Pause";
      if (!Object.keys(reached).length) said.textContent = "Training.";
      (task ? accuracy : plots).scrollIntoView({ block: "nearest" });
      worker.postMessage({ go: true, end: LAST, pause: still.matches ? 2000 : 120 });
    });
    reset.addEventListener("click", anew);
    link.addEventListener("click", async () => {
      history.replaceState(null, "", address());
      try {
        await navigator.clipboard.writeText(location.href);
        said.textContent = "The link is copied, and stands in the address bar.";
      } catch {
        said.textContent = "The link stands in the address bar.";
      }
    });
    save.addEventListener("click", () => {
      const words = sentence.value.trim().replace(/\s+/g, " ");
      if (task && !words) {
        answer.textContent = "Answer this question in a sentence first: it is a part of the log.";
        sentence.focus();
        return answer.scrollIntoView({ block: "nearest" });
      }
      const file = new Blob([logOf(runs.filter((one) => one.points.length > 1), task, task ? isReached() : "", words)], { type: "text/csv" });
      const { seed, rate, decay, precision, optimizer } = read();
      const download = `grok-${task || `${optimizer}-${precision}-rate${rate}-decay${decay}-seed${seed}`}.csv`;
      if (task) answer.textContent = isReached() ? "The log is downloaded, with the goal reached." : "The log is downloaded; it says that the goal is not reached yet.";
      isSaved = true;
      const address = URL.createObjectURL(file);
      make("a", { href: address, download }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    function begin(name) {
      write(settingsOf(name));
      history.replaceState(null, "", address());
      anew();
    }
    preset.input.addEventListener("change", () => preset.input.value && begin(preset.input.value));
    for (const [name, { input }] of Object.entries(controls))
      input.addEventListener("change", () => {
        const settings = described();
        history.replaceState(null, "", address());
        if (ANEW.includes(name) || points.length < 2 || overflowed !== null) return anew();
        marks.push(points.at(-1).step);
        said.textContent = `Changed at step ${points.at(-1).step}. Press Reset for a run with these settings from the start.`;
        worker.postMessage({ settings, go: running, end: LAST, pause: still.matches ? 2000 : 120 });
      });

    const key = (...curves) => make("ul", { class: "key" }, ...curves.map(([kind, name, words]) =>
      make("li", {}, make("span", { class: kind }, name), words)));
    const plots = make("div", { class: "pair" },
      make("div", {}, accuracy, key(["train", "training", "right answers to examples"],
        ["test", "test", "right answers to the other questions"],
        ["removed", "collapsed", "examples of which rounding leaves only the largest output"])),
      make("div", {}, gap, key(["kept", "gap", "lead of the largest output over the second"])));
    const sets = Object.fromEntries(Object.keys(TASKS).map((name) => [name, button("Set up this task")]));
    const tasks = make("ol", { class: "tasks" }, ...Object.entries(TASKS).map(([name, { title, words, minutes }]) => {
      sets[name].addEventListener("click", () => {
        assign(name === task ? "" : name);
        live.scrollIntoView();
      });
      return make("li", {}, make("strong", {}, title), ` (${minutes} minutes). ${words}`, make("br"), sets[name]);
    }));
    sentence.addEventListener("input", () => {
      isSaved = false;
      answer.textContent = "";
    });
    addEventListener("beforeunload", (event) => {
      if (!isSaved) event.preventDefault(); // the browser asks whether to leave
    });
    place();
    live.append(preset.row, assignment, question, named,
      make("div", { class: "buttons" }, run, reset, left), said, goals, plots,
      values, lab, answer, make("div", { class: "buttons" }, save, link), units,
      make("p", { class: "key" }, "Dots are a unit’s weights for the numbers, and the line is the nearest wave. Does a unit become a wave?"),
      others,
      make("p", { class: "title" }, "Six tasks to hand in"),
      make("p", {}, "A network has the rule when 95 % of the other questions are right. A run counts if its settings stay as they are from its first step on: "
        + "press Reset after a change, except in task 5. The trainer says when a goal is reached. Then answer the question, and hand in one log of all your runs."), tasks);
    const [name, query] = location.hash.slice(1).split(":");
    const linked = name === ANCHOR && query ? Object.fromEntries(new URLSearchParams(query)) : {};
    write(DEFAULTS);
    const offered = { ...OFFERED, task: Object.keys(TASKS) };
    const isKnown = ([key, value]) => Object.hasOwn(offered, key) && offered[key].map(String).includes(value);
    const { task: linkedTask, ...known } = Object.fromEntries(Object.entries(linked).filter(isKnown));
    if (linkedTask) assign(linkedTask);
    for (const [key, value] of Object.entries(known)) controls[key].input.value = value;
    const unknown = Object.entries(linked).filter((one) => !isKnown(one));
    if (query) requestAnimationFrame(() => live.scrollIntoView());
    anew();
    if (unknown.length)
      said.textContent = `The trainer does not have ${unknown.map((one) => one.join(" = ")).join(", ")} of this link; it begins without.`;
  });
})();
