/** Files that a page makes itself. */

/** A name for a file from words of people: `asthma-tartu-invitation.txt`. */
export function fileName(...parts: readonly string[]): string {
  const words = parts.map((part) =>
    part
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .replace(/[^\w.-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .toLowerCase(),
  );
  return words.filter(Boolean).join("-") || "file";
}

/** Has the browser save a text. */
export const saveText = (name: string, text: string, type = "text/plain"): void =>
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));

/** Has the browser save bytes. */
export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
