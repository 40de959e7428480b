import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { POLL, progress } from "./queries";

/** Answers of the server, one after the other; the last again and again. */
let answers: Response[] = [];
let asked = 0;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  asked = 0;
  vi.stubGlobal("fetch", () => {
    asked += 1;
    const next = answers.length > 1 ? answers.shift() : answers[0];
    return Promise.resolve(next?.clone());
  });
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const state = (state: string) => Response.json({ state, cohorts: [], steps: [] });

function watch() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  return renderHook(() => useQuery(progress("a-study")), { wrapper });
}

test.each(["done", "aborted", "failed"])(
  "a page asks again and again until the study is %s",
  async (over) => {
    answers = [state("running"), state("running"), state(over)];
    const { result } = watch();
    for (const count of [1, 2, 3]) {
      await waitFor(() => expect(asked).toBe(count));
      await vi.advanceTimersByTimeAsync(POLL);
    }
    await waitFor(() => expect(result.current.data?.state).toBe(over));
    await vi.advanceTimersByTimeAsync(10 * POLL);
    expect(asked).toBe(3);
  },
);

test("a paused study is watched", async () => {
  answers = [state("paused")];
  watch();
  await vi.advanceTimersByTimeAsync(5 * POLL);
  expect(asked).toBeGreaterThanOrEqual(5);
});

test("nobody asks while nobody is signed in", async () => {
  const problem = { code: "not_authenticated", message: "Sign in.", remedy: "" };
  answers = [Response.json({ error: problem }, { status: 401 })];
  const { result } = watch();
  await waitFor(() => expect(result.current.error?.message).toBe("Sign in."));
  await vi.advanceTimersByTimeAsync(10 * POLL);
  expect(asked).toBe(1);
});
