/** Light and dark: as the system has it, unless the reader chose one, which this browser remembers. */
export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];

const KEY = "unpooled-theme";

export function chosenTheme(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "system";
}

export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset.theme;
  else dataset.theme = theme;
  localStorage.setItem(KEY, theme);
}
