/** Whether a text is on the clipboard, which browsers give to pages with TLS and of this machine only. */
export async function copied(text: string): Promise<boolean> {
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const done = await clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  return done ?? false;
}
