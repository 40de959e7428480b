/**
 * The language of the pages. An English sentence is its own key: English needs no catalogue, and what a catalogue
 * lacks is shown in English. `locales/` has one catalogue for each other language, loaded when it is chosen.
 */
import { createInstance } from "i18next";
import { useSyncExternalStore } from "react";

/** Each by the name that its readers know it by. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;

export type Language = keyof typeof LANGUAGES;

type Catalogue = Record<string, string>;

const CATALOGUES: Record<Exclude<Language, "en">, () => Promise<{ default: Catalogue }>> = {
  de: () => import("../../locales/de.json"),
};

/** How dates, numbers and lists are written. */
const LOCALES: Record<Language, string> = { en: "en-GB", de: "de-DE" };

export const i18n = createInstance();

void i18n.init({
  lng: "en",
  fallbackLng: false,
  resources: { en: { translation: {} } },
  initAsync: false,
  keySeparator: false,
  nsSeparator: false,
  interpolation: { escapeValue: false }, // React escapes
});

const KEY = "unpooled-language";

const isLanguage = (name: string): name is Language => Object.hasOwn(LANGUAGES, name);

/** What the reader chose in this browser, or else the first of the browser's languages that there is. */
export function preferredLanguage(): Language {
  const chosen = localStorage.getItem(KEY) ?? "";
  if (isLanguage(chosen)) return chosen;
  const wanted = navigator.languages.map((tag) => tag.split("-")[0] ?? "");
  return wanted.find(isLanguage) ?? "en";
}

/** From now on the pages are in this language; English where its catalogue cannot be loaded. */
export async function speak(language: Language): Promise<void> {
  const isThere = language === "en" || (await hasLoaded(language));
  await i18n.changeLanguage(isThere ? language : "en");
  document.documentElement.lang = i18n.language;
}

async function hasLoaded(language: Exclude<Language, "en">): Promise<boolean> {
  if (i18n.hasResourceBundle(language, "translation")) return true;
  try {
    i18n.addResourceBundle(language, "translation", (await CATALOGUES[language]()).default);
    return true;
  } catch {
    return false;
  }
}

/** The same, and this browser remembers it. */
export async function choose(language: Language): Promise<void> {
  localStorage.setItem(KEY, language);
  await speak(language);
}

export const currentLanguage = (): Language => i18n.language as Language;

/** The current language, for a component that must be drawn anew when it changes. */
export const useLanguage = (): Language => useSyncExternalStore(subscribe, currentLanguage);

function subscribe(listener: () => void): () => void {
  i18n.on("languageChanged", listener);
  return () => i18n.off("languageChanged", listener);
}

/** Something that formats for a locale, made once for each language. */
export function perLanguage<T>(make: (locale: string) => T): () => T {
  const made = new Map<Language, T>();
  return () => {
    const language = currentLanguage();
    const found = made.get(language) ?? make(LOCALES[language]);
    made.set(language, found);
    return found;
  };
}

const numbers = perLanguage((locale) => new Intl.NumberFormat(locale));

export const wholeNumber = (value: number): string => numbers().format(value);

/** Values in a sentence, by the names that stand in it between double braces. Numbers are whole. */
export type Values = Record<string, string | number>;

export const inWords = (values: Values): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "number" ? wholeNumber(value) : value,
    ]),
  );

/** A sentence in the current language. It stands here as a literal: from these the catalogue's keys are taken. */
export const t = (sentence: string, values: Values = {}): string => i18n.t(sentence, inWords(values));

/** A sentence about a number, `{{n}}` in it: what English says of one, and of any other. */
export const plural = (n: number, one: string, other: string, values: Values = {}): string =>
  i18n.t(other, { ...inWords({ n, ...values }), count: n, defaultValue_one: one, defaultValue_other: other });

/** A sentence that is declared before the language is known; called, it is in the current one. */
export type Message = () => string;

export const message =
  (sentence: string): Message =>
  () =>
    t(sentence);

/**
 * What the server declares, such as an option's label, a sentence with numbers or words, or a list of labels:
 * `locales/declared.json` has it. All else stays as it is.
 */
export function declared(text = ""): string {
  const known = declaredSentence(text) ?? (NUMERAL.test(text) ? written(text) : undefined);
  if (known !== undefined) return known;
  const [, about, phenotype] = OF_PHENOTYPE.exec(text) ?? [];
  if (about && phenotype && i18n.exists(about)) return `${t(about)} ${phenotype}`;
  for (const between of [/(, )/, SHAPE]) {
    const parts = text.split(between).map((part, k) => (k % 2 ? part : declaredSentence(part)));
    if (!parts.includes(undefined)) return parts.join("");
  }
  for (const { key, names, pattern } of withWords()) {
    const [, ...values] = pattern.exec(text) ?? [];
    const said = (value: string, k: number) => [
      names[k],
      names[k]?.startsWith("s") ? declared(value) : declaredWithin(value),
    ];
    if (values.length) return t(key, Object.fromEntries(values.map(said)) as Values);
  }
  return change(text) ?? column(text);
}

