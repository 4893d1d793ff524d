// The form of the page Settings: a reader's own setting, its nearest runs, its address.
(() => {
  const form = document.querySelector("form.own");
  const told = document.querySelector(".own-told");
  const list = document.querySelector(".own-runs");
  const book = nearest.unpack(JSON.parse(document.getElementById("runs-index").textContent));
  const fields = [...form.querySelectorAll("[data-setting]")];
  const PREFIX = "my."; // of the names in the address; the others are the table's
  let read = ""; // what was made of a pasted text

  function made(tag, text = "", attributes = {}) {
    const node = document.createElement(tag);
    node.textContent = text;
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    return node;
  }
  // The settings of a run, in bold those that set it apart.
  function describe(run, apart) {
    const { say } = nearest;
    const given = (name) => run[name] !== null && run[name] !== undefined;
    const parts = [
      [["task", "modulus p"], given("modulus p") ? `${run.task} mod ${run["modulus p"]}` : run.task],
      [["training share"], given("training share") && `${say(100 * run["training share"])} % of the data`],
      [["training samples"], given("training samples") && `${say(run["training samples"])} samples`],
      [["network"], run.network],
      [["layers"], given("layers") && `${run.layers} layer${run.layers > 1 ? "s" : ""}`],
      [["width"], given("width") && `width ${run.width}`],
      [["norm"], given("norm") && run.norm],
      [["dropout"], run.dropout > 0 && `dropout ${run.dropout}`],
      [["activation"], given("activation") && `activation ${run.activation}`],
      [["loss", "loss dtype"], `${run.loss} in ${run["loss dtype"]}`],
      [["optimizer"], run.optimizer],
      [["rate"], `rate ${say(run.rate)}`],
      [["decay"], `decay ${run.decay ?? 0}`],
      [["betas"], given("betas") && `betas ${say(run.betas)}`],
      [["eps"], given("eps") && `eps ${run.eps}`],
      [["batch"], typeof run.batch === "number" && `batches of ${say(run.batch)}`],
      [["epochs"], `${say(run.epochs)} steps`],
      [["added"], run.added !== "nothing" && run.added],
    ];
    const line = made("p", "", { class: "run" });
    parts.filter(([, text]) => text).forEach(([names, text], at) => {
      const isApart = names.some((name) => apart.includes(name));
      line.append(at ? " · " : "", made(isApart ? "b" : "span", text));
    });
    return line;
  }
  function item({ run, other, apart, told: did }, setting) {
    const [label, address] = book.experiments[run.experiment];
    const node = made("li");
    const head = made("p");
    head.append(address ? made("a", label, { href: address }) : made("span", label));
    head.append(` ${run.arm}`, made("small", ` ${run.experiment.split("/")[1]}, ${run.scale} scale`));
    const unlike = other.map((name) => `${name} ${nearest.say(run[name] ?? "none")}`
      + (setting[name] === undefined ? "" : ` where yours is ${nearest.say(setting[name])}`));
    const differs = other.length ? `Other than yours: ${unlike.join("; ")}.` : "All that you gave is the same.";
    node.append(head, made("p", did, { class: "did" }), made("p", differs), describe(run, apart));
    return node;
  }
  function show() {
    const given = Object.fromEntries(fields.map((field) => [field.dataset.setting, field.value]));
    const { setting, faults } = nearest.understand(given, book);
    const found = nearest.find(setting, book);
    const lines = [read, ...faults, ...found.sentences].filter(Boolean);
    if (!Object.keys(setting).length) lines.push("Give one setting or more, and the nearest runs appear here.");
    else lines.push(`The ${found.runs.length} nearest runs:`);
    told.replaceChildren(...lines.map((one) => made("p", one)));
    list.replaceChildren(...found.runs.map((one) => item(one, setting)));
  }
  function address() {
    return new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  }
  function keep() {
    const chosen = address();
    [...chosen.keys()].filter((name) => name.startsWith(PREFIX)).forEach((name) => chosen.delete(name));
    fields.forEach(({ name, value }) => value && chosen.set(PREFIX + name, value));
    history.replaceState(null, "", chosen.size ? `#${chosen}` : location.pathname + location.search);
    show();
  }
  // A field of a name that the form does not have is not in the address either.
  function restore() {
    const chosen = address();
    fields.forEach((field) => { put(field, chosen.get(PREFIX + field.name) ?? ""); });
    show();
  }
  function put(field, value) {
    field.value = value;
    if (value && field.value !== value) field.value = ""; // a choice that is none
  }
  function paste() {
    const { fields: texts, understood, ignored } = nearest.parse(form.elements.text.value, book);
    fields.forEach((field) => put(field, texts[field.dataset.setting] ?? ""));
    const some = ignored.slice(0, 12).join(", ") + (ignored.length > 12 ? ` and ${ignored.length - 12} more` : "");
    read = understood.length ? `Understood: ${understood.join(", ")}.` : "Nothing in this text was understood as a setting.";
    if (ignored.length) read += ` Ignored: ${some}.`;
    keep();
    told.scrollIntoView({ block: "nearest" }); // it is below a long form
  }
  for (const field of fields.filter((one) => one.matches("select"))) {
    const known = nearest.choices(field.dataset.setting, book);
    field.append(...known.map((name) => made("option", name, { value: name })));
  }
  form.addEventListener("input", ({ target }) => {
    if (target !== form.elements.text) keep();
  });
  form.elements.text.addEventListener("paste", () => setTimeout(paste));
  form.elements.read.onclick = paste;
  form.onsubmit = () => false;
  form.onreset = () => {
    read = "";
    setTimeout(keep);
  };
  addEventListener("hashchange", restore);
  form.hidden = false;
  restore();
})();
