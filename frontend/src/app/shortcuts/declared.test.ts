import { expect, test } from "vitest";

import { GROUPS, isField, isPlain, pressed, type Shortcut } from "./declared";

const ALL = GROUPS.flatMap(({ shortcuts }) => shortcuts);

/** What the last of these keys is, pressed one after the other. */
function after(...keys: string[]): string | undefined {
  let before: readonly string[] = [];
  let found: Shortcut | null = null;
  for (const key of keys) [before, found] = pressed(before, key);
  return found?.words();
}

const leads = (keys: string, path: string, mayCreate = true) =>
  ALL.find((shortcut) => shortcut.keys === keys)?.leads?.({ path, mayCreate });

test("every shortcut is reached by its keys", () => {
  for (const { keys, words } of ALL) expect(after(...keys.split(" "))).toBe(words());
});

test("none is the beginning of another, and each does something", () => {
  for (const { keys, leads, does } of ALL) {
    expect(ALL.filter((other) => `${other.keys} `.startsWith(`${keys} `))).toHaveLength(1);
    expect(Number(leads !== undefined) + Number(does !== undefined)).toBe(1);
  }
});

test("a key that does not go on with what was begun begins anew", () => {
  expect(after("g", "g", "s")).toBe("Studies");
  expect(after("g", "n")).toBe("New study");
  expect(after("g", "x")).toBeUndefined();
  expect(after("g", "x", "s")).toBeUndefined();
});

test("pages of a study are there in a study only", () => {
  expect(leads("4", "/studies/abc123/plan")).toBe("/studies/abc123/results");
  expect(leads("1", "/studies/abc123")).toBe("/studies/abc123/plan");
  expect(leads("1", "/studies/new")).toBeNull();
  expect(leads("1", "/")).toBeNull();
});

test("who may not create a study is not led to its form", () => {
  expect(leads("n", "/")).toBe("/studies/new");
  expect(leads("n", "/", false)).toBeNull();
});

test.each(["ctrlKey", "altKey", "metaKey", "repeat", "isComposing"])(
  "a key with %s is not for the page",
  (how) => {
    expect(isPlain(new KeyboardEvent("keydown", { key: "n" }))).toBe(true);
    expect(isPlain(new KeyboardEvent("keydown", { key: "n", [how]: true }))).toBe(false);
  },
);

test("nor is one that is typed into a field", () => {
  document.body.innerHTML =
    '<input><textarea></textarea><select></select><div contenteditable="true"><b>x</b></div><button></button>';
  const inField = [...document.querySelectorAll("input, textarea, select, b, button")].map(isField);
  expect(inField).toEqual([true, true, true, true, false]);
});
