import { expect, test } from "vitest";

import { labelled } from "./labels";

const texts = (marks: { x: number; y: number; text: string }[], most = 9) =>
  labelled(marks, 500, most).map(({ text }) => text);

test("the stronger of two that would touch is named", () => {
  const marks = [
    { x: 200, y: 50, text: "rs1" },
    { x: 210, y: 52, text: "rs2" },
    { x: 300, y: 52, text: "rs3" },
  ];
  expect(texts(marks)).toEqual(["rs1", "rs3"]);
  expect(texts(marks, 1)).toEqual(["rs1"]);
});

test("a name does not lie on another mark, or above the plot", () => {
  expect(
    texts([
      { x: 200, y: 50, text: "rs1" },
      { x: 205, y: 64, text: "rs2" },
    ]),
  ).toEqual(["rs1"]);
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
