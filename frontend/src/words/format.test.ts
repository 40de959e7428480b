import { expect, test } from "vitest";

import { ago, bytes, count, duration, list } from "./format";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [71_234_567, "71.2 MB"],
  [999_999, "1.00 MB"],
  [1_548_000_000, "1.55 GB"],
])("%d bytes are %s", (value, text) => {
  expect(bytes(value)).toBe(text);
});

test.each([
  [0, "0 s"],
  [0.04, "under 0.1 s"],
  [9.97, "10 s"],
  [1.5, "1.5 s"],
  [4, "4 s"],
  [59.4, "59 s"],
  [59.6, "1 min"],
  [61, "1 min 1 s"],
  [360, "6 min"],
  [754, "12 min"],
  [4800, "1 h 20 min"],
  [7200, "2 h"],
  [266_400, "3 d 2 h"],
  [-3, "0 s"],
])("%d seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("a clock that is behind does not make the past the future", () => {
  const now = Date.parse("2026-01-01T00:00:10Z");
  expect(ago("2026-01-01T00:00:06Z", now)).toBe("4 s ago");
  expect(ago("2026-01-01T00:00:12Z", now)).toBe("0 s ago");
  expect(ago("2025-12-31T23:58:00Z", now)).toBe("2 min ago");
});

test("lists and counts", () => {
  expect(list(["Graz", "Munich", "Tartu"])).toBe("Graz, Munich and Tartu");
  expect(count(1_234_567)).toBe("1,234,567");
});
