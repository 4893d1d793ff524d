// How the search ranks pages, and which words it takes for others. Sphinx puts this in
// the place of its own scorer, which knows the best word of a query alone. A term of the
// glossary comes first; where no page has all words, those with most of them are found.
var Scorer = {
  objNameMatch: 0, objPartialMatch: 0, objPrio: {}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,

  // What readers write -> what the book writes.
  same: [
    [/(regular|normal|general|memor|penal)iz/g, "$1is"],
    [/⊥\s?(adamw|grad)|perp-?grad|orthogonal gradients?/g, "grad"],
    [/\bfp(16|32|64)\b/g, "float$1"], [/half precision/g, "float16"], [/bf16/g, "bfloat16"],
    [/layernorm|\bln\b/g, "layer norm"], [/\bl2\b/g, "weight decay"], [/\blr\b/g, "learning rate"],
    [/speed-?ups?|faster|accelerat\w+/g, "sooner"], [/catapults?/g, "slingshot"],
    [/(six|6)-?(fold|times)/g, "six times"], [/arte?ifacts?|rounding errors?/g, "rounding"],
    [/\bposition(s|ed)?\b|placement/g, "place"], [/\bmlps?\b/g, "mlp"], [/\bbatchnorm|\bbn\b/g, "batch norm"], [/\bwd\b/g, "weight decay"],
    [/delayed generali[sz]ation/g, "grokking"], [/numerical(ly)? (un)?stab\w+/g, "numerical stability"],
    [/\b(defin\w+|what is|meaning|does|how|choose|works?|real)\b/g, ""],
  ],
  // Lists and histories contain every word; questions answer, then the chapters.
  last: /^(changelog|bibliography|genindex|gallery|downloads|glossary|generated\/)/,
  first: /^(questions|basics)\//,
  then: /\/index$/,

  words: [],
  score: ([page, title, anchor, , score]) => {
    const words = Scorer.words, head = title.toLowerCase();
    const there = words.filter((word) => head.includes(word)).length / (words.length || 1);
    const rank = Scorer.first.test(page) ? 12 : Scorer.then.test(page) ? 11 : 0;
    if (page === "glossary" && anchor) return 60; // the term itself was asked for
    const place = Scorer.last.test(page) ? (there ? 0 : -20) : there ? rank : rank / 2;
    return Math.min(score, 15) + 20 * there + place - (anchor ? 2 : 0);
  },
};

// Sphinx asks this for the words of a query, and knows no other.
var splitQuery = (query) => {
  const said = Scorer.same.reduce((text, [from, to]) => text.replace(from, to), query.toLowerCase());
  const words = said.split(/[^\p{L}\p{N}_]+/u).filter((word) => word);
  Scorer.words = words.filter((word) => word.length > 2).map((word) => word.replace(/s$/, ""));
  return words;
};

// Sphinx looks words up in plain objects, which have a "constructor" of their own.
const harmless = (words) => new Set([...words].filter((word) => !(word in {})));

// A query whose words no page has together finds the pages with most of them.
function findSome(findEach) {
  const findAll = (words, excluded) => findEach(harmless(words), harmless(excluded));
  return (words, excluded) => {
    const found = findAll(words, excluded);
    if (found.length || words.size < 2) return found;
    const pages = new Map();
    for (const word of words) {
      for (const result of findAll(new Set([word]), excluded)) {
        const known = pages.get(result[0]) ?? { result, count: 0 };
        known.count += 1;
        pages.set(result[0], known);
      }
    }
    const every = [...pages.values()];
    const most = Math.max(...every.map(({ count }) => count));
    return every.filter(({ count }) => count === most).map(({ result }) => result);
  };
}

// The lines under a result are prose: no code, no folds, and no formula three times.
function readProse(toText) {
  return (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const hidden = "details, pre, .cell_input, .katex, .definitions, .code-switch";
    page.querySelectorAll(hidden).forEach((part) => part.remove());
    return toText(page.documentElement.outerHTML, anchor);
  };
}

function improve() {
  Search.performTermsSearch = findSome(Search.performTermsSearch);
  Search.htmlToText = readProse(Search.htmlToText);
}

// Sphinx asks the query of the address in a listener of its own. It is there already
// where its script came before this one.
if (typeof Search === "undefined") document.addEventListener("DOMContentLoaded", improve);
else improve();
