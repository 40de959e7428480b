/** A text that a file has, in place of what is typed. */
import { useId, type ChangeEvent } from "react";

import { Muted, Stack } from "../../ui/Layout";

interface FileProps {
  label: string;
  hint?: string;
  /** Endings of the names that are offered; of any name without them. */
  accept?: string;
  onRead: (text: string) => void;
}

/** Reads a file here in the browser; nothing of it is sent but what the form then shows. */
export function FromFile({ label, hint, accept, onRead }: FileProps) {
  const id = useId();
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const input = event.currentTarget;
    const [file] = input.files ?? [];
    if (file) onRead(await file.slice(0, MOST).text());
    input.value = "";
  };
  return (
    <Stack>
      <label htmlFor={id}>{label}</label>
      <input id={id} type="file" accept={accept} onChange={read} />
      {hint && <Muted>{hint}</Muted>}
    </Stack>
  );
}

const MOST = 1 << 22; // bytes: more than any line of names, and any list of values that a plan can have