/** A sentence that the catalogue has as it is, or with numbers. */
function declaredSentence(text: string): string | undefined {
  if (i18n.exists(text)) return t(text);
  for (const several of [NUMBER, NUMBERS]) {
    const numbers: string[] = [];
    const put = (found: string) =>
      `{{n${numbers.push(several === NUMBER ? written(found) : found.split(/, ?/).map(written).join("; "))}}}`;
    const sentence = text.replace(several, put);
    if (i18n.exists(sentence))
      return t(sentence, Object.fromEntries(numbers.map((number, k) => [`n${k + 1}`, number])));
  }
  return undefined;
}

/** What a fact was and is: “Cohorts: 3 → 4”. */
function change(text: string): string | undefined {
  const [, label, before = "", after = ""] = /^(.+?): (.+) → (.+)$/s.exec(text) ?? [];
  return label && `${declaredLabel(label)}: ${declared(before)} → ${declared(after)}`;
}

/** A column of a table: its name, then in parentheses its kind, and its values as they stand in the files. */
function column(text: string): string {
  const [, name, kind, values] = /^(.+?) \((.+?)(?:, of (.+))?\)$/s.exec(text) ?? [];
  if (!name || !kind) return text;
  const ofValues = values && `of ${values}`;
  const known = ofValues && declared(ofValues);
  const said = known === ofValues && values ? t("of {{values}}", { values }) : known;
  const kinds = kind.split(/(, |: )/).map((part) => declaredSentence(part) ?? part);
  return `${name} (${kinds.join("")}${said ? `, ${said}` : ""})`;
}

/** A value of a declared sentence may be one itself, such as why a study is paused; a single word is a name. */
const declaredWithin = (value: string): string =>
  value.includes(" ") || NUMERAL.test(value) ? declared(value) : value;

/** The declared sentences in which words stand, `{{v1}}`, or a study's state, `{{s1}}`; those that say most themselves come first. */
const withWords = perLanguage(() =>
  Object.keys(i18n.getResourceBundle(i18n.language, "translation") as Catalogue)
    .filter((key) => /{{[vs]1}}/.test(key))
    .sort((one, other) => other.length - one.length)
    .map((key) => ({
      key,
      names: [...key.matchAll(/{{([vs]\d)}}/g)].map(([, name = ""]) => name),
      pattern: new RegExp(
        `^${key
          .split(/{{[vs]\d}}/)
          .map(literally)
          .join("(.+)")}$`,
        "s",
      ),
    })),
);

const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** What stands between the parts of how much leaves: “3 columns × 2 counts of 64 bits + a check of 512 bits”. */
const SHAPE = /( × | \+ |, (?=in (?:at most )?\d|usually )|(?<=^at most ))/;

/** A number by itself that is written otherwise elsewhere; without commas it may be a name. */
const NUMERAL = /^(\d{1,3}(,\d{3})+(\.\d+)?|\d+\.\d+)$/;

/** What is done, with the phenotype that it is done for, in a study of several. */
const OF_PHENOTYPE = /^(.*) (\([\w+-]+\))$/;

/** A number in a declared text: there it is `{{n1}}`, `{{n2}}`, … */
const NUMBER = /(?<![\w.])(?:(?<!\S)-)?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)/g;

/** Several of them: they stand where one does. */
const NUMBERS = new RegExp(`${NUMBER.source}(?:, ?${NUMBER.source})*`, "g");

const written = (number: string): string => decimals().format(Number(number.replaceAll(",", "")));

const decimals = perLanguage((locale) => new Intl.NumberFormat(locale, { maximumFractionDigits: 12 }));

/** The same of two declared texts that the server joins by `between`, such as what a sum tells and what not. */
export function declaredPair(text: string, between: "; " | ": "): string {
  const at = between === "; " ? text.lastIndexOf(between) : text.indexOf(between);
  return at < 0 || i18n.exists(text)
    ? declared(text)
    : declared(text.slice(0, at)) + between + declared(text.slice(at + 2));
}

/** The same of an option's label, behind which PLINK's flag may stand in parentheses. */
export function declaredLabel(label: string): string {
  const [, name = label, flag = ""] = /^(.*?)( \(--[a-z-]+\))$/.exec(label) ?? [];
  return declared(name) + flag;
}
