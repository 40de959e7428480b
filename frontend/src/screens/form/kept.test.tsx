import { act, renderHook } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";

import { forgetAll, useKept } from "./kept";

const KEY = "unpooled-kept-coordinator-draft";
const isSound = (found: unknown): found is { text: string } =>
  typeof (found as { text?: unknown } | null)?.text === "string";
const draft = (name: string) =>
  renderHook(() => useKept<{ text: string }>(name, () => ({ text: "" }), isSound)).result;

beforeEach(() => sessionStorage.clear());

test("what was typed is there again, for the same person", () => {
  const first = draft("coordinator-draft");
  act(() => first.current[1]({ text: "asthma" }));
  expect(draft("coordinator-draft").current[0]).toEqual({ text: "asthma" });
  expect(draft("administrator-draft").current[0]).toEqual({ text: "" });
});

test("at sign-out nothing stays", () => {
  const found = draft("coordinator-draft");
  act(() => found.current[1]({ text: "asthma" }));
  sessionStorage.setItem("another's", "stays");
  forgetAll();
  expect(Object.keys(sessionStorage)).toEqual(["another's"]);
});

test.each(["null", "[]", "{", '{"text": 3}', '"text"', ""])("what cannot be used is not: %s", (text) => {
  sessionStorage.setItem(KEY, text);
  expect(draft("coordinator-draft").current[0]).toEqual({ text: "" });
});
