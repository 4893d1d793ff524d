/* The figure of the story, which follows the step that is read.

   Right answers and training loss share one axis of epochs; beside them, or below where
   there is no room, is the ring of the numbers. Each quantity has one colour, which story.css names. Without this script, or
   where motion is not wanted, every step has its own picture. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const source = document.getElementById("story");
  if (!source || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { steps, arms } = JSON.parse(source.textContent);
  const sections = [...document.querySelectorAll("article section > section")].slice(0, steps.length);
  const { line, path, scale, text, make, slider } = grokbook.parts;
  const svg = make("svg:svg", { role: "img", preserveAspectRatio: "xMidYMin" });
  const story = document.createElement("div"), list = document.createElement("div");
  const stage = document.createElement("aside"), nav = document.createElement("nav");
  [story.className, list.className, stage.className] = ["story", "steps", "stage"];
  nav.setAttribute("aria-label", "Steps of the story");
  sections[0].before(story);
  list.append(...sections);

  // the places of the panels, in the units of the picture
  const ROOM = matchMedia("(min-width: 60rem)"), LEFT = 52, LAST = 8000;
  const WIDE = {
    size: [860, 304], right: 560, answers: [130, 28], loss: [262, 174],
    head: [596, 16], ring: { x: 710, y: 100, size: 0.7 }, words: [596, 190],
  };
  const TALL = {
    size: [400, 544], right: 392, answers: [166, 30], loss: [330, 214],
    head: [LEFT, 392], ring: { x: 140, y: 462, size: 0.78 }, words: [250, 410],
  };
  let at = ROOM.matches ? WIDE : TALL;
  const along = (epoch) => Math.log10(1 + epoch / 10) / Math.log10(1 + LAST / 10);
  const across = (epoch) => LEFT + (at.right - LEFT) * along(epoch);
  const percent = (value) => scale([0, 1000], at.answers)(value); // per mille
  const decades = (value) => scale([-120, 10], at.loss)(value); // tenths of a decade
  // words, column, colour and panel of the curves
  const CURVES = [
    ["examples", "train_accuracy", "examples", percent],
    ["unseen sums", "test_accuracy", "unseen", percent],
    ["losses at zero", "zero_loss", "zero", percent],
    ["training loss", "loss", "loss", decades],
  ];

  const links = sections.map((section, k) => {
    const link = document.createElement("a");
    [link.href, link.textContent] = [`#${section.id}`, k + 1];
    nav.append(link);
    return link;
  });
  // the slider moves as the axis does: evenly in the logarithm
  const POSITIONS = 400;
  const epochAt = (position) => 10 * Math.round((1 + LAST / 10) ** (position / POSITIONS) - 1);
  const positionOf = (epoch) => Math.round(POSITIONS * along(epoch));
  const inWords = (number) => number > 1e6
    ? `${Math.round(number / 1e6)} million` : number.toLocaleString("en-GB");
  const time = slider("epoch", { min: 0, max: POSITIONS, step: 1, value: 0 },
    (position) => inWords(epochAt(position)));
  stage.append(svg, time.row, nav);
  story.append(stage, list);

  function axes() {
    const drawn = [
      text(LEFT, at.answers[1] - 14, "right answers (%)", "title", "start"),
      text(LEFT, at.loss[1] - 14, "training loss", "title", "start"),
      text((LEFT + at.right) / 2, at.loss[0] + 36, "epoch (logarithmic)"),
      text(...at.head, "the numbers in the first layer", "title", "start"),
    ];
    for (const value of [0, 50, 100])
      drawn.push(line(LEFT, percent(10 * value), at.right, percent(10 * value), "grid"),
        text(LEFT - 6, percent(10 * value) + 4, value, "", "end"));
    for (const [power, words] of [[0, "1"], [-6, "10⁻⁶"], [-12, "10⁻¹²"]])
      drawn.push(line(LEFT, decades(10 * power), at.right, decades(10 * power), "grid"),
        text(LEFT - 6, decades(10 * power) + 4, words, "", "end"));
    for (const epoch of [0, 10, 100, 1000, 8000])
      drawn.push(line(across(epoch), at.answers[1], across(epoch), at.answers[0], "grid"),
        line(across(epoch), at.loss[1], across(epoch), at.loss[0], "grid"),
        text(Math.min(across(epoch), at.right - 12), at.loss[0] + 18, inWords(epoch)));
    return drawn;
  }

  function draw(name, epoch) {
    const arm = arms[name], frames = Object.keys(arm.frames).map(Number);
    const frame = frames.filter((e) => e <= epoch).pop() ?? frames[0];
    const [places, lead] = arm.frames[frame];
    const now = Math.max(0, arm.epochs.findLastIndex((e) => e <= epoch));
    const curves = CURVES.flatMap(([, column, colour, place]) => {
      const points = arm[column].map((value, k) => [across(arm.epochs[k]), place(value)]);
      const [cx, cy] = [across(epoch), place(arm[column][now])];
      return [path(points, colour), make("svg:circle", { cx, cy, r: 4, class: colour })];
    });
    const points = [];
    for (let k = 0; k < places.length; k += 2)
      points.push([at.ring.x + at.ring.size * places[k], at.ring.y + at.ring.size * places[k + 1]]);
    const ring = points.map(([cx, cy]) => make("svg:circle", { cx, cy, r: 2, class: "number" }));
    const [x, y] = at.words;
    const told = CURVES.flatMap(([words, column, colour, place], k) => {
      const share = place === percent ? `: ${Math.round(arm[column][now] / 10)} %` : "";
      return [make("svg:circle", { cx: x + 4, cy: y + 32 + 18 * k, r: 4, class: colour }),
        text(x + 14, y + 36 + 18 * k, words + share, "", "start")];
    });
    svg.setAttribute("viewBox", `0 0 ${at.size.join(" ")}`);
    svg.replaceChildren(...axes(), line(across(epoch), at.answers[1], across(epoch), at.loss[0], "now"), ...curves,
      path([...points, points[0]], "number"), ...ring,
      text(x, y, name, "title", "start"), text(x, y + 18, `epoch ${inWords(epoch)}`, "", "start"),
      ...told, text(x, y + 36 + 18 * 4, `lead of an answer: ${inWords(lead)}`, "", "start"));
    svg.setAttribute("aria-label", `${name} at epoch ${epoch}`);
    time.set(positionOf(epoch));
  }

  let now = 0, running = 0, isMoving = false;
  function show(k) {
    const [name, epoch] = steps[k], from = steps[now][0] === name ? steps[now][1] : 0;
    const begun = performance.now(), turn = ++running;
    links.forEach((link, step) => step === k
      ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current"));
    now = k;
    (function frame() {
      const part = Math.min(1, (performance.now() - begun) / 900);
      isMoving = true; // so that the slider follows and does not lead
      draw(name, Math.round(from + (epoch - from) * part));
      isMoving = false;
      if (part < 1 && turn === running) requestAnimationFrame(frame);
    })();
  }
  time.input.addEventListener("input", () => {
    if (isMoving) return;
    running += 1; // ends the movement
    const wanted = time.get();
    isMoving = true;
    draw(steps[now][0], epochAt(wanted));
    time.set(wanted);
    isMoving = false;
  });
  // a step is read once its heading is in the upper part of what the figure leaves free
  let seen;
  function arrange() {
    at = ROOM.matches ? WIDE : TALL;
    seen?.disconnect();
    seen = new IntersectionObserver((entries) => {
      for (const one of entries) if (one.isIntersecting) show(sections.indexOf(one.target));
    }, { rootMargin: "-66% 0px -33% 0px" });
    sections.forEach((section) => seen.observe(section));
    show(now);
  }
  ROOM.addEventListener("change", arrange);
  arrange();
});
