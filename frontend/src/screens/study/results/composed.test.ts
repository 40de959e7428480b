import { describe, expect, it } from "vitest";

import { pixelsOf, placed } from "./composed";

describe("panels of a figure", () => {
  const [wide, square] = [true, false];

  it("stand below one another, each as wide as the figure", () => {
    expect(placed([wide, square], 800, true)).toEqual([
      { x: 0, width: 800, row: 0 },
      { x: 0, width: 800, row: 1 },
    ]);
  });

  it("share rows side by side: a wide one takes the room of two", () => {
    expect(placed([wide, square, wide], 814, false)).toEqual([
      { x: 0, width: 533, row: 0 },
      { x: 547, width: 266, row: 0 },
      { x: 0, width: 814, row: 1 },
    ]);
  });

  it("are as wide in pixels as makes letters of 11 pixels so many points in print", () => {
    expect(pixelsOf(25.4, 11)).toBe(72);
    expect(pixelsOf(183, 7)).toBe(815);
  });
});
