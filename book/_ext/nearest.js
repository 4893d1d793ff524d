// The recorded runs that are nearest to a setting, and what no run covers. Nothing here
// touches a page: settings.js draws what these functions return, and tests call them.
//
// A book is what `nearest.unpack` makes of the index of settings.py: settings by name
// (how they are called), experiments by name ([label, address]), and runs. A setting of
// a reader has values by the same names.
const nearest = (() => {
  const NUMBER = "-?(?:\\d{1,3}(?:,\\d{3})+(?![\\d.])|\\d*\\.?\\d+)(?:e[+-]?\\d+)?";
  const LONGEST = 20000; // characters of a text that are read
  const COUNTS = { one: 1, single: 1, two: 2, three: 3, four: 4, five: 5, six: 6 };
  // Classes come before all numbers, in this order of weight.
  const CLASSES = { task: 16, network: 16, optimizer: 8, loss: 8, added: 4 };
  const WEIGHTS = { eps: 0.1, epochs: 0.1, batch: 0.3, "loss dtype": 0.5 };
  const APART = 4; // the distance of 0 from any other number, e^4 = 55 times
  const DIGITS = 4; // of a distance: a ratio of 1.0001 is none
  // What the form does not ask for, and may still decide how a run ends.
  const INSIDE = ["norm", "dropout", "activation"];
  const SILENT = new Set(("a an and the of on in with at to for is by mod modulo true false "
    + "null none name type kind config args params parameters self yes no py python train "
    + "training layer layers").split(" "));

  function unpack(index) {
    const columns = Object.entries(index.runs);
    const count = columns.length ? columns[0][1].at.length : 0;
    const runs = Array.from({ length: count }, (_, row) => Object.fromEntries(
      columns.map(([name, { of, at }]) => [name, of[at[row]]])));
    return { settings: index.settings, experiments: index.experiments, runs };
  }

  const kindOf = (name, book) => book.settings[name].kind;
  const choices = (name, book) => [...new Set(book.runs.map((run) => run[name]))];

  // Every class of a setting that a text has, with the place of its words.
  function classesIn(text, name, book) {
    const words = Object.entries(book.settings[name].words);
    const pattern = new RegExp(words.map(([, one]) => `(${one})`).join("|"), "gi");
    return [...text.replaceAll("_", " ").matchAll(pattern)].map((match) => ({
      is: words[match.slice(1).findIndex((one) => one !== undefined)][0],
      begin: match.index,
      end: match.index + match[0].length,
    }));
  }
  function classOf(text, name, book) {
    const known = choices(name, book).find((one) => String(one).toLowerCase() === text.toLowerCase());
    return known ?? classesIn(text, name, book)[0]?.is;
  }

  // Reading a text ---------------------------------------------------------------------

  // What a configuration says, read leniently: `lr: 3e-4`, `--weight-decay 1`, JSON, a
  // call, a sentence. Returns texts by setting, and lists of what was read and what not.
  function parse(text, book) {
    let rest = String(text).slice(0, LONGEST).replace(/(^|\s)(#|\/\/).*$/gm, "$1");
    const fields = {};
    const understood = [];
    const ignored = [];
    const aliases = Object.create(null); // no key of a text is one of an object's own
    for (const [name, { called }] of Object.entries(book.settings)) {
      for (const one of [...called, name.replaceAll(" ", "_")]) aliases[one] = name;
    }
    const plain = (key) => key.toLowerCase().replace(/[-\s]/g, "_");
    const settingOf = (key) => aliases[plain(key)] ?? aliases[plain(key).split(".").at(-1)];
    const keep = (name, value) => {
      if (!(name in fields)) understood.push(`${name} ${value}`);
      fields[name] ??= value;
    };
    const isOf = (value) => Object.keys(book.settings).find((name) =>
      kindOf(name, book) === "class" && classOf(value, name, book) !== undefined);

    const betas = {};
    function take(key, raw) {
      const value = raw.replace(/^["']|["']$/g, "");
      const beta = plain(key).match(/(?:^|[_.])(?:beta_?|b)([12])$/);
      if (beta) {
        betas[beta[1]] = value;
        return;
      }
      const name = settingOf(key);
      const kind = name && kindOf(name, book);
      if (kind === "class") {
        const found = classOf(value, name, book);
        if (found === undefined) ignored.push(`${key} ${value} (no ${name} of this book)`);
        else {
          keep(name, found);
          layersIn(value);
        }
      } else if (kind) {
        const list = value.match(new RegExp(NUMBER, "gi")) ?? [];
        if (name === "width" && /[,\s]/.test(value.trim()) && list.length > 1) {
          keep(name, list[0]);
          keep("layers", String(list.length));
        } else keep(name, value.replace(/^[[(]+|[\])]+$/g, "").trim());
      } else {
        const other = isOf(value);
        if (other) keep(other, classOf(value, other, book));
        else ignored.push(key);
      }
    }
    function layersIn(words) {
      const found = words.match(/\b(one|single|two|three|four|five|six|\d+)[-_ ]layers?\b/i);
      if (found) keep("layers", String(COUNTS[found[1].toLowerCase()] ?? found[1]));
    }

    const value = "(\\[[^\\]\\n]*\\]|\\([^)\\n]*\\)|\"[^\"\\n]*\"|'[^'\\n]*'|[^\\s,;{}()[\\]\"'#]+)";
    const pair = new RegExp(`(?:--?)?["']?([A-Za-z_][\\w.-]*)["']?[ \\t]*[:=][ \\t]*${value}`, "g");
    rest = rest.replace(pair, (_, key, raw) => {
      take(key, raw);
      return " \n ";
    });
    // a key, a blank and a number: "--weight-decay 1", "lr 3e-4"
    const keys = [...Object.keys(aliases), "beta1", "beta2", "beta_1", "beta_2"];
    keys.sort((a, b) => b.length - a.length);
    const spaced = keys.map((key) => key.replaceAll("_", "[-_ ]")).join("|");
    const called = new RegExp(`(?:--|(?<![\\w.-]))(${spaced})[ \\t]+(?:of[ \\t]+)?(${NUMBER})%?`, "gi");
    rest = rest.replace(called, (_, key, raw) => {
      take(key, raw);
      return " \n ";
    });
    layersIn(rest);
    for (const name of Object.keys(book.settings)) {
      if (kindOf(name, book) !== "class") continue;
      const found = classesIn(rest, name, book);
      if (found.length) keep(name, found[0].is);
      for (const { begin, end } of found.reverse()) {
        rest = `${rest.slice(0, begin)}${" ".repeat(end - begin)}${rest.slice(end)}`;
      }
    }
    if (betas[1] ?? betas[2]) keep("betas", `${betas[1] ?? 0.9}, ${betas[2] ?? 0.999}`);
    rest = rest.replace(/\b(?:one|single|two|three|four|five|six|\d+)[-_ ]layers?\b/gi, " ");
    for (const [word] of rest.matchAll(/[\p{L}_](?:[\p{L}\w.-]*[\p{L}\w])?/gu)) {
      const known = settingOf(word) || SILENT.has(word.toLowerCase()) || word.length < 2;
      if (!known && !ignored.includes(word)) ignored.push(word);
    }
    return { fields, understood, ignored };
  }

  // Texts by setting -> values, and a sentence for each text that is none.
  function understand(fields, book) {
    const setting = {};
    const faults = [];
    for (const [name, raw] of Object.entries(fields)) {
      const text = String(raw ?? "").trim();
      if (!text || !Object.hasOwn(book.settings, name)) continue;
      const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
      const refuse = (what) => faults.push(`“${short}” is no ${name}, which is ${what}; it was left out.`);
      const kind = kindOf(name, book);
      if (kind === "class") {
        const found = classOf(text, name, book);
        if (found === undefined) refuse(`one of ${choices(name, book).slice(0, 6).join(", ")} and others`);
        else setting[name] = found;
      } else if (kind === "pair") {
        const both = (text.match(new RegExp(NUMBER, "gi")) ?? []).map(Number);
        if (both.length !== 2 || both.some((one) => !(one >= 0 && one < 1))) {
          refuse("two numbers from 0 to less than 1, such as 0.9, 0.98");
        } else setting[name] = both;
      } else if (kind === "batch" && /all|full|none|whole/i.test(text)) {
        setting[name] = "all rows";
      } else {
        const number = numberOf(text);
        const positive = !["decay", "eps"].includes(name);
        if (!Number.isFinite(number) || number < 0 || (positive && number === 0)) {
          refuse(positive ? "a positive number" : "a number that is not negative");
        } else if (name === "training share" && number > 1) {
          refuse("a number up to 1, or a percentage");
        } else setting[name] = number;
      }
    }
    return { setting, faults };
  }
  function numberOf(text) {
    const percent = text.endsWith("%");
    const digits = text.replace(/\s*%$/, "").replace(/,(?=\d{3}(?!\d))/g, "");
    return (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(digits) ? Number(digits) : NaN) / (percent ? 100 : 1);
  }

  // Comparing with the runs ------------------------------------------------------------

  const isOneLayer = (layers) => layers === 1;
  const same = (a, b) => a === b
    || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) <= 5e-6 * Math.abs(b))
    || (Array.isArray(a) && Array.isArray(b) && a.every((one, at) => same(one, b[at])));

  function apart(a, b) {
    if (same(a, b)) return 0;
    if (Array.isArray(a) && Array.isArray(b)) {
      return a.reduce((sum, one, at) => sum + 0.3 * apart(1 - one, 1 - b[at]), 0);
    }
    if (typeof a !== "number" || typeof b !== "number" || !a || !b) return APART;
    return Math.abs(Math.log(a / b));
  }

  // [what differs in kind, how far the numbers are]; the first decides.
  function distance(setting, run) {
    let kinds = 0;
    let far = 0;
    for (const [name, weight] of Object.entries(CLASSES)) {
      const wanted = setting[name] ?? (name === "added" ? "nothing" : undefined);
      if (wanted !== undefined && !has(run[name], wanted, name)) kinds += weight;
    }
    if (setting.network === "transformer" && setting.layers
        && isOneLayer(setting.layers) !== isOneLayer(run.layers)) kinds += 4;
    for (const [name, value] of Object.entries(setting)) {
      if (!(name in CLASSES)) far += (WEIGHTS[name] ?? 1) * apart(value, run[name]);
    }
    if (setting.rate && setting.decay) far += apart(setting.rate * setting.decay, run.rate * run.decay);
    // what is equal on paper is equal here, whatever logarithms are rounded to
    return [kinds, Number(far.toFixed(DIGITS))];
  }
  // A run may add several things to a plain training.
  function has(value, wanted, name) {
    return name === "added" && wanted !== "nothing"
      ? String(value).split(", ").includes(wanted) || value === wanted
      : value === wanted;
  }

  // The settings in which a run is not as wanted.
  const others = (wanted, run) => Object.keys(wanted).filter((name) => (name in CLASSES
    ? !has(run[name], wanted[name], name) : !same(run[name], wanted[name])));

  // Numbers have six digits, as in the tables, and are the same as one typed with these.
  function say(value) {
    if (Array.isArray(value)) return `(${value.map(say).join(", ")})`;
    if (typeof value !== "number") return String(value);
    return value >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(6)));
  }

  function subject(chosen) {
    const { network, layers, task, optimizer, loss, added } = chosen;
    const count = isOneLayer(layers) ? "one-layer" : `${layers}-layer`;
    const net = `${layers ? `${count} ` : ""}${network ?? "network"}`;
    return [net, task && `on ${task}`, optimizer && `with ${optimizer}`, loss && `and ${loss}`,
      chosen["loss dtype"] && `in ${chosen["loss dtype"]}`,
      added && (added === "nothing" ? "and nothing added" : `and ${added}`)].filter(Boolean).join(" ");
  }

  // Sentences: which part of a setting no run has.
  function uncovered(setting, book) {
    const sentences = [];
    const chosen = {};
    let runs = book.runs;
    for (const name of ["network", "layers", "task", "optimizer", "loss", "added", "loss dtype"]) {
      if (!(name in setting)) continue;
      const left = runs.filter((run) => (name in CLASSES
        ? has(run[name], setting[name], name) : same(run[name], setting[name])));
      if (left.length) {
        runs = left;
        chosen[name] = setting[name];
      } else sentences.push(`No ${subject({ ...chosen, [name]: setting[name] })} was trained.`);
    }
    const numbers = Object.entries(setting).filter(([name, value]) =>
      typeof value === "number" && name !== "layers");
    if (setting.rate && setting.decay) numbers.push(["rate × decay", setting.rate * setting.decay]);
    const of = (run, name) => (name === "rate × decay" ? run.rate * run.decay : run[name]);
    for (const [name, value] of numbers) {
      const known = runs.map((run) => of(run, name)).filter((one) => typeof one === "number");
      if (known.some((one) => same(one, value))) continue;
      const below = Math.max(...known.filter((one) => one < value));
      const above = Math.min(...known.filter((one) => one > value));
      const [low, high] = [below, above].map(say);
      const a = `No ${subject(chosen)} was trained with`;
      const an = /^[e]/.test(name) ? "an" : "a";
      const noun = `${/s$/.test(name) ? "" : `${an} `}${name}`;
      if (!known.length) sentences.push(`${a} ${noun}.`);
      else if (below === -Infinity) sentences.push(`${a} ${noun} below ${high}.`);
      else if (above === Infinity) sentences.push(`${a} ${noun} above ${low}.`);
      else sentences.push(`${a} ${noun} between ${low} and ${high}.`);
    }
    const whole = book.runs.filter((run) => !others({ added: "nothing", ...setting }, run).length);
    if (whole.length) {
      const many = whole.reduce((sum, run) => sum + run.runs, 0);
      sentences.push(many === 1 ? "1 run has all of these settings." : `${many} runs have all of these settings.`);
    } else if (!sentences.length) {
      const more = book.runs.some((run) => !others(setting, run).length);
      sentences.push(`Each of these settings was trained, but no run has them all${more ? " with nothing added" : ""}.`);
    }
    return sentences;
  }

  // How much a run has beyond a plain training of a plain network.
  function additions(run) {
    const added = run.added === "nothing" ? [] : run.added.split(", ");
    const hasNorm = Boolean(run.norm) && run.norm !== "no norm";
    return added.length + Number(hasNorm) + Number(run.dropout > 0);
  }

  // When runs did something: " at step 30 (20 to 40)", with words for those that never did.
  function when(steps) {
    const [, median, earliest, latest] = steps.match(/^(.+) \((.+) to (.+)\)$/) ?? [];
    if (latest === "never") return ` (median: ${median}; earliest ${earliest})`;
    const [, only] = steps.match(/^(.+) and never$/) ?? [];
    if (only) return ` (one at step ${only}, one never)`;
    return ` at step ${steps}`;
  }

  // What a run did, in one sentence.
  function told(run) {
    const all = run.runs === 1 ? "the one run" : `all ${run.runs} runs`;
    const end = /%/.test(run.end) ? ` At the end ${run.end} of the test set is right.` : "";
    const early = run.reached === run.generalised ? ""
      : ` Above 95 % first${when(run.reached)}, and below it again at times.`;
    if (run.lasting === run.runs) return `Generalised for good${when(run.generalised)}, in ${all}.${early}`;
    if (run.lasting) return `Generalised for good in ${run.lasting} of ${run.runs} runs${when(run.generalised)}.${early}${end}`;
    const none = run.runs === 1 ? "The one run did not generalise" : `None of ${run.runs} runs generalised`;
    const until = `${none} within ${say(run.epochs)} steps`;
    const who = run.runs === 1 ? "it" : "they";
    const fit = run.fitted === "never" ? `; ${who} did not fit the training set either`
      : `; ${who} fitted the training set${when(run.fitted)}`;
    const was = run.runs === 1 ? "was" : "were";
    const fall = run.reached === "never" ? "" : `, and ${was} above 95 % first${when(run.reached)}`;
    return `${until}${fit}${fall}.${end}`;
  }

  // The settings that are not the same in all of some runs.
  function unlike(runs, book) {
    const names = [...Object.keys(book.settings), ...INSIDE];
    return names.filter((name) => new Set(runs.map((run) => JSON.stringify(run[name]))).size > 1);
  }

  // The runs nearest to a setting: each with its distance, what is other there, and what
  // sets it apart from those that are shown and as near. Of runs as near as another, those
  // come first that share more settings, then those that add less, then those of more seeds.
  function find(setting, book, count = 8) {
    if (!Object.keys(setting).length) return { sentences: [], runs: [] };
    const wanted = { added: "nothing", ...setting };
    const ranked = book.runs.map((run) => ({
      run, far: distance(setting, run), other: others(wanted, run) }));
    ranked.sort((a, b) => a.far[0] - b.far[0] || a.far[1] - b.far[1]
      || a.other.length - b.other.length || additions(a.run) - additions(b.run)
      || b.run.runs - a.run.runs);
    const asNear = (one, of) => of.filter(({ far }) => String(far) === String(one.far));
    const shown = ranked.slice(0, count);
    const ties = asNear(ranked[0], ranked).length;
    const sentences = uncovered(setting, book);
    if (ties > 1) {
      sentences.push(`${ties} runs are equally near: first those that share more of your settings `
        + "exactly, then those with less added. What sets them apart is in bold.");
    }
    const runs = shown.map((one) => ({
      ...one, apart: unlike(asNear(one, shown).map(({ run }) => run), book), told: told(one.run) }));
    return { sentences, runs };
  }

  return { unpack, parse, understand, find, say, choices };
})();
