/** Calls of the API, by the names of its schema: one that is not there does not compile. */
import createClient from "openapi-fetch";

import { t } from "../words/language";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Study = Schemas["StudyDetail"];
export type StudyRow = Schemas["StudyRow"];
export type StudyState = Schemas["StudyState"];
export type Cohort = Schemas["CohortRow"];
export type Stage = Schemas["Stage"];
export type Person = Schemas["Person"];
export type Method = Schemas["Method"];

// `fetch` is looked up at each call, not now: tests put their own server's in.
export const api = createClient<paths>({ fetch: (request) => globalThis.fetch(request) });

api.use({
  onRequest({ request }) {
    if (request.method !== "GET") request.headers.set("X-CSRFToken", cookie("csrftoken"));
    return request;
  },
});

function cookie(name: string): string {
  const found = document.cookie.split("; ").find((part) => part.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/** What the server refused, in its own words: what, remedy, and the fields that are wrong. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly remedy: string,
    readonly fields: Record<string, string> = {},
  ) {
    super(message);
  }

  /** Whether the same call may succeed later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500;
  }

  get isSignedOut(): boolean {
    return this.status === 401 && this.code === "not_authenticated";
  }
}

type Called<T> = Promise<{ data?: T; error?: unknown; response: Response }>;

/** The data of an answer; ApiError if there is none. */
export async function answer<T>(call: Called<T>): Promise<T> {
  let called: Awaited<Called<T>>;
  try {
    called = await call;
  } catch (error) {
    if (error instanceof DOMException) throw error; // nobody waits for it any more
    throw new ApiError(0, "away", t("The server does not answer."), t("Check your network, then try again."));
  }
  if (!called.response.ok) throw refusal(called.response.status, called.error);
  return called.data as T;
}

function refusal(status: number, body: unknown): ApiError {
  const problem = isErrorAnswer(body) ? body.error : undefined;
  if (problem) return new ApiError(status, problem.code, problem.message, problem.remedy, problem.fields);
  return new ApiError(
    status,
    "unknown",
    t("The server answered with status {{status}}.", { status }),
    t("Try again later."),
  );
}

function isErrorAnswer(body: unknown): body is Schemas["ErrorAnswer"] {
  return typeof body === "object" && body !== null && "error" in body;
}
