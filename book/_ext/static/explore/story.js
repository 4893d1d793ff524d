/* The figure of the story, which follows the step that is read.

   Right answers and training loss share one axis of epochs; below them is the ring of the
   numbers. Each quantity has one colour, which story.css names. Without this script, or
   where motion is not wanted, every step has its own picture. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const source = document.getElementById("story");
  if (!source || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { steps, arms } = JSON.parse(source.textContent);
  const sections = [...document.querySelectorAll("article section > section")].slice(0, steps.length);
  const { line, path, scale, text, make, slider } = grokbook.parts;
  const svg = make("svg:svg", { viewBox: "0 0 400 544", role: "img", preserveAspectRatio: "xMidYMin" });
  const story = document.createElement("div"), list = document.createElement("div");
  const stage = document.createElement("aside"), nav = document.createElement("nav");
  [story.className, list.className, stage.className] = ["story", "steps", "stage"];
  nav.setAttribute("aria-label", "Steps of the story");
  sections[0].before(story);
  list.append(...sections);

  // the places of the three panels, in the units of the picture
  const LEFT = 52, RIGHT = 392, LAST = 8000;
  const along = (epoch) => Math.log10(1 + epoch / 10) / Math.log10(1 + LAST / 10);
  const across = (epoch) => LEFT + (RIGHT - LEFT) * along(epoch);
  const percent = scale([0, 1000], [166, 30]); // per mille
  const decades = scale([-120, 10], [330, 214]); // tenths of a decade
  const RING = { x: 140, y: 462, size: 0.78 };
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
      text(LEFT, 16, "right answers (%)", "title", "start"),
      text(LEFT, 200, "training loss", "title", "start"),
      text((LEFT + RIGHT) / 2, 366, "epoch (logarithmic)"),
      text(LEFT, 392, "the numbers in the first layer", "title", "start"),
    ];
    for (const value of [0, 50, 100])
      drawn.push(line(LEFT, percent(10 * value), RIGHT, percent(10 * value), "grid"),
        text(LEFT - 6, percent(10 * value) + 4, value, "", "end"));
    for (const [power, words] of [[0, "1"], [-6, "10⁻⁶"], [-12, "10⁻¹²"]])
      drawn.push(line(LEFT, decades(10 * power), RIGHT, decades(10 * power), "grid"),
        text(LEFT - 6, decades(10 * power) + 4, words, "", "end"));
    for (const epoch of [0, 10, 100, 1000, 8000])
      drawn.push(line(across(epoch), 30, across(epoch), 166, "grid"),
        line(across(epoch), 214, across(epoch), 330, "grid"),
        text(Math.min(across(epoch), RIGHT - 12), 348, inWords(epoch)));
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
      points.push([RING.x + RING.size * places[k], RING.y + RING.size * places[k + 1]]);
    const ring = points.map(([cx, cy]) => make("svg:circle", { cx, cy, r: 2, class: "number" }));
    const told = CURVES.flatMap(([words, column, colour, place], k) => {
      const share = place === percent ? `: ${Math.round(arm[column][now] / 10)} %` : "";
      return [make("svg:circle", { cx: 254, cy: 442 + 18 * k, r: 4, class: colour }),
        text(264, 446 + 18 * k, words + share, "", "start")];
    });
    svg.replaceChildren(...axes(), line(across(epoch), 30, across(epoch), 330, "now"), ...curves,
      path([...points, points[0]], "number"), ...ring,
      text(250, 410, name, "title", "start"), text(250, 428, `epoch ${inWords(epoch)}`, "", "start"),
      ...told, text(250, 446 + 18 * 4, `lead of an answer: ${inWords(lead)}`, "", "start"));
    svg.setAttribute("aria-label", `${name} at epoch ${epoch}`);
    time.set(positionOf(epoch));
  }

  let now = 0, running = 0, isMoving = false;
  function show(k) {
    const [name, epoch] = steps[k], from = steps[now][0] === name ? steps[now][1] : 0;
    const begun = performance.now(), turn = ++running;
    links.forEach((link, at) => link.toggleAttribute("aria-current", at === k));
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
  const seen = new IntersectionObserver((entries) => {
    for (const one of entries) if (one.isIntersecting) show(sections.indexOf(one.target));
  }, { rootMargin: "-50% 0px -49% 0px" });
  sections.forEach((section) => seen.observe(section));
  show(0);
});
