import { expect, test } from "vitest";

import { fileName } from "./files";

test.each([
  [["Asthma, first run", "Graz (AT)", "invitation.txt"], "asthma-first-run-graz-at-invitation.txt"],
  [["Étude", "Tromsø", "x.csv"], "etude-troms-x.csv"],
  [["../../etc/passwd"], "etc-passwd"],
  [["…"], "file"],
])("%j becomes %s", (parts, name) => {
  expect(fileName(...parts)).toBe(name);
});
