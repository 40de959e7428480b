/**
 * Checks the catalogues of `locales/` against the sources: every sentence is in each catalogue, no entry is left
 * over, both have the same placeholders and tags, and nothing that people read stands in the pages untranslated.
 *
 * `node catalogue.js` checks; `node catalogue.js missing de` prints the entries that German lacks.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import ts from "typescript";

const HERE = import.meta.dirname;
const LOCALES = join(HERE, "locales");

/** What people read, where it stands as a literal. */
const READ = new Set([
  ...["about", "across", "alt", "aria-label", "caption", "hint", "label", "legend", "of", "placeholder"],
  ...["submit", "summary", "title"],
]);

/** Names that are the same in every language. */
const NAMES = new Set([
  "Unpooled",
  "−log₁₀ P",
  "PC1",
  "PC2",
  "SHA-256",
  "A1 / A2",
  "NA",
  "RNA",
  "dbSNP",
  "Ensembl",
  "GWAS Catalog",
]);

/** PLINK's flags are the same everywhere, too. */
const isName = (text) => NAMES.has(text) || /^--[a-z-]+$/.test(text);

const isWords = (text) => /\p{L}{2}/u.test(text) && !isName(text.trim());

/** The sentences of the sources, each with the forms that a catalogue has of it; and what is wrong with them. */
export function readSources() {
  const sentences = new Map();
  const problems = [];
  for (const file of sources(join(HERE, "src"))) {
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
    const visit = (node) => {
      const found = sentenceOf(node);
      if (found?.text !== undefined) sentences.set(found.text, { isCounted: found.isCounted });
      const wrong = found && found.text === undefined ? "is not a literal" : bare(node);
      if (wrong) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        problems.push(`${relative(HERE, file)}:${line + 1}: ${wrong}: ${node.getText().slice(0, 80)}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return { sentences, problems };
}

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.tsx?$/.test(path) && !/\.test\.|schema\.d\.ts$|words\/language\.ts$/.test(path)) yield path;
  }
}

const PLACE = { t: 0, message: 0, plural: 2 };

/** A sentence that is translated here; without its text where that is no literal. */
function sentenceOf(node) {
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text in PLACE) {
    const name = node.expression.text;
    return { text: literal(node.arguments[PLACE[name]]), isCounted: name === "plural" };
  }
  if (ts.isJsxSelfClosingElement(node) && node.tagName.getText() === "Rich") {
    const text = node.attributes.properties.find((each) => each.name?.getText() === "text");
    return { text: literal(text?.initializer), isCounted: false };
  }
  return undefined;
}

function literal(node) {
  if (node && ts.isJsxExpression(node)) return literal(node.expression);
  return node && ts.isStringLiteralLike(node) ? node.text : undefined;
}

/** Whether words stand here that no catalogue has. */
function bare(node) {
  if (ts.isJsxText(node)) {
    const { parent } = node;
    const isCode = ts.isJsxElement(parent) && parent.openingElement.tagName.getText() === "code";
    return !isCode && isWords(node.text) && "is not translated";
  }
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return false;
  return isRead(node) && isWords(wordsOf(node)) && "is not translated";
}

const wordsOf = (node) =>
  ts.isTemplateExpression(node)
    ? [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join(" ")
    : node.text;

/** Whether people read a literal: as a part of the page, or of an attribute or field with such a name. */
function isRead(node) {
  let [child, parent] = [node, node.parent];
  while (isTransparent(parent, child)) [child, parent] = [parent, parent.parent];
  if (ts.isJsxExpression(parent)) return !ts.isJsxAttribute(parent.parent) || isReadName(parent.parent.name);
  if (ts.isJsxAttribute(parent) || ts.isPropertyAssignment(parent)) return isReadName(parent.name);
  return false;
}

const isReadName = (name) => READ.has(name.getText());

/** Whether a value goes through: `a ? "b" : "c"`, `a && "b"`, `(a)`; the condition itself does not. */
const isTransparent = (parent, child) =>
  ts.isParenthesizedExpression(parent) ||
  (ts.isConditionalExpression(parent) && parent.condition !== child) ||
  (ts.isBinaryExpression(parent) &&
    ["&&", "||", "??"].includes(parent.operatorToken.getText()) &&
    (parent.right === child || parent.operatorToken.getText() !== "&&"));

const read = (name) => JSON.parse(readFileSync(join(LOCALES, name), "utf8"));

/** The entries that a catalogue has of the sentences, each with the English text. */
export function entriesFor(language, sentences) {
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  const entries = new Map(read("declared.json").map((text) => [text, text]));
  for (const [text, { isCounted }] of sentences) {
    for (const key of isCounted ? forms.map((form) => `${text}_${form}`) : [text]) entries.set(key, text);
  }
  return entries;
}

/** Placeholders and tags, which a translation has as well. */
const marks = (text) =>
  [...new Set(text.match(/{{\w+}}|<\/?\w+\/?>/g))]
    .filter((mark) => mark !== "{{n}}")
    .sort()
    .join(" ");

function problemsOf(language, sentences) {
  const catalogue = read(`${language}.json`);
  const entries = entriesFor(language, sentences);
  const say = (what, key) => `locales/${language}.json ${what}: ${key}`;
  return [
    ...[...entries.keys()].filter((key) => !catalogue[key]).map((key) => say("lacks", key)),
    ...Object.keys(catalogue)
      .filter((key) => !entries.has(key))
      .map((key) => say("has, and nobody says", key)),
    ...[...entries]
      .filter(([key, text]) => catalogue[key] && marks(catalogue[key]) !== marks(text))
      .map(([key]) => say("has other placeholders or tags than", key)),
  ];
}

const languages = readdirSync(LOCALES)
  .map((name) => name.replace(/\.json$/, ""))
  .filter((name) => name !== "declared");

const { sentences, problems } = readSources();
const [, , wanted, language] = process.argv;
if (wanted === "missing" && language) {
  const catalogue = read(`${language}.json`);
  const lacking = [...entriesFor(language, sentences).keys()].filter((key) => !catalogue[key]);
  console.log(JSON.stringify(Object.fromEntries(lacking.map((key) => [key, ""])), null, 2));
} else {
  const found = [...problems, ...languages.flatMap((each) => problemsOf(each, sentences))];
  for (const problem of found) console.error(problem);
  if (found.length) process.exit(1);
}
