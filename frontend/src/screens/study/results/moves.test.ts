import { expect, test } from "vitest";

import { genomeOf, NARROWEST, type Region } from "./genome";
import { meaning, moved, stepped, type Move } from "./moves";

const GENOME = genomeOf([
  { name: "1", last: 1_000_000 },
  { name: "2", last: 600_000 },
]);
const HERE: Region = { chromosome: "2", from: 200_000, to: 400_000 };

test.each<[Move, Region | null, Region | null]>([
  ["in", HERE, { chromosome: "2", from: 250_000, to: 350_000 }],
  ["out", HERE, { chromosome: "2", from: 100_000, to: 500_000 }],
  ["left", HERE, { chromosome: "2", from: 150_000, to: 350_000 }],
  ["right", HERE, { chromosome: "2", from: 250_000, to: 450_000 }],
  ["all", HERE, null],
  ["in", null, { chromosome: "1", from: 0, to: 1_000_000 }],
  ["out", null, null],
  ["left", null, null],
  ["left", { ...HERE, from: 0, to: 100_000 }, { chromosome: "2", from: 0, to: 100_000 }],
  ["right", { ...HERE, from: 500_000, to: 600_000 }, { chromosome: "2", from: 500_000, to: 600_000 }],
  ["out", { chromosome: "2", from: 0, to: 500_000 }, { chromosome: "2", from: 0, to: 600_000 }],
  ["out", { chromosome: "2", from: 0, to: 600_000 }, null],
])("%s from %j", (move, from, to) => {
  expect(moved(GENOME, from, move)).toEqual(to);
});

test("zooming in ends at the narrowest region, zooming out at the whole genome", () => {
  let region: Region | null = HERE;
  for (let i = 0; i < 30; i += 1) region = moved(GENOME, region, "in");
  expect(region && region.to - region.from).toBe(NARROWEST);
  for (let i = 0; i < 30; i += 1) region = moved(GENOME, region, "out");
  expect(region).toBeNull();
});

test("keys", () => {
  expect(["+", "=", "-", "ArrowLeft", "Escape", "Enter", "ArrowUp", "a"].map(meaning)).toEqual([
    { move: "in" },
    { move: "in" },
    { move: "out" },
    { move: "left" },
    { move: "all" },
    "look",
    { step: -1 },
    null,
  ]);
});

test("steps go round", () => {
  expect([stepped(3, null, 1), stepped(3, null, -1), stepped(3, 2, 1), stepped(3, 0, -1)]).toEqual([
    0, 2, 0, 2,
  ]);
  expect(stepped(0, null, 1)).toBeNull();
});
