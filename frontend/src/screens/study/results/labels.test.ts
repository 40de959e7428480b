import { expect, test } from "vitest";

import { labelled } from "./labels";

const texts = (marks: { x: number; y: number; text: string }[], most = 9) =>
  labelled(marks, 500, most).map(({ text }) => text);

test("the weaker of two that would touch is named beside, with a line to its mark", () => {
  const marks = [
    { x: 200, y: 50, text: "rs1" },
    { x: 210, y: 52, text: "rs2" },
    { x: 300, y: 52, text: "rs3" },
  ];
  expect(labelled(marks, 500, 9).map(({ x, from }) => [x, from?.x])).toEqual([
    [200, undefined],
    [245.7, 210],
    [300, undefined],
  ]);
  expect(texts(marks, 1)).toEqual(["rs1"]);
});

test("a name does not lie on another mark, or above the plot", () => {
  const [, second] = labelled(
    [
      { x: 200, y: 50, text: "rs1" },
      { x: 205, y: 64, text: "rs2" },
    ],
    500,
    9,
  );
  expect([second?.x, second?.y]).toEqual([240.7, 56]);
  expect(texts([{ x: 200, y: 10, text: "rs1" }])).toEqual([]);
});

test("at the edges a name stays inside", () => {
  const [left, right] = labelled(
    [
      { x: 2, y: 50, text: "rs1234567" },
      { x: 498, y: 50, text: "rs7654321" },
    ],
    500,
    9,
  );
  expect([left?.anchor, left?.left, right?.anchor]).toEqual(["start", 2, "end"]);
});
