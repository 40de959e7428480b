/**
 * Everything that the pages read, one entry for each address.
 *
 * A page that watches something asks every two seconds. The browser sends the ETag of what it has, and the
 * server answers 304 without a body while nothing has changed.
 */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { declared } from "../words/language";
import { answer, api, ApiError, type Schemas, type Study, type StudyRow } from "./client";

export const POLL = 2_000; // milliseconds

export const session = queryOptions({
  queryKey: ["session"],
  /** Who is signed in; null if nobody is. */
  queryFn: ({ signal }) =>
    answer(api.GET("/api/v1/session", { signal })).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }),
  staleTime: Infinity,
});

/** The organisation's own sign-in. Why it failed is told once, so it is asked once. */
export const provider = queryOptions({
  queryKey: ["provider"],
  queryFn: async ({ signal }) => {
    const { name, refusal } = await answer(api.GET("/api/v1/session/provider", { signal }));
    return { name, refusal: refusal && new ApiError(0, refusal.code, refusal.message, refusal.remedy) };
  },
  staleTime: Infinity,
});

export const firstRun = queryOptions({
  queryKey: ["first-run"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/first-run", { signal })),
});

export const methods = queryOptions({
  queryKey: ["methods"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/methods", { signal })),
  staleTime: Infinity,
});

/** What a study by this plan, in JSON, would be. */
export const foreseen = (plan: string) =>
  queryOptions({
    queryKey: ["foreseen", plan],
    queryFn: ({ signal }) => {
      const body = { plan: JSON.parse(plan) as Schemas["PlanFieldsRequest"] };
      return answer(api.POST("/api/v1/foreseen", { body, signal }));
    },
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });

export const people = queryOptions({
  queryKey: ["people"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/people", { signal })),
});

/** Whether all that the platform needs is there, and the studies that are not over. */
export const platform = queryOptions({
  queryKey: ["platform"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/platform", { signal })),
  refetchInterval: 5 * POLL,
});

export const tokens = queryOptions({
  queryKey: ["account", "tokens"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/account/tokens", { signal })),
});

export const passkeys = queryOptions({
  queryKey: ["account", "passkeys"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/account/passkeys", { signal })),
});

export const channels = queryOptions({
  queryKey: ["account", "channels"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/account/channels", { signal })),
});

export const deliveries = queryOptions({
  queryKey: ["account", "deliveries"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/account/deliveries", { signal })),
  refetchInterval: always,
});

/** The demo's name and description are the platform's words. */
const inWords = <Found extends StudyRow>(study: Found): Found =>
  study.is_demo ? { ...study, name: declared(study.name), description: declared(study.description) } : study;

export const studies = (archived: boolean) =>
  queryOptions({
    queryKey: ["studies", { archived }],
    queryFn: async ({ signal }) => {
      const found = await answer(api.GET("/api/v1/studies", { params: { query: { archived } }, signal }));
      return found.map(inWords);
    },
    refetchInterval: always,
  });

export const study = (id: string) =>
  queryOptions({
    queryKey: ["studies", id],
    queryFn: async ({ signal }) =>
      inWords(await answer(api.GET("/api/v1/studies/{study}", { ...of(id), signal }))),
    refetchInterval: always,
  });

export const progress = (id: string) =>
  queryOptions({
    queryKey: ["studies", id, "progress"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/progress", { ...of(id), signal })),
    refetchInterval: untilOver,
  });

export const traffic = (id: string) =>
  queryOptions({
    queryKey: ["studies", id, "traffic"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/traffic", { ...of(id), signal })),
    refetchInterval: always,
  });

export const parties = (id: string) =>
  queryOptions({
    queryKey: ["studies", id, "parties"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/parties", { ...of(id), signal })),
    refetchInterval: always,
  });

export const leaving = (id: string) =>
  queryOptions({
    queryKey: ["studies", id, "leaving"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/leaving", { ...of(id), signal })),
  });

export const results = (id: string) =>
  queryOptions({
    queryKey: ["studies", id, "results"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/results", { ...of(id), signal })),
  });

/** What a study's results never change any more: asked for once. */
const FOREVER = { staleTime: Infinity, gcTime: 300_000 };

/** The results of a study; where it has several phenotypes, of one of them, and empty where it has one. */
export interface ResultsOf {
  id: string;
  phenotype: string;
  /** What people call them. */
  name: string;
}

const key = ({ id, phenotype }: ResultsOf, ...rest: (string | number)[]) =>
  ["pictures", id, phenotype, ...rest] as const;

/** The parameters of an address about results. */
const asked = <T extends object>({ id, phenotype }: ResultsOf, query: T = {} as T) => ({
  path: { study: id },
  query: { ...query, ...(phenotype && { phenotype }) },
});

export const manhattan = (of: ResultsOf) =>
  queryOptions({
    queryKey: key(of, "manhattan"),
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/studies/{study}/manhattan", { params: asked(of), signal })),
    ...FOREVER,
  });

interface Window {
  chromosome: string;
  from: number;
  to: number;
}

export const region = (of: ResultsOf, { chromosome, from, to }: Window) =>
  queryOptions({
    queryKey: key(of, "region", chromosome, from, to),
    queryFn: ({ signal }) => {
      const params = asked(of, { chromosome, from, to });
      return answer(api.GET("/api/v1/studies/{study}/region", { params, signal }));
    },
    ...FOREVER,
  });

/** Genes and recombination of a region. */
export const surroundings = (of: ResultsOf, { chromosome, from, to }: Window) =>
  queryOptions({
    queryKey: key(of, "surroundings", chromosome, from, to),
    queryFn: ({ signal }) => {
      const params = asked(of, { chromosome, from, to });
      return answer(api.GET("/api/v1/studies/{study}/surroundings", { params, signal }));
    },
    ...FOREVER,
  });

/** Where a search leads, the best first. */
export const places = (of: ResultsOf, search: string) =>
  queryOptions({
    queryKey: key(of, "places", search),
    queryFn: async ({ signal }) => {
      const params = asked(of, { search });
      return (await answer(api.GET("/api/v1/studies/{study}/places", { params, signal }))).places;
    },
    ...FOREVER,
  });

/** The loci of two studies, or of two phenotypes, side by side. */
export const compared = (of: ResultsOf, other: ResultsOf) =>
  queryOptions({
    queryKey: key(of, "compared", other.id, other.phenotype),
    queryFn: ({ signal }) => {
      const { query } = asked(of, other.phenotype ? { other_phenotype: other.phenotype } : {});
      const params = { path: { study: of.id, other: other.id }, query };
      return answer(api.GET("/api/v1/studies/{study}/compared/{other}", { params, signal }));
    },
    ...FOREVER,
  });

export const quantiles = (of: ResultsOf) =>
  queryOptions({
    queryKey: key(of, "qq"),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/qq", { params: asked(of), signal })),
    ...FOREVER,
  });

/** The loci; with a search the variants that it finds; `start` counts rows. */
export const variants = (of: ResultsOf, search: string, start: number, count: number) =>
  queryOptions({
    queryKey: key(of, "variants", search, start, count),
    queryFn: ({ signal }) => {
      const params = asked(of, { start, count, ...(search && { search }) });
      return answer(api.GET("/api/v1/studies/{study}/variants", { params, signal }));
    },
    ...FOREVER,
  });

/** A result file as text. */
export const resultText = (id: string, name: string) =>
  queryOptions({
    queryKey: ["pictures", id, "file", name],
    queryFn: ({ signal }) => {
      const params = { path: { study: id, name } };
      return answer<string>(
        api.GET("/api/v1/studies/{study}/results/{name}", { params, parseAs: "text", signal }),
      );
    },
    ...FOREVER,
  });

const BEGINNING = 4096; // bytes

/** The first lines of a result file; the rest of it is not loaded. */
export const beginning = (id: string, name: string) =>
  queryOptions({
    queryKey: ["pictures", id, "beginning", name],
    queryFn: async ({ signal }) => {
      const params = { path: { study: id, name } };
      const stream = await answer<ReadableStream<Uint8Array> | null>(
        api.GET("/api/v1/studies/{study}/results/{name}", { params, parseAs: "stream", signal }),
      );
      const reader = stream?.getReader();
      const decoder = new TextDecoder();
      let text = "";
      while (reader && text.length < BEGINNING) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += decoder.decode(value, { stream: true });
      }
      await reader?.cancel();
      return text.slice(0, text.lastIndexOf("\n", BEGINNING) + 1);
    },
    ...FOREVER,
  });

export const log = (id: string) =>
  queryOptions({
    queryKey: ["studies", id, "log"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/studies/{study}/log", { ...of(id), signal })),
    refetchInterval: always,
  });

/** Whether a study over generated cohorts can be run; anew after each change of a study. */
export const demo = queryOptions({
  queryKey: ["studies", "demo"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/demo", { signal })),
  refetchInterval: (asked) => (asked.state.data?.running ? always(asked) : false),
});

/** The path parameter of a study's addresses. */
export const of = (study: string) => ({ params: { path: { study } } });

export const isOver = (study: { state: Study["state"] } | undefined): boolean =>
  study !== undefined && ["done", "aborted", "failed"].includes(study.state);

/** Whether a study of yours can be repeated: with the same cohorts, once. */
export const isRepeatable = (study: Study): boolean =>
  study.may_change && isOver(study) && !study.repetition && !study.is_demo;

/** Whether a study of yours that has started can be repeated without one of its cohorts. */
export const isRepeatableWithout = (study: Study): boolean =>
  isRepeatable(study) || (study.may_change && ["running", "paused"].includes(study.state) && !study.is_demo);

interface Asked<T> {
  state: { data: T | undefined; error: Error | null };
}

/** How soon a page asks again; not while nobody is signed in. */
function always({ state }: Asked<unknown>): number | false {
  return state.error instanceof ApiError && state.error.status === 401 ? false : POLL;
}

/** Likewise, until the study is over. */
const untilOver = (asked: Asked<{ state: Study["state"] }>): number | false =>
  isOver(asked.state.data) ? false : always(asked);
