/* The figure of the story, which follows the step that is read.

   Without this script, or where motion is not wanted, every step has its own picture. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const source = document.getElementById("story");
  if (!source || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { steps, right, arms } = JSON.parse(source.textContent);
  const sections = [...document.querySelectorAll("article section > section")].slice(0, steps.length);
  const make = (tag, ...rest) => grokbook.parts.make(`svg:${tag}`, ...rest);
  const svg = make("svg", { viewBox: "0 0 360 330", role: "img" });
  const story = document.createElement("div"), list = document.createElement("div");
  const stage = document.createElement("aside"), nav = document.createElement("nav");
  [story.className, list.className, stage.className] = ["story", "steps", "stage"];
  nav.setAttribute("aria-label", "Steps of the story");
  sections[0].before(story);
  list.append(...sections);
  stage.append(svg, nav);
  story.append(stage, list);
  const across = (epoch) => 34 + 316 * Math.log10(1 + epoch / 10) / Math.log10(801);
  const path = (epochs, values, y, dash = "") => make("path", { "stroke-dasharray": dash,
    d: values.map((v, k) => `${k ? "L" : "M"}${across(epochs[k]).toFixed(1)} ${y(v).toFixed(1)}`).join("") });
  const text = (x, y, words) => make("text", { x, y }, words);
  const links = sections.map((section, k) => {
    const link = document.createElement("a");
    [link.href, link.textContent] = [`#${section.id}`, k + 1];
    nav.append(link);
    return link;
  });

  function draw(name, epoch) {
    const arm = arms[name], kept = Object.keys(arm.frames).map(Number);
    const percent = (v) => 110 - v / 10, tenths = (v) => 190 - (v + 120) / 2.4;
    const near = kept.filter((e) => e <= epoch).pop() ?? kept[0];
    const [scores, places, largest] = arm.frames[near];
    const bars = scores.map((v, k) => make("rect", { x: 34 + 2.2 * k, width: 1.8,
      y: 270 - Math.max(v, 0) * 0.45, height: Math.max(Math.abs(v) * 0.45, 0.3),
      fill: k === right ? "#d55e00" : "#888" }));
    const points = [];
    for (let k = 0; k < places.length; k += 2)
      points.push(`${275 + places[k] * 0.55},${270 + places[k + 1] * 0.55}`);
    svg.replaceChildren(path(arm.epochs, arm.train_accuracy, percent, "5 3"),
      path(arm.epochs, arm.test_accuracy, percent), path(arm.epochs, arm.zero_loss, percent, "1 3"),
      path(arm.epochs, arm.loss, tenths),
      make("path", { d: `M${across(epoch)} 8V192` }), ...bars, make("polygon", { points: points.join(" ") }),
      text(34, 8, `${name}: % of examples - -, unseen —, loss 0 ···`), text(8, 14, "100"), text(14, 112, "0"),
      text(34, 124, "loss, from 10 to 10⁻¹²"), text(34, 206, `epoch ${epoch.toLocaleString("en-GB")}`),
      text(34, 326, `one example, largest ${largest}`), text(235, 206, "the numbers"));
    svg.setAttribute("aria-label", `${name} at epoch ${epoch}`);
  }

  let now = 0, running = 0;
  function show(k) {
    const [name, epoch] = steps[k], from = steps[now][0] === name ? steps[now][1] : 0;
    const begun = performance.now(), turn = ++running;
    links.forEach((link, at) => link.toggleAttribute("aria-current", at === k));
    now = k;
    (function frame() {
      const part = Math.min(1, (performance.now() - begun) / 900);
      draw(name, Math.round(from + (epoch - from) * part));
      if (part < 1 && turn === running) requestAnimationFrame(frame);
    })();
  }
  const seen = new IntersectionObserver((entries) => {
    for (const one of entries) if (one.isIntersecting) show(sections.indexOf(one.target));
  }, { rootMargin: "-50% 0px -49% 0px" });
  sections.forEach((section) => seen.observe(section));
  show(0);
});
