/** Whether this browser's reader wants shortcuts: who speaks to the computer may not (WCAG 2.1.4). */
const KEY = "unpooled-shortcuts";

export const areOn = (): boolean => localStorage.getItem(KEY) !== "off";

export const turn = (isOn: boolean): void => localStorage.setItem(KEY, isOn ? "on" : "off");
