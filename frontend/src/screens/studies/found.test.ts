import { expect, test } from "vitest";

import type { StudyRow } from "../../api/client";
import { addressOf, found, isNarrow, statuses, wantedOf } from "./found";

const row = (name: string, more: Partial<StudyRow> = {}): StudyRow => ({
  id: name,
  name,
  description: "",
  owner: "anna",
  owner_name: "Anna",
  state: "draft",
  test: "chi-square",
  trait: "case/control",
  phenotype: "asthma",
  phenotypes: ["asthma"],
  build: "GRCh38",
  cohorts_wanted: 3,
  cohorts_joined: 0,
  cohorts_stopped: 0,
  now: { title: "", done: 0, total: 0 },
  asks_you: "",
  created_at: "2026-01-01T00:00:00Z",
  active_at: "2026-01-01T00:00:00Z",
  ...more,
});

const ROWS = [
  row("Study 10", { created_at: "2026-03-01T00:00:00Z", state: "done", test: "logistic" }),
  row("Study 9", {
    created_at: "2026-02-01T00:00:00Z",
    asks_you: "Waits for you to start it",
    state: "ready",
  }),
  row("Größe", { description: "Height, wave two", active_at: "2026-05-01T00:00:00Z", cohorts_stopped: 1 }),
];

const names = (address: string) =>
  found(ROWS, wantedOf(new URLSearchParams(address))).map(({ name }) => name);

test.each([
  ["", ["Größe", "Study 9", "Study 10"]],
  ["sort=newest", ["Study 10", "Study 9", "Größe"]],
  ["search=grosse", ["Größe"]],
  ["search=TWO+height", ["Größe"]],
  ["search=asthma+anna", ["Größe", "Study 9", "Study 10"]],
  ["search=asthma+berta", []],
  ["state=done", ["Study 10"]],
  ["state=yours", ["Study 9"]],
  ["state=attention", ["Größe"]],
  ["method=chi-square&search=study", ["Study 9"]],
  ["sort=oldest", ["Größe", "Study 9", "Study 10"]],
  ["sort=name", ["Größe", "Study 9", "Study 10"]],
  ["sort=active", ["Größe", "Study 10", "Study 9"]],
  ["sort=state", ["Größe", "Study 9", "Study 10"]],
])("what the address asks for is shown: %s", (address, wanted) => expect(names(address)).toEqual(wanted));

test("what no study can have is not asked for", () => {
  expect(names("state=lost&sort=size")).toHaveLength(3);
  expect(isNarrow(wantedOf(new URLSearchParams("state=lost&sort=size&search=+")))).toBe(false);
});

test.each(["", "archived=", "search=a+b&state=yours&method=linear&sort=name&archived="])(
  "an address is read and written: %s",
  (address) => expect(addressOf(wantedOf(new URLSearchParams(address))).toString()).toBe(address),
);

test("states are counted, and those that no study has are not offered", () => {
  expect(statuses(ROWS)).toEqual([
    ["attention", 1],
    ["yours", 1],
    ["draft", 1],
    ["ready", 1],
    ["done", 1],
  ]);
});
