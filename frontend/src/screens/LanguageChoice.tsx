import { SelectField } from "../ui/Field";
import { choose, LANGUAGES, t, useLanguage, type Language } from "../words/language";

const NAMES = Object.entries(LANGUAGES) as [Language, string][];

/** The language of the pages, which this browser remembers. */
export function LanguageChoice() {
  return <SelectField label={t("Language")} value={useLanguage()} options={NAMES} onChange={choose} />;
}
