import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";

import { SignInForm } from "./SignIn";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** The sign-in of a platform whose provider has this name. */
function open(name: string, refusal: object | null = null) {
  const assign = vi.fn();
  vi.stubGlobal("location", { assign, origin: "http://localhost", href: "http://localhost/" });
  vi.stubGlobal("fetch", (request: Request) =>
    Promise.resolve(
      Response.json(request.method === "POST" ? { url: "https://sso.example.org/" } : { name, refusal }),
    ),
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SignInForm />
    </QueryClientProvider>,
  );
  return assign;
}

test("the organisation's own sign-in is one button away, and why it failed is said", async () => {
  const assign = open("MedUni", { code: "closed", message: "Your account here is closed.", remedy: "" });
  expect((await screen.findByRole("alert")).textContent).toContain("Your account here is closed.");
  await userEvent.click(screen.getByRole("button", { name: "Sign in with MedUni" }));
  await waitFor(() => expect(assign).toHaveBeenCalledWith("https://sso.example.org/"));
});

test("where there is none, there is the password alone", async () => {
  open("");
  expect(await screen.findAllByRole("button", { name: /Sign in/ })).toHaveLength(1);
});
