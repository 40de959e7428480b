import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";

import { ApiError } from "../api/client";
import { Confirm } from "./Confirm";

afterEach(cleanup);

/** A change that the server refuses or accepts. */
function change(refusal: ApiError | null, calls: string[] = []) {
  return {
    mutateAsync: () => {
      calls.push("called");
      return refusal ? Promise.reject(refusal) : Promise.resolve();
    },
    isPending: false,
    error: refusal,
    reset: () => calls.push("reset"),
  };
}

test("it says the consequences first; the focus is not on what does it, and comes back", async () => {
  const calls: string[] = [];
  render(
    <Confirm label="Abort" title="Abort it?" change={change(null, calls)}>
      It ends.
    </Confirm>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Abort" }));
  expect(screen.getByText("It ends.")).toBeTruthy();
  expect(document.activeElement).toBe(screen.getByRole("heading", { name: "Abort it?" }));
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(calls).toEqual(["reset"]);
});

test("a field has the focus; what the server accepts closes the dialog", async () => {
  const calls: string[] = [];
  render(
    <Confirm label="Reset" title="Reset it?" change={change(null, calls)} onDone={() => calls.push("done")}>
      <label>
        Password
        <input />
      </label>
    </Confirm>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Reset" }));
  expect(document.activeElement).toBe(screen.getByLabelText("Password"));
  await userEvent.keyboard("new{Enter}");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(calls).toEqual(["called", "reset", "done"]);
});

test("what the server refuses is said, and the dialog stays", async () => {
  const refusal = new ApiError(409, "over", "The study is over.", "Duplicate it.");
  render(
    <Confirm label="Abort" title="Abort it?" change={change(refusal)}>
      It ends.
    </Confirm>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Abort" }));
  await userEvent.click(screen.getAllByRole("button", { name: "Abort" }).at(-1) as HTMLElement);
  expect(screen.getByRole("alert").textContent).toContain("The study is over.");
  expect(screen.getByRole("dialog")).toBeTruthy();
});
