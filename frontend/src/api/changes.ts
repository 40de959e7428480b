/** How pages change something, and what they read again afterwards. */
import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";

import type { ApiError } from "./client";

/** Calls the API to change something of a study; then everything that is shown of studies is read anew. */
export const useChange = <Input = void, Output = unknown>(
  act: (input: Input) => Promise<Output>,
): UseMutationResult<Output, ApiError, Input> => useChangeOf("studies", act);

/** The same for something of one's own account. */
export const useAccountChange = <Input = void, Output = unknown>(
  act: (input: Input) => Promise<Output>,
): UseMutationResult<Output, ApiError, Input> => useChangeOf("account", act);

/** The same for somebody's account. */
export const usePeopleChange = <Output>(
  act: () => Promise<Output>,
): UseMutationResult<Output, ApiError, void> => useChangeOf("people", act);

/** The same for the platform as a whole. */
export const usePlatformChange = <Output>(
  act: () => Promise<Output>,
): UseMutationResult<Output, ApiError, void> => useChangeOf("platform", act);

function useChangeOf<Input, Output>(
  what: "studies" | "account" | "people" | "platform",
  act: (input: Input) => Promise<Output>,
): UseMutationResult<Output, ApiError, Input> {
  const client = useQueryClient();
  return useMutation<Output, ApiError, Input>({
    mutationFn: act,
    onSettled: () => client.invalidateQueries({ queryKey: [what] }),
  });
}
