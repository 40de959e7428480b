import { act, renderHook } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { useTyped } from "./useTyped";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const typing = () =>
  renderHook(() => {
    const [kept, keep] = useState("");
    const [text, type] = useTyped(kept, keep);
    return { kept, keep, text, type };
  }).result;

test("what is typed is shown at once, and kept after a pause", () => {
  const field = typing();
  act(() => field.current.type("a"));
  act(() => void vi.advanceTimersByTime(150));
  act(() => field.current.type("as"));
  act(() => void vi.advanceTimersByTime(150));
  expect([field.current.text, field.current.kept]).toEqual(["as", ""]);
  act(() => void vi.advanceTimersByTime(100));
  expect(field.current.kept).toBe("as");
});

test("what comes from elsewhere replaces it", () => {
  const field = typing();
  act(() => field.current.type("asthma"));
  act(() => void vi.advanceTimersByTime(300));
  act(() => field.current.keep("height"));
  expect(field.current.text).toBe("height");
  act(() => void vi.advanceTimersByTime(300));
  expect(field.current.kept).toBe("height");
});

test("what is typed on while it is being kept stays", () => {
  const field = typing();
  act(() => field.current.type("as"));
  act(() => void vi.advanceTimersByTime(300));
  act(() => field.current.type("asthma"));
  expect([field.current.text, field.current.kept]).toEqual(["asthma", "as"]);
});
