import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";

import { ApiError } from "../api/client";
import { session } from "../api/queries";
import { setAway } from "./connection";

const noteFailure = (error: unknown): void => {
  if (!(error instanceof ApiError)) return;
  if (error.isSignedOut) queryClient.setQueryData(session.queryKey, null);
  if (error.isPassing) setAway(true);
};

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteFailure, onSuccess: () => setAway(false) }),
  mutationCache: new MutationCache({ onError: noteFailure }),
  defaultOptions: {
    queries: {
      networkMode: "always", // the server may be on this machine, whatever the browser says of the network
      retry: (failures, error) => error instanceof ApiError && error.isPassing && failures < 2,
      retryDelay: 1_000,
    },
    mutations: { networkMode: "always", retry: false },
  },
});
