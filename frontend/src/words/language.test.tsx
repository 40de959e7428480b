import { render } from "@testing-library/react";
import { Link, MemoryRouter } from "react-router";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Rich } from "../ui/Rich";
import { loci } from "./counted";
import { ago, bytes, count, list, moment } from "./format";
import { measured, pValue } from "./genetics";
import {
  choose,
  declared,
  declaredLabel,
  declaredPair,
  message,
  plural,
  preferredLanguage,
  speak,
  t,
} from "./language";

beforeEach(() => speak("en"));
afterEach(() => localStorage.clear());

const draft = message("Draft");

test("a sentence is in the language that is spoken, and the page says which", async () => {
  expect([t("Studies"), draft(), document.documentElement.lang]).toEqual(["Studies", "Draft", "en"]);
  await speak("de");
  expect([t("Studies"), draft(), document.documentElement.lang]).toEqual(["Studien", "Entwurf", "de"]);
});

test("what no catalogue has stays English, with its values and its plurals", async () => {
  await speak("de");
  const sentence = "{{n}} sentences that nobody has translated for {{name}}";
  expect(t(sentence, { n: 1234, name: "Graz" })).toBe("1.234 sentences that nobody has translated for Graz");
  expect([1, 2].map((n) => plural(n, "{{n}} whale", "{{n}} whales"))).toEqual(["1 whale", "2 whales"]);
});

test("of one, of none and of many", async () => {
  expect([0, 1, 1234].map(loci)).toEqual(["0 loci", "1 locus", "1,234 loci"]);
  await speak("de");
  expect([0, 1, 1234].map(loci)).toEqual(["0 Loci", "1 Locus", "1.234 Loci"]);
});

test("numbers, times and lists are written as the language writes them", async () => {
  await speak("de");
  expect([count(1_234_567), bytes(71_234_567), measured(0.0289531)]).toEqual([
    "1.234.567",
    "71,2 MB",
    "0,02895",
  ]);
  expect([pValue(1.3665), pValue(522.018)]).toEqual(["0,0430", "9,59 × 10⁻⁵²³"]);
  expect(ago("2026-01-01T00:00:06Z", Date.parse("2026-01-01T00:00:10Z"))).toBe("vor 4 s");
  expect(list(["Graz", "München", "Tartu"])).toBe("Graz, München und Tartu");
  expect(moment("2026-01-31T12:00:00Z")).toMatch(/^31\.01\.2026/);
});

test("what the server declares keeps PLINK's flag, and is known in parts", async () => {
  await speak("de");
  expect(declaredLabel("Covariates (--covar-name)")).toBe("Kovariaten (--covar-name)");
  expect(declaredLabel("Nobody declared (this)")).toBe("Nobody declared (this)");
  expect(declared("50 people, 10 cases and controls")).toBe("50 Personen, 10 Fälle und Kontrollen");
  expect(declared("Allele frequencies, Missing calls")).toBe("Allelfrequenzen, Fehlende Calls");
  expect(declaredPair("Fit model: iteration 4 of at most 25", ": ")).toBe(
    "Modell anpassen: Iteration 4 von höchstens 25",
  );
  expect(declaredPair("Count people: people", ": ")).toBe("Personen zählen: people");
  expect(declaredPair("the mean of each column of the pool; not what this cohort added", "; ")).toBe(
    "den Mittelwert jeder Spalte des Pools; nicht, was diese Kohorte beigetragen hat",
  );
});

test("what the server declares with words of a study is translated around them", async () => {
  await speak("de");
  expect(declared("invited Graz again")).toBe("hat Graz wieder eingeladen");
  expect(declared("panel of 1,000,000 variants agreed; 7 left out")).toBe(
    "Panel von 1.000.000 Varianten abgestimmt; 7 ausgelassen",
  );
  expect(declared("paused: Waiting for Graz, Tartu.")).toBe("angehalten: Wartet auf Graz, Tartu.");
  expect(declared("a share of 0.00001: variants with more are left out")).toBe(
    "ein Anteil von 0,00001: Varianten mit mehr entfallen",
  );
  expect(declared("59,210")).toBe("59.210");
});

test.each([
  ["age (number, years, from -5 to 0.5)", "age (Zahl, years, von -5 bis 0,5)"],
  [
    "id (patient, text: says only which rows are one person's)",
    "id (Patient, Text: sagt nur, welche Zeilen zu derselben Person gehören)",
  ],
  ["smoker (outcome, category, of no, text)", "smoker (Zielgröße, Kategorie, mit den Werten no, text)"],
  ["words (one-hot, of any words)", "words (one-hot, mit beliebigen Wörtern)"],
  [
    "changed the plan. Column: x (number) → x (integer)",
    "hat den Plan geändert. Spalte: x (Zahl) → x (ganze Zahl)",
  ],
  ["changed the plan. Cohorts: 3 → not set", "hat den Plan geändert. Kohorten: 3 → nicht gesetzt"],
  [
    "at most 2 variants × 3 counts of 64 bits + a check of 512 bits, in at most 7 rounds, usually in 6",
    "höchstens 2 Varianten × 3 Anzahlen zu 64 Bit + eine Prüfsumme von 512 Bit, in höchstens 7 Runden, meist in 6",
  ],
  [
    "0.01, 0.5: the one with the least error is taken",
    "0,01; 0,5: der mit dem kleinsten Fehler wird genommen",
  ],
  ["The study is running: it has not ended.", "Status der Studie: läuft. Sie ist nicht beendet."],
])("what is put together from several is translated: %s", async (english, german) => {
  await speak("de");
  expect(declared(english)).toBe(german);
});

test("what people wrote is shown as they wrote it, whatever is in it", async () => {
  await speak("de");
  for (const said of ["{{name}} of 3", "Draft or not", "$t(Draft)"]) expect(declared(said)).toBe(said);
});

test("the choice comes before the browser's languages, and these in their order", async () => {
  const browser = vi.spyOn(navigator, "languages", "get");
  browser.mockReturnValue(["fr-CH", "de-CH", "en"]);
  expect(preferredLanguage()).toBe("de");
  browser.mockReturnValue(["fr", "toString"]);
  expect(preferredLanguage()).toBe("en");
  await choose("de");
  expect(preferredLanguage()).toBe("de");
});

test("a value in a sentence with a link is text, whatever it looks like", () => {
  const name = `A <b>bold</b> & "odd" study</a>`;
  const { container } = render(
    <MemoryRouter>
      <Rich
        text="Repeats <a>{{name}}</a>, with its cohorts."
        parts={{ a: <Link to="/studies/1" /> }}
        values={{ name }}
      />
    </MemoryRouter>,
  );
  expect(container.textContent).toBe(`Repeats ${name}, with its cohorts.`);
  expect(container.querySelector("a")?.textContent).toBe(name);
});
