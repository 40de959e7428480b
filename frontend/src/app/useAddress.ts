import { useSearchParams } from "react-router";

/** The parameters of the address as drawn, and what changes some of them: an empty value leaves one out. */
export function useAddress(): [URLSearchParams, (changes: Record<string, string>) => void] {
  const [drawn, setAddress] = useSearchParams();
  const change = (changes: Record<string, string>) => {
    // A busy browser draws later than its address changes, and the next key may come before: it goes on from
    // the address itself.
    const now = new URLSearchParams(window.location.search);
    const next = new URLSearchParams(now);
    for (const [name, value] of Object.entries(changes))
      if (value) next.set(name, value);
      else next.delete(name);
    // The reader stays where they are on the page, and goes back with the browser's own button.
    if (next.toString() !== now.toString()) setAddress(next, { preventScrollReset: true });
  };
  return [drawn, change];
}
